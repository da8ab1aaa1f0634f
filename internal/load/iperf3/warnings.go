package iperf3

import (
	"fmt"
	"strconv"
	"strings"

	"headroom/internal/lab"
)

// busy is the share of a core from which on a thread of iperf3 has hardly any time left.
const busy = 0.95

// Warnings are the reasons to distrust a test.
func (r Result) Warnings() []lab.Warning {
	var list []lab.Warning
	warn := func(code, text string, taints ...string) {
		list = append(list, lab.Warning{Code: code, Text: text, Taints: taints})
	}
	if r.Failed != "" {
		code := "errors"
		if r.Forward == nil && r.Reverse == nil {
			code = "no-result"
		}
		warn(code, "iperf3 says: "+r.Failed, "*")
	}
	threads := 1
	if r.threaded() {
		threads = max(1, r.Streams)
		if r.Forward != nil && r.Reverse != nil {
			threads *= 2
		}
	}
	for _, end := range []struct {
		name  string
		share float64
	}{{"client", r.ClientCPU}, {"server", r.ServerCPU}} {
		if end.share < busy*float64(threads) {
			continue
		}
		has, advice := "one thread", "use more streams (--parallel)"
		if threads > 1 {
			has = fmt.Sprintf("%d threads", threads)
		}
		if !r.threaded() {
			advice = "start as many pairs of processes as it takes, or use 3.16 and newer, where each stream has a " +
				"thread"
		}
		warn("generator-bound",
			fmt.Sprintf("the %s's iperf3 used %.0f%% of a core, and has %s: this is its limit, not the network's; %s",
				end.name, 100*end.share, has, advice), "*")
	}
	return list
}

// threaded says that each stream has a thread of its own. Source: the release notes of 3.16.
func (r Result) threaded() bool {
	major, minor, _ := strings.Cut(r.Version, ".")
	minor, _, _ = strings.Cut(minor, ".")
	a, err := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return err == nil && err2 == nil && (a > 3 || a == 3 && b >= 16)
}
