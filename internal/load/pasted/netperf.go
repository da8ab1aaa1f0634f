package pasted

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

var (
	// netperfCall finds a call. Omni output contains one in quotes, as a value.
	netperfCall = prose.Pattern(`^[^"]*?(?:^|[\s/(;&|#$%>❯➜])(netperf)\s+(?:\S+\s+)?--?[A-Za-z]`)
	// netperfBanner begins a test: "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to h () port 0
	// AF_INET".
	netperfBanner = prose.Pattern(`(?:MIGRATED )?\b([A-Z]+ [A-Za-z/| ]{2,40}?) TEST from .*? to (\S*) \(([^)]*)\) port`)
	burst         = prose.Pattern(` first burst (\d{1,9})`)
	// unitOf a rate, at the end of the titles or in a value.
	unitOf     = prose.Pattern(`(10\^\d+bits|[KMG]?Bytes|Trans|Usec)\s*/s`)
	rrTitle    = prose.Pattern(`\bRequest\s+Resp\.`)
	numbers    = prose.Pattern(`^\s*-?\d[\d.]*(?:\s+-?[\d.]+){1,12}\s*$`)
	namedValue = prose.Pattern(`^\s*([A-Z][A-Z0-9_]{2,60})=(.*)$`)
	separated  = prose.Pattern(`^\s*(?:[^,]+,)*Throughput(?:,[^,]+)*$`)
)

// netperfBits returns a unit in bit/s, as netperf's code computes it.
func netperfBits(unit string) (float64, bool) {
	bits, known := map[string]float64{"10^3bits": 1e3, "10^6bits": 1e6, "10^9bits": 1e9, "Bytes": 8,
		"KBytes": 8 << 10, "MBytes": 8 << 20, "GBytes": 8 << 30}[unit]
	return bits, known
}

// IsNetperf reports whether a text has output of netperf.
func IsNetperf(text []byte) bool { return netperfBanner().Match(text) }

// ParseNetperf parses tests, of one call or several, with commands and prose between them. Left are tests that could
// not be parsed. Classic tests print tables; omni tests print names and values (-k), values separated by commas (-o) or
// columns (-O).
//
//	MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.2 () port 0 AF_INET : demo
//	bytes  bytes   bytes    secs.    10^6bits/sec
//	131072  16384  16384    10.00    9386.41
//
// Sources: nettest_bsd.c of netperf for the tables, print_omni_keyword, print_omni_csv and print_omni_human in
// nettest_omni.c, and format_units and calc_thruput_interval_omni in netlib.c for the meaning of units.
func ParseNetperf(text string) (all []Result, left []Left) {
	for _, part := range Parts(text, netperfCall(), netperfBanner()) {
		t, began := netperfTest{}, false
		for i, line := range part.Lines {
			if m := netperfBanner().FindStringSubmatch(line); m != nil {
				t, began = newNetperfTest(m, line), true
				part.Line += i
				part.Lines = part.Lines[i:]
				break
			}
		}
		if !began {
			if part.Command != nil && slices.ContainsFunc(part.Lines, isNetperfRow) {
				left = append(left, Left{Line: part.Line, Reason: netperfUntitled})
			}
			continue
		}
		for i, line := range part.Lines[1:] {
			if t.line(line); t.untitled {
				left = append(left, Left{Line: part.Line + 1 + i, Reason: netperfUntitled})
			}
		}
		r, reason := t.result()
		if reason != "" {
			left = append(left, Left{Line: part.Line, Reason: reason})
			continue
		}
		if r.Part = part; strings.Contains(part.Lines[0], ": no control") {
			r.Warnings = []lab.Warning{{Code: "only-sent", Taints: []string{lab.Bitrate(lab.Send)},
				Text: "netperf had no connection for control (-N), and takes what was sent for what arrived"}}
		}
		all = append(all, r)
	}
	return all, left
}

// netperfUntitled is the reason why rows printed with -P 0 are not parsed.
const netperfUntitled = "figures without titles, as -P 0 prints them; leave -P 0 out"

// isNetperfRow reports whether a line may have figures.
func isNetperfRow(line string) bool { return numbers().MatchString(line) || unitOf().MatchString(line) }

// netperfTest is one printed test.
type netperfTest struct {
	name, server, burst string
	// unit of the table, and whether the table is of requests.
	unit     string
	requests bool
	// rows of numbers below the titles.
	rows [][]float64
	// values by their names in omni output; titles are the titles of values that are separated by commas.
	values map[string]string
	titles []string
	// above are the last lines, which may be the titles of columns.
	above []string
	// last is the row of values below titles, and untitled is set if the current line is another like it.
	last     string
	untitled bool
}

func newNetperfTest(m []string, line string) netperfTest {
	t := netperfTest{name: strings.TrimSpace(m[1]), server: cmp.Or(m[3], m[2]), values: map[string]string{}}
	if b := burst().FindStringSubmatch(line); b != nil && b[1] != "0" {
		t.burst = b[1]
	}
	return t
}

func (t *netperfTest) line(text string) {
	if strings.HasPrefix(text, "Interim") {
		return
	}
	columns := t.columns(text)
	t.above = append(t.above, text)
	t.untitled = columns == nil && t.titles == nil && unitOf().MatchString(t.last) && unitOf().MatchString(text) &&
		len(strings.Fields(text)) == len(strings.Fields(t.last)) &&
		strings.Count(text, ",") == strings.Count(t.last, ",")
	switch {
	case columns != nil:
		maps.Copy(t.values, columns)
		t.above, t.last = nil, text
	case t.titles != nil && strings.Contains(text, ","):
		for i, value := range strings.Split(text, ",") {
			if i < len(t.titles) {
				t.values[t.titles[i]] = strings.TrimSpace(value)
			}
		}
		t.titles, t.last = nil, text
	case separated().MatchString(text):
		for _, title := range strings.Split(text, ",") {
			t.titles = append(t.titles, cmp.Or(netperfTitles()[strings.TrimSpace(title)], "-"))
		}
	case namedValue().MatchString(text):
		m := namedValue().FindStringSubmatch(text)
		t.values[m[1]] = strings.TrimSpace(m[2])
	case numbers().MatchString(text):
		var row []float64
		for _, field := range strings.Fields(text) {
			row = append(row, netperfNumber(field))
		}
		t.untitled = len(t.rows) > 0 && len(row) == len(t.rows[0])
		t.rows = append(t.rows, row)
	case len(t.rows) == 0:
		if m := unitOf().FindStringSubmatch(text); m != nil {
			t.unit = m[1]
		}
		t.requests = t.requests || rrTitle().MatchString(text)
		if strings.Contains(text, "per sec") && t.requests {
			t.unit = cmp.Or(t.unit, "Trans")
		}
	}
}

// columns returns the values of a line below the titles of -O, by their names; nil if it is none. Each title has up to
// four lines, and a column of blanks separates two titles:
//
//	Local       Remote      Local  Elapsed Throughput Throughput
//	Send Socket Recv Socket Send   Time               Units
//	Size        Size        Size   (sec)
//	Final       Final
//	4194304     1026899     16384  1.00    4091.42    10^6bits/s
func (t *netperfTest) columns(text string) map[string]string {
	const mostTitles = 4
	lines := append(slices.Clone(t.above[max(0, len(t.above)-mostTitles):]), text)
	width := 0
	for _, line := range lines {
		width = max(width, len(line))
	}
	var values map[string]string
	for from := 0; from < width; {
		to := from
		filled := func(line string) bool { return to < len(line) && line[to] != ' ' }
		for to < width && slices.ContainsFunc(lines, filled) {
			to++
		}
		var cells []string
		for _, line := range lines {
			if cell := strings.TrimSpace(line[min(from, len(line)):min(to, len(line))]); cell != "" {
				cells = append(cells, cell)
			}
		}
		from = to + 1
		if len(cells) < 2 {
			continue
		}
		value := cells[len(cells)-1]
		name := netperfTitles()[strings.Join(cells[:len(cells)-1], " ")]
		_, err := strconv.ParseFloat(value, 64)
		fits := err == nil
		switch name {
		case "":
			continue
		case "PROTOCOL", "DIRECTION":
			fits = true
		case "THROUGHPUT_UNITS":
			fits = unitOf().MatchString(value)
		}
		if fits {
			if values == nil {
				values = map[string]string{}
			}
			values[name] = value
		}
	}
	return values
}

// netperfTitles maps titles in output with commas or in columns to the names of values.
func netperfTitles() map[string]string {
	return map[string]string{"Throughput": "THROUGHPUT", "Throughput Units": "THROUGHPUT_UNITS",
		"Elapsed Time (sec)": "ELAPSED_TIME", "Local Send Size": "LOCAL_SEND_SIZE",
		"Request Size Bytes":  "REQUEST_SIZE",
		"Response Size Bytes": "RESPONSE_SIZE", "Direction": "DIRECTION", "Protocol": "PROTOCOL",
		"Minimum Latency Microseconds": "MIN_LATENCY", "Maximum Latency Microseconds": "MAX_LATENCY",
		"Mean Latency Microseconds": "MEAN_LATENCY", "50th Percentile Latency Microseconds": "P50_LATENCY",
		"90th Percentile Latency Microseconds": "P90_LATENCY", "99th Percentile Latency Microseconds": "P99_LATENCY",
		"Local Transport Retransmissions": "LOCAL_TRANSPORT_RETRANS"}
}

// netperfKind is what a test measures.
type netperfKind struct {
	job, protocol, direction string
	requests                 bool
}

// netperfKinds of tests by their names in the banner.
func netperfKinds() map[string]netperfKind {
	return map[string]netperfKind{
		"TCP STREAM": {"tcp-stream", "tcp", lab.Send, false}, "TCP SENDFILE": {"tcp-sendfile", "tcp", lab.Send, false},
		"TCP MAERTS": {"tcp-maerts", "tcp", lab.Receive, false}, "UDP STREAM": {"udp-stream", "udp", lab.Send, false},
		"UDP UNIDIRECTIONAL SEND":      {"udp-stream", "udp", lab.Send, false},
		"TCP REQUEST/RESPONSE":         {"tcp-rr", "tcp", "", true},
		"UDP REQUEST/RESPONSE":         {"udp-rr", "udp", "", true},
		"TCP Connect/Request/Response": {"tcp-crr", "tcp", "", true},
		"OMNI Send":                    {"omni-send", "", lab.Send, false},
		"OMNI Receive":                 {"omni-receive", "", lab.Receive, false},
		"OMNI Send|Recv":               {"omni-rr", "", "", true},
	}
}

// result returns the result of the test, or why there is none.
func (t *netperfTest) result() (r Result, reason string) {
	k, known := netperfKinds()[t.name]
	if !known {
		return r, fmt.Sprintf("tests of netperf called %q are not read", t.name)
	}
	r = Result{Job: k.job, Params: map[string]string{}, Values: map[string]float64{}}
	set := func(name, value string) {
		if value != "" {
			r.Params[name] = value
		}
	}
	set("protocol", cmp.Or(k.protocol, strings.ToLower(t.values["PROTOCOL"])))
	set("server", t.server)
	set("burst", t.burst)
	switch {
	case len(t.values) > 0:
		return r, t.omni(k, &r, set)
	case len(t.rows) == 0:
		return r, "below this line is no table with its titles; -k prints what is read best"
	case k.requests != t.requests:
		return r, "the table belongs to another test, or its titles are missing"
	}
	first := t.rows[0]
	at := func(row []float64, i int) float64 {
		if i < len(row) {
			return row[i]
		}
		return 0
	}
	count := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	if k.requests {
		if t.unit != "Trans" || len(first) < 6 {
			return r, "the table has no transactions a second; run netperf without -f"
		}
		set("request", count(first[2]))
		set("response", count(first[3]))
		r.Seconds, r.Values[lab.RequestRate] = first[4], first[5]
		return r, ""
	}
	bits, ok := netperfBits(t.unit)
	if !ok {
		return r, fmt.Sprintf("the unit %q of its rate is not known", t.unit)
	}
	if k.job != "udp-stream" {
		if len(first) < 5 {
			return r, "its table is cut off"
		}
		set("length", count(first[2]))
		r.Seconds, r.Values[lab.Bitrate(k.direction)] = first[3], first[4]*bits
		return r, ""
	}
	// The first line counts the sent data, the second the data that arrived.
	if len(t.rows) < 2 || len(first) < 6 || len(t.rows[1]) < 4 {
		return r, "the second line of its table is missing, which has what arrived"
	}
	arrived := t.rows[1]
	set("length", count(first[1]))
	r.Seconds, r.Values[lab.Bitrate(k.direction)] = arrived[1], at(arrived, 3)*bits
	if first[3] > 0 {
		r.Values[k.direction+".lost"] = max(0, 1-arrived[2]/first[3])
	}
	return r, ""
}

// omni parses named values. The throughput is the receiver's count, also for UDP.
func (t *netperfTest) omni(k netperfKind, r *Result, set func(name, value string)) (reason string) {
	r.Seconds = netperfNumber(t.values["ELAPSED_TIME"])
	value := t.values["THROUGHPUT"]
	_, ok := Number(value)
	m := unitOf().FindStringSubmatch(t.values["THROUGHPUT_UNITS"])
	switch {
	case !ok || m == nil:
		return "THROUGHPUT or THROUGHPUT_UNITS is missing"
	case k.requests && m[1] != "Trans":
		return "the throughput is not in transactions a second; run netperf without -f"
	case k.requests:
		set("request", t.values["REQUEST_SIZE"])
		set("response", t.values["RESPONSE_SIZE"])
		r.Values[lab.RequestRate] = netperfNumber(value)
		for part, name := range map[string]string{"mean": "MEAN", "min": "MIN", "max": "MAX", "p50": "P50",
			"p90": "P90", "p99": "P99"} {
			if v := netperfNumber(t.values[name+"_LATENCY"]); v > 0 {
				r.Values[lab.Latency(lab.Request, part)] = v / 1e6
			}
		}
		return ""
	}
	bits, ok := netperfBits(m[1])
	if !ok {
		return fmt.Sprintf("the unit %q of its rate is not known", m[1])
	}
	set("length", t.values["LOCAL_SEND_SIZE"])
	r.Values[lab.Bitrate(k.direction)] = netperfNumber(value) * bits
	if again, err := strconv.ParseFloat(t.values["LOCAL_TRANSPORT_RETRANS"], 64); err == nil && again >= 0 &&
		k.direction == lab.Send {
		r.Values[lab.Retransmits(k.direction)] = again
	}
	return ""
}

// netperfNumber returns a number, and 0 for -1, which netperf prints for an unknown value.
func netperfNumber(s string) float64 {
	v, _ := Number(s)
	return v
}
