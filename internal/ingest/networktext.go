package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/iperf3"
	"github.com/headroom/headroom/internal/load/pasted"
	"github.com/headroom/headroom/internal/load/perftest"
	"github.com/headroom/headroom/internal/load/sockperf"
)

// networkTexts returns the importers of the output for people of network load generators.
func networkTexts() []Importer {
	all := []Importer{iperfText()}
	for _, one := range []struct {
		name, title, units, engine string
		is                         func(text []byte) bool
		parse                      func(text string) (all []pasted.Result, left []pasted.Left)
	}{
		{"perftest-text", "the tables of perftest (ib_write_bw and the like), and its --out_json",
			"MB/sec and MiB/sec are of 2^20 bytes, Gb/sec of 10^9 bits; usec of the way there, for write and send",
			lab.EnginePerftest, perftest.IsText, perftest.ParseText},
		{"sockperf-text", "the text of a client of sockperf", "usec; of half the way there and back without --full-rtt",
			lab.EngineSockperf, sockperf.IsText, sockperf.ParseText},
		{"netperf-text", "the tables of netperf (TCP_STREAM, TCP_RR, UDP_STREAM and the like), and its -k, -o and -O",
			"10^6bits are a million bits, MBytes 2^20 bytes; a second", "netperf",
			pasted.IsNetperf, pasted.ParseNetperf},
		{"neper", "the text of neper (tcp_stream, tcp_rr, udp_stream and the like)",
			"local_throughput and Mbit/s are of bits, KB/s to GB/s decimal, KiB/s and KBytes/s to GBytes/s binary; seconds",
			"neper", pasted.IsNeper, pasted.ParseNeper},
	} {
		all = append(all, Importer{Name: one.name, Title: one.title, Units: one.units, text: true,
			Sniff: func(_ string, head []byte) bool { return one.is(head) },
			read: func(f file, d *runBuilder) error {
				results, left := one.parse(string(f.data))
				return addPasted(f, one.title, one.engine, results, left, d)
			}})
	}
	return all
}

// addPasted adds the results of pasted text, and warns of results that could not be read.
func addPasted(f file, title, engine string, all []pasted.Result, left []pasted.Left, d *runBuilder) error {
	if len(left) > 0 {
		first := fmt.Sprintf("line %d: %s", f.before+left[0].Line, left[0].Reason)
		if len(all) == 0 {
			return fmt.Errorf("this looks like %s: %s", title, first)
		}
		d.warn(lab.Warning{Code: "import-left-out", Text: fmt.Sprintf("%s of %s left out; the first is %s",
			counted(len(left), "result was", "results were"), f.name, first)})
	}
	if len(all) == 0 {
		return fmt.Errorf("this looks like %s, but no line with a result is whole; paste all that was printed", title)
	}
	lines := strings.Split(string(f.data), "\n")
	for _, r := range all {
		if r.Test != "" {
			key, where := engine+" "+r.Test, fmt.Sprintf("%s, line %d", f.name, f.before+r.Line)
			if before, again := d.forms[key]; again && before.form != r.Form {
				d.warn(lab.Warning{Code: "import-duplicate",
					Text: fmt.Sprintf("%s (%s) and %s (%s) have the same test of %s, by its figures; it was counted once, as "+
						"the first has it", before.where, before.form, where, r.Form, engine)})
				continue
			}
			d.forms[key] = seenForm{r.Form, where}
		}
		m := measurement{job: r.Job, engine: engine, params: r.Params, line: f.before + r.Line,
			host: promptOf(promptPattern(), lines[min(r.Prompt, len(lines))-1]).host}
		m.repetition = lab.Repetition{Command: r.Command, Values: r.Values, Seconds: r.Seconds, Warnings: r.Warnings}
		if err := d.add(m); err != nil {
			return err
		}
	}
	return nil
}

// iperfText reads the output for people of iperf3 and iperf 2.
func iperfText() Importer {
	return Importer{
		Name:  "iperf-text",
		Title: "the text of iperf3 and of iperf 2, of a client or a server",
		Units: "prefixes of bits are decimal, prefixes of Bytes binary; rates have the three digits that are printed",
		Sniff: func(_ string, head []byte) bool { return iperf3.IsText(head) },
		read:  readIperfText,
		text:  true,
	}
}

func readIperfText(f file, d *runBuilder) error {
	if hosts := interleaved(f.data); len(hosts) > 0 {
		return fmt.Errorf("the lines of %q and %q stand between each other; import what each of them printed as a file of "+
			"its own", hosts[0], hosts[1])
	}
	all, lost, err := iperf3.ParseText(string(f.data))
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("this looks like the text of iperf, but no line with a rate is whole; " +
			"iperf3 --json prints what is read best")
	}
	d.leftOut(f, lost)
	lines := strings.Split(string(f.data), "\n")
	for _, t := range all {
		err := addIperf3(f, t.Result, d, func(m *measurement) {
			m.repetition.Command, m.line = t.Command, f.before+t.Line
			if m.host == "" {
				m.host = promptOf(promptPattern(), lines[min(t.Prompt, len(lines))-1]).host
			}
			if t.Tool != lab.EngineIperf3 {
				m.engine = t.Tool
			}
			for name, value := range t.Options {
				if slices.Contains(iperf3.LoadOptions(), name) && m.params[name] == "" {
					m.params[name] = value
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// interleaved returns the line prefixes, as pdsh adds them, of two hosts whose output is mixed: the lines do not show
// which stream belongs to which host. It returns nil if the outputs follow each other.
func interleaved(text []byte) []string {
	var seen []string
	last := ""
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, []byte("/sec")) {
			continue
		}
		who := strings.TrimSpace(string(pasted.NameBefore(line)))
		if who != "" && !strings.HasPrefix(who, "[SUM]") && who != last {
			if slices.Contains(seen, who) {
				return []string{last, who}
			}
			seen, last = append(seen, who), who
		}
	}
	return nil
}

// leftOut warns of the lines with rates that were not understood, by number.
func (d *runBuilder) leftOut(f file, lost []int) {
	if len(lost) > 0 {
		d.warn(lab.Warning{Code: "import-left-out",
			Text: fmt.Sprintf("%s left out, because it is not known what they say: the first is line %d of %s",
				counted(len(lost), "line with a rate was", "lines with rates were"), f.before+lost[0], f.name)})
	}
}
