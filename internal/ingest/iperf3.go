package ingest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/iperf3"
)

// iperf3JSON reads the output of iperf3 with --json or --json-stream, from its client or its server. It begins like
// this:
//
//	{
//		"start":	{
//			"connected":	[{
//
// or like this:
//
//	{"event":"start","data":{"connected":[{"socket":5,"local_host":"192.0.2.1",…
func iperf3JSON() Importer {
	return Importer{
		Name:  "iperf3",
		Title: "iperf3's JSON, one or several documents in a file",
		Units: "bits_per_second are bits a second; seconds",
		Sniff: func(_ string, head []byte) bool { return iperf3.Is(head) },
		read:  readIperf3,
		text:  true,
	}
}

func readIperf3(f file, d *runBuilder) error {
	all, damaged, err := iperf3.ParseAll(f.data)
	if err != nil {
		return err
	}
	if len(damaged) > 0 {
		d.warn(lab.Warning{Code: "import-left-out",
			Text: fmt.Sprintf("%s of iperf3 in %s left out, because it is damaged or cut off: the first begins at line %d",
				counted(len(damaged), "document", "documents"), f.name, f.before+damaged[0])})
	}
	for _, r := range all {
		if err := addIperf3(f, r, d, func(*measurement) {}); err != nil {
			return err
		}
	}
	return nil
}

// seenTest is a test that was added, and its file.
type seenTest struct {
	iperf3.Result
	file string
}

// addIperf3 adds one test. amend sets fields that the document does not have.
func addIperf3(f file, r iperf3.Result, d *runBuilder, amend func(*measurement)) error {
	for _, seen := range d.tests[r.Cookie] {
		if r.Same(seen.Result) {
			d.warn(lab.Warning{Code: "import-duplicate",
				Text: fmt.Sprintf("%s and %s have the same test of iperf3, by its cookie, as its client and its server "+
					"print it; it was counted once, as the first has it", seen.file, f.name)})
			return nil
		}
	}
	if r.Cookie != "" {
		d.tests[r.Cookie] = append(d.tests[r.Cookie], seenTest{r, f.name})
	}
	m := measurement{job: iperf3Job(r), engine: lab.EngineIperf3, host: r.Client, params: iperf3Params(r)}
	if r.Version != "" {
		m.facts = []lab.Fact{{Key: "iperf3.version", Value: r.Version, Source: f.name}}
	}
	m.repetition = lab.Repetition{Start: r.Start, Seconds: r.Ran(), Values: r.Values(), Series: r.Series(),
		Warnings: append(r.Warnings(), r.Unconfirmed()...)}
	if !r.Start.IsZero() {
		m.ended = r.Start.Add(time.Duration((r.Omit + m.repetition.Seconds) * float64(time.Second)))
	}
	amend(&m)
	return d.add(m)
}

// iperf3Job names a test: "tcp", "tcp-p8" with eight streams, "udp-reverse".
func iperf3Job(r iperf3.Result) string {
	name := strings.ToLower(r.Protocol)
	switch {
	case name == "":
		return "network"
	case r.Forward != nil && r.Reverse != nil:
		name += "-bidir"
	case r.Reverse != nil:
		name += "-reverse"
	}
	if r.Streams > 1 {
		name += "-p" + strconv.Itoa(r.Streams)
	}
	return name
}

// iperf3Params returns the options with which the test was started, by their long names.
func iperf3Params(r iperf3.Result) map[string]string {
	params := map[string]string{}
	set := func(name, value string, printed bool) {
		if printed {
			params[name] = value
		}
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	set("protocol", strings.ToLower(r.Protocol), r.Protocol != "")
	set("server", r.Server, r.Server != "")
	set("parallel", strconv.Itoa(r.Streams), r.Streams > 0)
	set("length", strconv.FormatInt(r.Block, 10), r.Block > 0)
	set("time", number(r.Seconds), r.Seconds > 0)
	set("omit", number(r.Omit), r.Omit > 0)
	set("bitrate", number(8*r.Rate), r.Rate > 0)
	set("bidir", "1", r.Forward != nil && r.Reverse != nil)
	set("reverse", "1", r.Forward == nil && r.Reverse != nil)
	set("congestion", r.SenderCongestion, r.SenderCongestion != "")
	return params
}
