package document

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/headroom/headroom/internal/testing/figure"
)

// Row is one figure of two files.
type Row struct {
	Old, New figure.Figure
	// Change is new over old in per cent, or for shares the difference in percentage points; "" if there is none.
	Change string
	// Verdict is whether the intervals are disjoint.
	Verdict string
}

// Compare returns rows for the figures in both, in the order of the new file, and the names that only one has.
func Compare(before, after *Document) (rows []Row, onlyBefore, onlyAfter []string) {
	find := func(in *Document, name string) int {
		return slices.IndexFunc(in.Figures, func(f figure.Figure) bool { return f.Name == name })
	}
	for _, f := range after.Figures {
		i := find(before, f.Name)
		if i < 0 {
			onlyAfter = append(onlyAfter, f.Name)
			continue
		}
		rows = append(rows, row(before.Figures[i], f))
	}
	for _, f := range before.Figures {
		if find(after, f.Name) < 0 {
			onlyBefore = append(onlyBefore, f.Name)
		}
	}
	return rows, onlyBefore, onlyAfter
}

func row(before, after figure.Figure) Row {
	r := Row{Old: before, New: after}
	switch {
	case before.Unit != after.Unit:
		r.Verdict = "other units"
		return r
	case after.Unit == "share":
		r.Change = fmt.Sprintf("%+.1f points", 100*(after.Center-before.Center))
	case before.Center != 0:
		r.Change = fmt.Sprintf("%+.1f%%", 100*(after.Center/before.Center-1))
	}
	switch {
	case !before.Known() || !after.Known():
		r.Verdict = "no interval"
	case before.Hi >= after.Lo && after.Hi >= before.Lo:
		r.Verdict = "not apart"
	case after.Better == "":
		r.Verdict = "apart"
	case (after.Center > before.Center) == (after.Better == figure.Higher):
		r.Verdict = "apart: better"
	default:
		r.Verdict = "apart: worse"
	}
	return r
}

// Table prints two files next to each other.
func Table(w io.Writer, before, after *Document) error {
	for _, d := range []struct {
		which string
		*Document
	}{{"old", before}, {"new", after}} {
		if _, err := fmt.Fprintf(w, "%s: %s of %s, on %s\n", d.which, d.Commit, d.Time.UTC().Format("2006-01-02 15:04"),
			d.Machine); err != nil {
			return err
		}
	}
	if before.Machine != after.Machine {
		if _, err := fmt.Fprintln(w, "The machines differ: times, rates and memory of one say little beside those of "+
			"the other."); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	rows, onlyBefore, onlyAfter := Compare(before, after)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "figure\told\tnew\tchange\tintervals")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", r.New.Name, r.Old.Value(), r.New.Value(), r.Change, r.Verdict)
	}
	for _, name := range onlyBefore {
		fmt.Fprintf(table, "%s\t\t\t\tonly in the old one\n", name)
	}
	for _, name := range onlyAfter {
		fmt.Fprintf(table, "%s\t\t\t\tonly in the new one\n", name)
	}
	return table.Flush()
}
