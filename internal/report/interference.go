package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"headroom/internal/interference"
	"headroom/internal/unit"
)

// WriteInterference writes who takes from whom, what each keeps of what it does alone, and what they do together.
func WriteInterference(w io.Writer, d interference.Document, o Options) error {
	out := &paragraphs{out: bufio.NewWriter(w), width: o.width(), o: o}
	all := interferenceMarks(&d)
	out.wrapped(strong, d.Answer.Text, 0)
	out.line("")
	out.wrapped(strong, "What each keeps of what it does alone", 0)
	left := out.keptTable(&d, all)
	out.line("")
	out.wrapped(strong, "What they do together", 0)
	left = append(left, out.togetherTable(&d)...)
	out.line("")
	for _, m := range all {
		out.ladderMark(m)
	}
	for _, n := range d.Notes {
		out.marked("!", " "+n, 2)
	}
	out.wrapped(faint, interferenceReading(&d), 0)
	if len(left) > 0 {
		out.wrapped(faint, "Left out for want of room: \""+strings.Join(slices.Compact(left), "\" and \"")+"\"; --json has all.", 0)
	}
	id := d.Run
	if o.ShortID != nil {
		id = o.ShortID(id)
	}
	out.wrapped(plain, fmt.Sprintf("saved as %s; once more: headroom net interference --resume %s; what may hold the machines back: headroom doctor %s", id, id, id), 2)
	return out.out.Flush() // keeps the first error of all writes
}

// interferenceMarks numbers the warnings by code.
func interferenceMarks(d *interference.Document) []mark {
	var all []mark
	for _, w := range d.Warnings {
		if len(w.Groups) == 0 {
			all = addMark(all, Warning{Warning: w.Warning}, nil, "")
			continue
		}
		about := groupNames(d, w.Groups)
		if w.About >= 0 && len(w.Groups) > 1 {
			about = d.Groups[w.About].Name + " in " + about
		}
		all = addMark(all, Warning{Warning: w.Warning, Repetitions: w.Repetitions}, &Cell{N: w.N}, about)
	}
	return all
}

func groupNames(d *interference.Document, groups []int) string {
	var list []string
	for _, g := range groups {
		list = append(list, d.Groups[g].Name)
	}
	return strings.Join(list, ", ")
}

// keptTable has a row for each group, and a column for each that it was loaded beside.
func (p *paragraphs) keptTable(d *interference.Document, all []mark) (left []string) {
	name, alone := column{title: "load"}, column{title: "alone", right: true}
	signs := column{gap: 1, optional: true, style: alarm}
	for g, group := range d.Groups {
		var codes []string
		for _, w := range d.Warnings {
			if slices.Equal(w.Groups, []int{g}) && (w.Tainted("send.bitrate") || w.Tainted("read.bandwidth")) {
				codes = append(codes, w.Code)
			}
		}
		name.cells, alone.cells = append(name.cells, group.Name), append(alone.cells, rateText(group.Alone))
		signs.cells = append(signs.cells, codeSigns(all, codes))
	}
	columns := []column{name, alone, signs}
	for _, c := range besides(d) {
		shares, bounds := column{title: c.title, right: true}, column{gap: 1, drop: 1, optional: true}
		for g := range d.Groups {
			share, interval := "", ""
			if t := c.with(g); t >= 0 {
				k := d.Together[t].Kept[slices.Index(d.Together[t].Groups, g)]
				share, interval = keptText(k)
			}
			shares.cells, bounds.cells = append(shares.cells, share), append(bounds.cells, interval)
		}
		columns = append(columns, shares, bounds)
	}
	g, left := fit(columns, p.width)
	for _, l := range g.lines(p.o) {
		p.line(l)
	}
	return left
}

// beside is a column of the table of what is kept.
type beside struct {
	title string
	// with is the combination in which a group is measured beside what the column stands for; -1 for none.
	with func(group int) int
}

// besides are the columns: each group, and all others where there are more than one.
func besides(d *interference.Document) []beside {
	var list []beside
	find := func(groups []int) int {
		slices.Sort(groups)
		return slices.IndexFunc(d.Together, func(t interference.Together) bool { return slices.Equal(t.Groups, groups) })
	}
	for other, group := range d.Groups {
		list = append(list, beside{"beside " + group.Name, func(g int) int {
			if g == other {
				return -1
			}
			return find([]int{g, other})
		}})
	}
	if len(d.Groups) > 2 {
		list = append(list, beside{"beside all", func(int) int { return len(d.Together) - 1 }})
	}
	return list
}

// togetherTable has a row for each combination.
func (p *paragraphs) togetherTable(d *interference.Document) (left []string) {
	name := column{title: "together"}
	sum, alone := column{title: "sum", right: true}, column{title: "sum of each alone", right: true, drop: 2}
	share, bounds := column{title: "kept", right: true}, column{gap: 1, drop: 1, optional: true}
	verdict := column{title: "verdict"}
	for _, t := range d.Together {
		kept, interval := keptText(t.Whole)
		name.cells, sum.cells, alone.cells = append(name.cells, groupNames(d, t.Groups)), append(sum.cells, rateText(t.Sum)), append(alone.cells, rateText(t.Alone))
		share.cells, bounds.cells, verdict.cells = append(share.cells, kept), append(bounds.cells, interval), append(verdict.cells, string(t.Whole.Verdict))
	}
	g, left := fit([]column{name, sum, alone, share, bounds, verdict}, p.width)
	for _, l := range g.lines(p.o) {
		p.line(l)
	}
	return left
}

func rateText(r interference.Rate) string {
	if r.Value == nil {
		return absent
	}
	return unit.Bitrate(*r.Value)
}

// keptText is a share and its interval.
func keptText(k interference.Kept) (share, interval string) {
	if k.Value == nil {
		return absent, ""
	}
	if k.Lo != nil {
		interval = "[" + unit.Percent(*k.Lo) + ", " + unit.Percent(*k.Hi) + "]"
	}
	return unit.Percent(*k.Value), interval
}

// interferenceReading says how the tables are to be read.
func interferenceReading(d *interference.Document) string {
	return fmt.Sprintf("Kept is the rate beside others as a share of the same one alone in the same pass. Who loses does more than %g%% less for sure; all %s of %d passes hold together with %s. "+
		"Rates are those of the seconds in which all were running.", 100*d.Margin, countOf(d.Claims, "verdict"), d.Passes, confidenceDigits(1-d.Alpha))
}
