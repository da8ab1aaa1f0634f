package report

import (
	"io"
	"strconv"

	"headroom/internal/bisection"
)

// writeBisectionCSV writes one line a measurement, with a column for each setting: 1 where it was as in the slow state,
// 0 where it was as in the fast one.
func writeBisectionCSV(w io.Writer, d bisection.Document, o Options) error {
	out := newTable(w, o)
	head := []string{"number", "arm", "purpose", "metric", "unit", "value"}
	for _, c := range d.Candidates {
		head = append(head, c.Factor+"="+c.Bad)
	}
	rows := [][]string{head}
	for _, s := range d.Steps {
		row := []string{strconv.Itoa(s.Number), s.Arm, s.Purpose, d.Metric, string(d.Unit), significant(s.Value)}
		applied := make([]string, len(d.Candidates))
		for i := range applied {
			applied[i] = "0"
		}
		for _, n := range s.Applied {
			applied[n-1] = "1"
		}
		rows = append(rows, append(row, applied...))
	}
	return out.writeAll(rows)
}
