package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/load/iperf3"
)

// iperfText reads what iperf3 and iperf 2 print for people.
func iperfText() Importer {
	return Importer{
		Name:  "iperf-text",
		Title: "the text of iperf3 and of iperf 2, of a client or a server",
		Units: "K, M and G of bits are of 1000, those of Bytes of 1024; rates have the three digits that are printed",
		Sniff: func(_ string, head []byte) bool { return iperf3.IsText(head) },
		read:  readIperfText,
		text:  true,
	}
}

func readIperfText(f file, d *runBuilder) error {
	all, lost := iperf3.ParseText(string(f.data))
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

// leftOut warns of the numbers of lines with rates that are not understood.
func (d *runBuilder) leftOut(f file, lost []int) {
	if len(lost) > 0 {
		d.warn(lab.Warning{Code: "import-left-out",
			Text: fmt.Sprintf("%s left out, because it is not known what they say: the first is line %d of %s",
				counted(len(lost), "line with a rate was", "lines with rates were"), f.before+lost[0], f.name)})
	}
}
