package fio

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// ETA has the values of one of fio's status lines.
type ETA struct {
	// Left is the time left, and Known is false until fio can estimate it.
	Known bool
	Left  time.Duration
	// IOPS and Bandwidth (bytes a second) of the last interval by direction. Empty if fio shows none, for example while
	// it lays out files or ramps up.
	IOPS, Bandwidth map[string]float64
}

var (
	etaHead  = prose.Pattern(`^Jobs: \d{1,9} \(f=\d{1,9}\)`)
	etaField = prose.Pattern(`\[([^][]*?)( /s| ?IOPS| iops)?\]`)
	etaLeft  = prose.Pattern(`^eta (?:(\d+)d:)?(?:(\d+)h:)?(\d+)m:(\d+)s$`)
)

// ParseETA parses one status line of fio 2 or 3, and reports whether it is one.
//
//	Jobs: 1 (f=1): [r(1)][40.0%][r=1024MiB/s][r=262k IOPS][eta 00m:03s]
//	Jobs: 2 (f=2), 0-6000 IOPS: [m(2)][-.-%][r=15.6MiB/s,w=8000KiB/s][r=4002,w=2000 IOPS][eta 00m:00s]
//	Jobs: 4 (f=4): [r(4)] [66.7% done] [258.1MB/0KB/0KB /s] [66.1K/0/0 iops] [eta 00m:01s]
func ParseETA(line string) (ETA, bool) {
	head := etaHead().FindString(line)
	if head == "" {
		return ETA{}, false
	}
	e := ETA{IOPS: map[string]float64{}, Bandwidth: map[string]float64{}}
	_, fields, _ := strings.Cut(line[len(head):], ":")
	for _, m := range etaField().FindAllStringSubmatch(fields, -1) {
		text := m[1]
		left := etaLeft().FindStringSubmatch(text)
		percent, isPercent := strings.CutSuffix(strings.TrimSuffix(text, " done"), "%")
		switch {
		case left != nil:
			e.Left = clock(left[1:])
		case isPercent:
			v, err := strconv.ParseFloat(percent, 64)
			e.Known = err == nil && v >= 0 && v <= 100
		case strings.HasSuffix(strings.ToLower(m[2]), "iops"):
			rates(e.IOPS, text, 1000)
		case strings.Contains(text, "B"):
			rates(e.Bandwidth, text+strings.TrimSpace(m[2]), 1024)
		}
	}
	return e, true
}

// clock adds up days, hours, minutes and seconds; parts that were not printed are empty.
func clock(parts []string) time.Duration {
	var d time.Duration
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err == nil {
			d += time.Duration(n) * unit
		}
	}
	return d
}

// rates parses "r=1024MiB/s,w=8000KiB/s", "r=262k" or, from fio 2, "258.1MB/0KB/0KB" for read, write and trim.
func rates(to map[string]float64, text string, step float64) {
	names := map[string]string{"r": lab.Read, "w": lab.Write, "t": lab.Trim}
	if strings.Contains(text, "=") {
		for part := range strings.SplitSeq(text, ",") {
			letter, value, _ := strings.Cut(part, "=")
			if v, ok := amount(strings.TrimSuffix(value, "/s"), step); ok && names[letter] != "" {
				to[names[letter]] = v
			}
		}
		return
	}
	directions := []string{lab.Read, lab.Write, lab.Trim}
	for i, value := range strings.Split(strings.TrimSuffix(text, "/s"), "/") {
		// All three are always printed; a direction that does nothing is omitted.
		if v, ok := amount(value, step); ok && v > 0 && i < len(directions) {
			to[directions[i]] = v
		}
	}
}

// amount parses a figure of fio's output for people with its prefix: 262k, 12.0MiB, 8000KiB, 258.1MB. A prefix with an
// i is binary; another prefix counts in steps of step, which is 1024 for bytes in the output of fio 2.
func amount(s string, step float64) (float64, bool) {
	s = strings.TrimSpace(s)
	number := strings.TrimRight(s, "KMGTPEkmgtpeiB")
	if number == "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v < 0 || v > 1e18 {
		return 0, false
	}
	prefix := strings.TrimSuffix(s[len(number):], "B")
	if binary, ok := strings.CutSuffix(prefix, "i"); ok {
		prefix, step = binary, 1024
	}
	if len(prefix) > 1 {
		return 0, false
	}
	if prefix != "" {
		for range strings.Index("KMGTPE", strings.ToUpper(prefix)) + 1 {
			v *= step
		}
	}
	return v, true
}

// LastETA returns the newest status line at the end of fio's output. fio separates them by carriage returns, so the
// last piece may be incomplete; it counts once a carriage return follows.
func LastETA(tail []byte) (ETA, bool) {
	end := bytes.LastIndexAny(tail, "\r\n")
	if end < 0 {
		return ETA{}, false
	}
	pieces := bytes.FieldsFunc(tail[:end], func(r rune) bool { return r == '\r' || r == '\n' })
	for i := len(pieces) - 1; i >= 0; i-- {
		if e, ok := ParseETA(string(pieces[i])); ok {
			return e, true
		}
	}
	return ETA{}, false
}
