package document

import "cmp"

// Entries are things that take more words than the row of a table has room for: findings, differences.
type Entries struct {
	// Name tells them from other entries and tables of the document.
	Name string
	List []Entry
	// Rest are those that people are not shown for their number. Files for other programs have them.
	Rest []Entry
}

// Entry is a title with paragraphs below it.
type Entry struct {
	// Mark stands before the title: how severe it is, which rank it has.
	Mark string
	// Severity is how much the mark strikes the eye.
	Severity Severity
	Title    string
	// ID is what the entry is called where one asks for more of it. Name identifies it in files for other programs
	// where it has none.
	ID, Name string
	// Values are what mark and title say, one by one. Only files for other programs have them.
	Values []Value
	Parts  []Part
}

// Severity is how severe an entry is.
type Severity int

// The severities of entries.
const (
	Ordinary Severity = iota
	Low
	Medium
	High
)

// Value is a property of an entry.
type Value struct {
	Name string
	Cell
}

// Part is a paragraph of an entry: what was read, what to change.
type Part struct {
	// Name says what it is. A terminal does not show it of an obvious part, whose lines say it themselves.
	Name    string
	Obvious bool
	Lines   []Line
}

// Line of a part. Label is before it: "cost". What is Typed is a command or a line of a file, which is shown as it is.
type Line struct {
	Label, Text string
	Typed       bool
}

func (Entries) block() {}

// String is the line with its label.
func (l Line) String() string {
	if l.Label == "" {
		return l.Text
	}
	return l.Label + ": " + l.Text
}

// Called is what identifies the entry.
func (e Entry) Called() string { return cmp.Or(e.ID, e.Name, e.Title) }

func (e Entries) rewritten(rewrite func(string) string) Entries {
	list := func(of []Entry) []Entry {
		out := make([]Entry, len(of))
		for i, one := range of {
			out[i] = one.rewritten(rewrite)
		}
		return out
	}
	return Entries{e.Name, list(e.List), list(e.Rest)}
}

func (e Entry) rewritten(rewrite func(string) string) Entry {
	e.Title, e.Name = rewrite(e.Title), rewrite(e.Name)
	values := make([]Value, len(e.Values))
	for i, v := range e.Values {
		v.Text = rewrite(v.Text)
		values[i] = v
	}
	parts := make([]Part, len(e.Parts))
	for i, p := range e.Parts {
		lines := make([]Line, len(p.Lines))
		for j, l := range p.Lines {
			l.Text = rewrite(l.Text)
			lines[j] = l
		}
		p.Lines = lines
		parts[i] = p
	}
	e.Values, e.Parts = values, parts
	return e
}
