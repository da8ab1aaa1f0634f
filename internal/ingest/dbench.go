package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/unit"
)

// dbench reads the summary that dbench, a script that runs fio in Kubernetes, prints at its end:
//
//	Random Read/Write IOPS: 75.7k/59.7k. BW: 523MiB/s / 500MiB/s
//	Average Latency (usec) Read/Write: 183.07/76.91
//	Mixed Random Read/Write IOPS: 43.1k/14.4k
//
// A whole log of dbench has fio's own output, which says more; it is left to fioText.
func dbench() Importer {
	return Importer{
		Name:  "dbench",
		Title: "dbench's summary",
		Units: "MiB/s are binary, and a k of IOPS is 1000; us",
		Sniff: func(_ string, head []byte) bool {
			return bytes.Contains(head, []byte("Dbench Summary")) && !bytes.Contains(head, []byte("(groupid="))
		},
		read: readDbench,
	}
}

// dbenchLine is a line of the summary: its label, and for each pair of figures the jobs (dbench's own names for them)
// and what the figures are.
type dbenchLine struct {
	pattern *regexp.Regexp
	figures []dbenchFigure
}

type dbenchFigure struct{ job, rw, metric string }

func dbenchLines() []dbenchLine {
	pair := func(read, write, readRW, writeRW string, metric func(direction string) string) []dbenchFigure {
		return []dbenchFigure{{read, readRW, metric(lab.Read)}, {write, writeRW, metric(lab.Write)}}
	}
	mean := func(direction string) string { return lab.Latency(direction, "mean") }
	const two = `([^/\s]*?)\s*/\s*([^/\s]*?)`
	const bandwidths = `(\S*?/s)?\s*/\s*(\S*?/s)?`
	line := func(label, values string, figures ...dbenchFigure) dbenchLine {
		return dbenchLine{regexp.MustCompile("^" + regexp.QuoteMeta(label) + ": " + values + "$"), figures}
	}
	return []dbenchLine{
		line("Random Read/Write IOPS", two+`\. BW: `+bandwidths, append(
			pair("read_iops", "write_iops", "randread", "randwrite", lab.IOPS),
			pair("read_bw", "write_bw", "randread", "randwrite", lab.Bandwidth)...)...),
		line("Average Latency (usec) Read/Write", two,
			pair("read_latency", "write_latency", "randread", "randwrite", mean)...),
		line("Sequential Read/Write", bandwidths, pair("read_seq", "write_seq", "read", "write", lab.Bandwidth)...),
		line("Mixed Random Read/Write IOPS", two, pair("rw_mix", "rw_mix", "randrw", "randrw", lab.IOPS)...),
	}
}

func readDbench(f file, d *runBuilder) error {
	summaries, err := parseDbench(string(f.data))
	if err != nil {
		return err
	}
	for _, summary := range summaries {
		for _, m := range summary {
			m.facts = []lab.Fact{{Key: "import.tool", Value: "dbench", Source: f.name}}
			if err := d.add(m); err != nil {
				return err
			}
		}
	}
	d.warn(lab.Warning{
		Code: "import-summary",
		Text: "dbench's summary rounds to three digits and has one number a job; " +
			"import its whole log instead, which has fio's own output",
		Taints: []string{"*"},
	})
	return nil
}

// parseDbench returns the measurements of each summary in a text.
func parseDbench(text string) ([][]measurement, error) {
	var summaries [][]measurement
	lines := dbenchLines()
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "Dbench Summary") {
			summaries = append(summaries, nil)
			continue
		}
		if len(summaries) == 0 {
			continue
		}
		for _, l := range lines {
			m := l.pattern.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			here := &summaries[len(summaries)-1]
			for i, fig := range l.figures {
				v, ok, err := dbenchValue(m[i+1], fig.metric)
				if err != nil {
					return nil, fmt.Errorf("line %d: %w", n+1, err)
				}
				if ok {
					*here = fig.addTo(*here, v)
				}
			}
		}
	}
	for _, s := range summaries {
		if len(s) > 0 {
			return summaries, nil
		}
	}
	return nil, errors.New(`expected lines as "Random Read/Write IOPS: 75.7k/59.7k. BW: 523MiB/s / 500MiB/s" ` +
		`below "Dbench Summary", found none`)
}

// addTo gives the figure to its job's measurement; the two figures of a mixed load are one repetition.
func (fig dbenchFigure) addTo(all []measurement, v float64) []measurement {
	if n := len(all); n > 0 && all[n-1].job == fig.job {
		all[n-1].repetition.Values[fig.metric] = v
		return all
	}
	m := measurement{job: fig.job, paramsComplete: true, engine: "fio", params: map[string]string{"rw": fig.rw}}
	m.repetition.Values = map[string]float64{fig.metric: v}
	return append(all, m)
}

// dbenchValue reads one figure; dbench prints nothing where it found none.
func dbenchValue(s, metric string) (v float64, ok bool, err error) {
	switch {
	case s == "":
		return 0, false, nil
	case strings.HasSuffix(metric, ".bandwidth"):
		// In what fio prints, MiB is binary, unlike in what it reads.
		bytes, err := unit.ParseBytes(strings.ReplaceAll(strings.TrimSuffix(s, "/s"), "i", ""))
		return float64(bytes), err == nil, err
	case strings.HasSuffix(metric, ".iops"):
		number, thousands := strings.CutSuffix(s, "k")
		v, err = strconv.ParseFloat(number, 64)
		if thousands {
			v *= 1000
		}
	default:
		v, err = strconv.ParseFloat(s, 64)
		v /= 1e6
	}
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, false, fmt.Errorf("expected a number, found %s", excerpt(s))
	}
	return v, true, nil
}
