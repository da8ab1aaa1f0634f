package machines

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/unit"
)

// ShownDifferences is the default number of listed differences: as many as are worth reading at once.
const ShownDifferences = 20

// DifferenceOptions select how much of the differences of two machines is shown.
type DifferenceOptions struct {
	// Top is how many differences are listed. All lists all of them, and the facts that can't be compared.
	Top int
	All bool
}

// Differences builds the document about two machines: the number of differences, then the differences, the likeliest to
// matter first.
func Differences(d diff.Document, o DifferenceOptions) document.Document {
	out := document.Document{Title: "Differences of " + d.A + " and " + d.B, Blocks: factsDiffAnswer(d)}
	entries := document.Entries{Name: "differences"}
	for i, x := range d.Differences {
		if i < o.Top || o.All {
			entries.List = append(entries.List, differenceEntry(x))
		} else {
			entries.Rest = append(entries.Rest, differenceEntry(x))
		}
	}
	if len(d.Differences) > 0 {
		out.Blocks = append(out.Blocks, entries)
	}
	if more := len(entries.Rest); more > 0 {
		out.Blocks = append(out.Blocks, document.Sentence{Role: document.Reading,
			Text: fmt.Sprintf("%d more, less likely to matter: --top %d, --all, or --json", more,
				max(ShownDifferences, 2*len(entries.List)))})
	}
	if o.All {
		out.Blocks = append(out.Blocks, notComparable(d.NotComparable)...)
	}
	return out
}

func factsDiffAnswer(d diff.Document) []document.Block {
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{{d.Counts.Options, "kernel option"}, {d.Counts.Arguments, "boot argument"}, {d.Counts.Sysctls, "sysctl"},
		{d.Counts.Facts, "fact"}} {
		switch {
		case c.n > 0 && c.what == "fact" && len(parts) > 0:
			parts = append(parts, prose.Count(c.n, "other fact"))
		case c.n > 0:
			parts = append(parts, prose.Count(c.n, c.what))
		}
	}
	title := fmt.Sprintf("A is %s, B is %s: ", d.A, d.B)
	switch total := d.Counts.Options + d.Counts.Arguments + d.Counts.Sysctls + d.Counts.Facts; total {
	case 0:
		title += "no difference"
	case 1:
		title += prose.List(parts) + " differs"
	default:
		title += prose.List(parts) + " differ"
	}
	blocks := []document.Block{document.Sentence{Role: document.Answer, Text: title}}
	if n := d.Counts.NotComparable; n > 0 {
		blocks = append(blocks, document.Sentence{Role: document.Detail,
			Text: fmt.Sprintf("%d can't be compared, because not both sides know them (--all lists them)", n)})
	}
	return blocks
}

// differenceEntry shows a difference, the side that is likely slower, and the reason.
func differenceEntry(x diff.Difference) document.Entry {
	weight := document.Value{Name: "weight", Cell: document.Cell{Text: unit.Decimal(x.Weight), Value: &x.Weight,
		Unit: "1"}}
	e := document.Entry{Mark: strconv.Itoa(x.Rank), Name: x.Fact,
		Values: []document.Value{report.TextValue("fact", x.Fact),
			report.TextValue("about", thingNames(x.About)), report.TextValue("a", x.A), report.TextValue("b", x.B),
			report.TextValue("slower", x.Slower), weight}}
	if x.Kind == "thing" {
		side, what := "A", x.A
		if x.A == "" {
			side, what = "B", x.B
		}
		e.Title = x.Fact + " " + what + ": only " + side + " has it"
		return e
	}
	e.Title = x.Name
	if about := thingNames(x.About); about != "" {
		e.Title += " of " + about
	}
	a, b := bothValues(x)
	e.Title += fmt.Sprintf(": A %s, B %s", a, b)
	if x.Slower != "" {
		e.Title += "; " + strings.ToUpper(x.Slower) + " is likely slower"
	}
	part := func(name, text string) {
		if text != "" {
			e.Parts = append(e.Parts, document.Part{Name: name, Obvious: true, Lines: []document.Line{{Text: text}}})
		}
	}
	part("why", x.Why)
	part("effect", publishedEffect(x))
	part("note", upperSides(x.Note))
	part("mechanism", report.MechanismText(x.Mechanism, "A", "B"))
	if x.Argument != "" {
		part("argument", "boot argument of equal meaning: "+x.Argument)
	}
	if len(x.Follows) > 0 {
		part("follows", "what follows from it: "+report.FirstNames(shortKeys(x.Follows)))
	}
	return e
}

// bothValues returns the two values in readable form, or unchanged if the readable forms are equal.
func bothValues(x diff.Difference) (a, b string) {
	show := func(value string) string {
		if value == "" || x.Kind != "fact" {
			return value
		}
		return catalogue.Show(lab.Fact{Key: x.Fact, Value: value})
	}
	if a, b = show(x.A), show(x.B); a == b {
		a, b = x.A, x.B
	}
	if a == x.A {
		a = quotedValue(a)
	}
	if b == x.B {
		b = quotedValue(b)
	}
	return a, b
}

func quotedValue(value string) string {
	if value == "" {
		return "nothing"
	}
	if strings.ContainsAny(value, " ,") {
		return lab.ShellQuote([]string{value})
	}
	return value
}

// upperSides writes the sides in a note as the text does, A and B; in JSON they are called a and b.
func upperSides(note string) string {
	for _, side := range []string{"a", "b"} {
		if rest, ok := strings.CutPrefix(note, side+" "); ok {
			return strings.ToUpper(side) + " " + rest
		}
		note = strings.Replace(note, "the kernel of "+side+" ", "the kernel of "+strings.ToUpper(side)+" ", 1)
	}
	return note
}

func publishedEffect(x diff.Difference) string {
	if x.Effect == "" {
		return ""
	}
	text := "published: " + x.Effect
	if x.Source != nil {
		text += " (" + x.Source.Title + ")"
	}
	return text
}

// shortKeys returns keys without the prefix of their kind.
func shortKeys(keys []string) []string {
	keys = slices.Clone(keys)
	for i, k := range keys {
		keys[i] = strings.TrimPrefix(strings.TrimPrefix(k, "kernel.config."), "sysctl.")
	}
	return keys
}

// thingNames returns the things that differ, under each side's names.
func thingNames(list []diff.Pair) string {
	var names []string
	for _, p := range list {
		switch {
		case p.A == p.B || p.B == "":
			names = append(names, p.A)
		case p.A == "":
			names = append(names, p.B)
		default:
			names = append(names, p.A+"/"+p.B)
		}
	}
	return report.FirstNames(names)
}

func notComparable(all []diff.NotComparable) []document.Block {
	if len(all) == 0 {
		return nil
	}
	var list []document.Entry
	for _, n := range all {
		name := n.Fact
		if n.About != "" {
			name += " of " + n.About
		}
		list = append(list, document.Entry{Mark: "?", Name: n.Fact, Title: name + ": " + n.Why,
			Values: []document.Value{report.TextValue("fact", n.Fact), report.TextValue("about", n.About),
				report.TextValue("unknown", n.Unknown), report.TextValue("why", n.Why)}})
	}
	const title = "Can't be compared"
	return []document.Block{document.Heading{Text: title}, document.Entries{Name: title, List: list}}
}
