package command

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// The metrics that every command has.
const (
	Elapsed   = "elapsed"
	UserCPU   = "cpu.user"
	SystemCPU = "cpu.system"
)

// Ended is a command that has ended, with its output.
type Ended struct {
	ExitCode       int
	Signal         string
	Took           time.Duration
	UserSeconds    float64
	SystemSeconds  float64
	Stdout, Stderr []byte
}

// Values returns the measured values: how long the command took, how many CPUs it and the processes that it waited for
// kept busy, and its own metrics. A command that fails yields an error and no values: it has not done what should be
// measured, so not even its time counts.
//
// The last match of a metric is used, since programs print their totals last. Standard output is searched first:
//
//	latency average = 1.234 ms
//	initial connection time = 3.456 ms
//	tps = 810.372773 (without initial connection time)
func Values(c lab.Command, e Ended) (map[string]float64, error) {
	if e.Signal != "" || e.ExitCode != 0 {
		how := fmt.Sprintf("exit status %d", e.ExitCode)
		if e.Signal != "" {
			how = "signal: " + e.Signal
		}
		return nil, fmt.Errorf("%s ended with %s%s", name(c), how, quote(e))
	}
	values := map[string]float64{Elapsed: e.Took.Seconds()}
	if e.Took > 0 {
		values[UserCPU], values[SystemCPU] = e.UserSeconds/e.Took.Seconds(), e.SystemSeconds/e.Took.Seconds()
	}
	var missing []string
	for metric, match := range c.Match {
		v, ok := find(match, e.Stdout, e.Stderr)
		if !ok {
			missing = append(missing, metric)
			continue
		}
		values[metric] = v
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, fmt.Errorf("%s printed nothing that matches %s%s", name(c), strings.Join(missing, ", "), quote(e))
	}
	return values, nil
}

// find returns the number in the last match of a metric's expression.
func find(m lab.Match, outputs ...[]byte) (float64, bool) {
	expression, err := regexp.Compile(m.Expression)
	if err != nil || expression.NumSubexp() != 1 {
		return 0, false
	}
	for _, text := range outputs {
		all := expression.FindAllSubmatch(text, -1)
		if len(all) == 0 {
			continue
		}
		v, err := strconv.ParseFloat(string(all[len(all)-1][1]), 64)
		v *= m.Scale
		return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
	}
	return 0, false
}

// CheckExpression returns what is wrong with the expression of a metric; empty if it is valid.
func CheckExpression(text string) string {
	expression, err := regexp.Compile(text)
	if err != nil {
		return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	}
	if n := expression.NumSubexp(); n != 1 {
		return fmt.Sprintf("it has %d groups", n)
	}
	return ""
}

// Unit returns the base unit of a printed unit, and the factor to convert to it. An unknown unit is its own base unit.
func Unit(printed string) (lab.Unit, float64) {
	for _, u := range []struct {
		names string
		base  lab.Unit
		scale float64
	}{
		{"1/s tps qps iops", lab.PerSecond, 1}, {"s", lab.Seconds, 1}, {"min", lab.Seconds, 60},
		{"ms", lab.Seconds, 1e-3}, {"us µs", lab.Seconds, 1e-6},
		{"ns", lab.Seconds, 1e-9}, {"B/s", lab.BytesPerSecond, 1}, {"kB/s", lab.BytesPerSecond, 1e3},
		{"MB/s", lab.BytesPerSecond, 1e6},
		{"GB/s", lab.BytesPerSecond, 1e9}, {"KiB/s", lab.BytesPerSecond, 1 << 10},
		{"MiB/s", lab.BytesPerSecond, 1 << 20},
		{"GiB/s", lab.BytesPerSecond, 1 << 30}, {"1", lab.Share, 1}, {"%", lab.Share, 0.01}, {"count", lab.Count, 1},
	} {
		if slices.Contains(strings.Fields(u.names), printed) {
			return u.base, u.scale
		}
	}
	return lab.Unit(printed), 1
}

func name(c lab.Command) string {
	if len(c.Argv) == 0 {
		return "the command"
	}
	return c.Argv[0]
}

// maxQuoted is how many bytes of a command's output fit into a warning; the bundle has all of it.
const maxQuoted = 300

// quote returns the end of a command's output, where programs print errors: its standard error, or else its output.
func quote(e Ended) string {
	const enough = 64 << 10 // hundreds of megabytes need not be split into lines
	for _, text := range [][]byte{e.Stderr, e.Stdout} {
		text = text[max(0, len(text)-enough):]
		var last []string
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(strings.ToValidUTF8(line, "?")); line != "" {
				last = append(last, line)
			}
		}
		if len(last) == 0 {
			continue
		}
		printed := []rune(strings.Join(last[max(0, len(last)-3):], " / "))
		if len(printed) > maxQuoted {
			printed = append([]rune("…"), printed[len(printed)-maxQuoted:]...)
		}
		return ": " + string(printed)
	}
	return ", and printed nothing"
}
