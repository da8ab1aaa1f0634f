package counters

import (
	"bytes"
	"path"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/lab"
)

// CollectLoad reads how busy the machine is at the moment of the snapshot.
func CollectLoad(r collect.Reader, _ collect.Scope) []lab.Fact {
	load := r.Fact("load.average", "/proc/loadavg")
	load.Value, _, _ = strings.Cut(load.Value, " ")
	facts := []lab.Fact{load}
	for _, resource := range []string{"cpu", "io", "memory"} {
		facts = append(facts, pressure(r, resource))
	}
	return append(facts, steal(r), throttled(r), swapped(r))
}

// steal is the share of all CPU time since boot that the hypervisor gave to others while this machine wanted to run.
func steal(r collect.Reader) lab.Fact {
	const key = "load.steal"
	text, err := r.Text(statPath)
	if err != nil {
		return collect.Unknown(key, statPath, collect.Why(err))
	}
	all, _ := parseStat([]byte(text))
	sum := all.User + all.Nice + all.System + all.Idle + all.IOWait + all.IRQ + all.SoftIRQ + all.Steal
	if sum <= 0 {
		return collect.Unknown(key, statPath, "the file has no line of all CPUs")
	}
	return collect.Known(key, strconv.FormatFloat(all.Steal/sum, 'g', 4, 64), statPath)
}

// throttled adds up how often cores were slowed by heat; threads of a core show the core's number, so each counts once.
// Only Intel's driver counts.
func throttled(r collect.Reader) lab.Fact {
	const key, source = "load.throttled", machine.CPUDir + "/cpu*/thermal_throttle/core_throttle_count"
	var sum int64
	var counted bool
	for _, file := range throttleFiles(r) {
		if path.Base(source) != path.Base(file) {
			continue // the package's own count
		}
		if n, err := r.Number(file); err == nil && n >= 0 {
			sum, counted = sum+n, true
		}
	}
	if !counted {
		return collect.Unknown(key, source, "the kernel counts it on Intel's CPUs only")
	}
	return collect.Whole(key, sum, source)
}

// swapped adds up the pages that were swapped in and out.
//
//	pswpin 128
//	pswpout 40961
func swapped(r collect.Reader) lab.Fact {
	const key = "load.swapped"
	text, err := r.Text(vmStatPath)
	if err != nil {
		return collect.Unknown(key, vmStatPath, collect.Why(err))
	}
	var sum uint64
	found := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "pswpin" && name != "pswpout" {
			continue
		}
		pages, err := strconv.ParseUint(value, 10, 62)
		if err != nil {
			continue
		}
		sum += pages
		if found++; found == 2 {
			return collect.Known(key, strconv.FormatUint(sum, 10), vmStatPath)
		}
	}
	return collect.Unknown(key, vmStatPath,
		"the file does not say pswpin and pswpout; the kernel may be built without swap")
}

// pressure is the share of the last ten seconds in which some task was held up.
func pressure(r collect.Reader, resource string) lab.Fact {
	key, source := "load.pressure."+resource, "/proc/pressure/"+resource
	f := r.Since(key, source, 4, 20)
	if f.Unknown != "" {
		// The kernel answers so when it knows pressure but psi=1 is missing from its command line.
		if strings.Contains(f.Unknown, "operation not supported") {
			f.Unknown = "switched off; psi=1 on the kernel command line switches it on"
		}
		return f
	}
	p, ok := parsePressure([]byte(f.Value))
	if !ok {
		return collect.Unknown(key, source, "the file has no line that begins with some")
	}
	return collect.Known(key, strconv.FormatFloat(p.average10, 'g', 4, 64), source)
}

// stall is the line "some" of a pressure file: shares of one, and seconds since boot.
type stall struct {
	average10 float64
	total     float64
}

// parsePressure reads /proc/pressure/{cpu,io,memory}, averages in percent and the total in microseconds. Source: the
// kernel's Documentation/accounting/psi.rst.
//
//	some avg10=0.25 avg60=0.14 avg300=0.14 total=5001809
//	full avg10=0.25 avg60=0.14 avg300=0.13 total=4709402
//	some avg10=99.00 avg60=87.31 avg300=41.02 total=81229384112
func parsePressure(data []byte) (stall, bool) {
	for line := range bytes.Lines(data) {
		rest, ok := bytes.CutPrefix(line, []byte("some "))
		if !ok {
			continue
		}
		var s stall
		var found bool
		for field := range bytes.FieldsSeq(rest) {
			name, value, _ := bytes.Cut(field, []byte("="))
			switch string(name) {
			case "avg10":
				v, err := strconv.ParseFloat(string(value), 64)
				if err == nil {
					s.average10 = v / 100
				}
			case "total":
				v, err := strconv.ParseUint(string(value), 10, 64)
				s.total, found = float64(v)/1e6, err == nil
			}
		}
		return s, found
	}
	return stall{}, false
}
