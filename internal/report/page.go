package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/unit"
)

var (
	//go:embed page.html.tmpl
	pageText string
	//go:embed page.js
	pageScript string
)

// maxPictured is of how many cells a page has the pictures. They are some 30 KB a cell, and a page that is to be
// mailed must stay within a few megabytes.
const maxPictured = 40

// writePage writes one page with a part a run.
func writePage(w io.Writer, runs []Summary, o Options) error {
	p := page{Script: template.JS(pageScript)}
	var titles []string
	for i := range runs {
		run := newPageRun(&runs[i], i+1)
		links := warningLinks(fmt.Sprintf("s%d-", i+1)) // the run has warnings of its own, numbered from 1
		headline := true                                // the run has one
		run.Stages = links.blocks(besideRun(o.Stages[runs[i].ID], o).Blocks, &headline)
		p.Runs = append(p.Runs, run)
		titles = append(titles, title(&runs[i], nil))
	}
	p.Head = newPageHead(strings.Join(titles, "; "), pageScript, documentStyle, heatStyle())
	return writeHTML(w, pageText, p)
}

type page struct {
	Head   pageHead
	Script template.JS
	Runs   []pageRun
}

// pageRun is a run as the page shows it.
type pageRun struct {
	Title, Verdict, Trust template.HTML
	ID                    string
	Conditions            []condition
	Jobs                  []pageJob
	Marks                 []pageMark
	Reading               []string
	// Stages are none for a run without.
	Stages      []pageBlock
	Pictured    []picturedCell
	NotPictured int
	Targets     []pageTarget
	// Facts counts those of all targets; Unknown are those of them that could not be read.
	Facts, Unknown int
	Commands       []pageCommand
	Notes          []condition
	SuiteText      string
}

// pageJob is a job of the suite. Lines are its rows; a job with a matrix has its best row in Lines, the maps, and all
// rows in More.
type pageJob struct {
	Lines []pageLine
	Maps  []heatMap
	// Unit names what the maps show.
	Unit string
	More []pageLine
}

// pageLine is a row: the number that it is about, its bar, and the other numbers.
type pageLine struct {
	Job, Params, Direction string
	First                  bool
	Value, Unit, Spread    string
	Interval               string
	Signs                  []pageSign
	Bar                    *bar
	Others                 []pageNumber
}

type pageNumber struct {
	Name, Text, Spread, Interval string
	Signs                        []pageSign
	Slot                         string
}

// pageSign is the sign of a warning beside what it taints, and opens into the warning's sentence about the cell.
type pageSign struct{ Sign, Code, Text string }

// pageMark is a warning in full.
type pageMark struct {
	ID, Sign, Code string
	Texts          []pageMarkText
}

type pageMarkText struct{ Text, About string }

// bar is the share that a number has of the best in its unit, or of its ceiling, with the ends of its interval. All are
// in percent of the bar's length.
type bar struct {
	Share, Lo, Hi float64
	HasInterval   bool
	Limiter       string
	Title         string
}

type picturedCell struct {
	Name, Params string
	Folded       bool
	Pictures     []picture
}

// pageTarget is what is known of a target, by area and thing.
type pageTarget struct {
	Role, Target string
	Unknown      int
	Sections     []pageSection
}

type pageSection struct {
	Title string
	Facts []pageFact
}

// pageFact is a fact with its value as people read it; Key is its full name.
type pageFact struct {
	Name, Key, Value, Source string
	Unknown                  bool
}

func newPageTarget(t lab.RunTarget, index facts.Index) pageTarget {
	target := pageTarget{Role: t.Role, Target: t.Target}
	for _, s := range facts.Sections(t.Facts) {
		section := pageSection{Title: s.Title}
		for _, r := range s.Rows {
			f := pageFact{Name: r.Name, Key: r.Fact.Key, Value: index.Show(r.Fact), Source: r.Fact.Source,
				Unknown: r.Fact.Unknown != ""}
			if f.Unknown {
				target.Unknown++
			}
			section.Facts = append(section.Facts, f)
		}
		target.Sections = append(target.Sections, section)
	}
	return target
}

type pageCommand struct{ Name, Text string }

func newPageRun(s *Summary, section int) pageRun {
	all := marks(s)
	run := pageRun{
		ID: s.ID, Conditions: conditions(s), Reading: reading(s), SuiteText: s.SuiteText,
		Title: linked(title(s, all), section, all), Verdict: linked(answer(s, all), section, all),
		Trust:    linked(joinNonEmpty(plateauText(s), singleText(rows(s), all), trustText(s, all)), section, all),
		Commands: pageCommands(s), Notes: pageNotes(s),
	}
	index := facts.NewIndex()
	for _, t := range s.Targets {
		run.Facts += len(t.Facts)
		run.Targets = append(run.Targets, newPageTarget(t, index))
	}
	for _, t := range run.Targets {
		run.Unknown += t.Unknown
	}
	for _, m := range all {
		run.Marks = append(run.Marks, newPageMark(m, section))
	}
	run.Jobs = pageJobs(s, all)
	run.Pictured = picturedCells(s)
	run.NotPictured = max(0, len(s.Cells)-maxPictured)
	return run
}

// linked makes of each sign of a warning a link to its sentence. The text is escaped first.
func linked(text string, section int, all []mark) template.HTML {
	text = signs(template.HTMLEscapeString(text), func(n string) string {
		for _, m := range all {
			if m.sign() == "!"+n {
				return fmt.Sprintf(`<a class="sign" href="#%s">!%s</a>`, markID(section, m), n)
			}
		}
		return "!" + n // somebody's label, not a sign
	})
	return template.HTML(strings.ReplaceAll(text, `, <a`, `,&nbsp;<a`)) // a sign stays with its number
}

func markID(section int, m mark) string { return fmt.Sprintf("w%d-%d", section, m.number) }

func newPageMark(m mark, section int) pageMark {
	out := pageMark{ID: markID(section, m), Sign: m.sign(), Code: m.code}
	for _, t := range m.texts {
		out.Texts = append(out.Texts, pageMarkText{t.text, t.about(len(t.cells))})
	}
	return out
}

// pageCommands are the load's own command lines, ready to be pasted.
func pageCommands(s *Summary) []pageCommand {
	var out []pageCommand
	extra := distinguishingParams(s)
	for i := range s.Cells {
		c := &s.Cells[i]
		if len(c.Command) > 0 {
			out = append(out, pageCommand{joinNonEmpty(c.Job, paramText(c, extra[c.Job])), lab.ShellQuote(c.Command)})
		}
	}
	return out
}

// pageNotes are what one needs to repeat the run.
func pageNotes(s *Summary) []condition {
	var out []condition
	add := func(name, text string) {
		if text != "" {
			out = append(out, condition{name, text})
		}
	}
	add("run", s.ID)
	add("status", string(s.Status))
	add("command", lab.ShellQuote(s.Command))
	add("headroom", s.Version)
	add("order", s.Order)
	if s.Seed != 0 {
		add("seed", fmt.Sprint(s.Seed))
	}
	if s.Precision > 0 {
		add("precision", "±"+unit.Percent(s.Precision))
	}
	if s.Budget > 0 {
		add("budget", unit.Duration(time.Duration(s.Budget*float64(time.Second))))
	}
	if s.Pause > 0 {
		add("pause", figure(lab.Seconds, s.Pause)+" between two loads")
	}
	return out
}

// picturedCells draws the pictures of the first cells. Those of a job with a matrix are folded: its maps come first.
func picturedCells(s *Summary) []picturedCell {
	var out []picturedCell
	extra := distinguishingParams(s)
	sizes := map[string]int{}
	for _, c := range s.Cells {
		sizes[c.Job]++
	}
	for i := range s.Cells[:min(len(s.Cells), maxPictured)] {
		c := &s.Cells[i]
		pictures := picturesOf(c)
		if p, ok := eventPicture(s, c); ok {
			pictures = append([]picture{p}, pictures...)
		}
		if len(pictures) > 0 {
			out = append(out, picturedCell{c.Job, paramText(c, extra[c.Job]), sizes[c.Job] > 1, pictures})
		}
	}
	return out
}

func picturesOf(c *Cell) []picture {
	var out []picture
	for _, d := range c.Directions() {
		metric, other := lab.IOPS(d), lab.Bandwidth(d)
		if large(c) {
			metric, other = other, metric
		}
		p, ok := overTime(c, metric)
		if !ok { // the load generator wrote only one of the two down
			p, ok = overTime(c, other)
		}
		if ok {
			out = append(out, p)
		}
		if p, ok := distribution(c, d); ok {
			out = append(out, p)
		}
	}
	return out
}
