package document

import "cmp"

// Entries are things with more text than the row of a table has room for: findings, differences.
type Entries struct {
	// Name distinguishes them from the document's other entries and tables.
	Name string
	List []Entry
	// Rest are the entries that people do not see because there are too many. Files for other programs have them.
	Rest []Entry
}

// Entry is a title with paragraphs below it.
type Entry struct {
	// Mark is printed before the title: severity or rank.
	Mark string
	// Severity determines how conspicuous the mark is.
	Severity Severity
	Title    string
	// ID is the entry's name in commands that show more of it. Name identifies an entry without an ID in files for
	// other programs.
	ID, Name string
	// Values are the facts in mark and title, one by one. Only files for other programs have them.
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
	// Name is the title of the part. A terminal leaves it out where the part is Obvious, which its lines explain
	// themselves.
	Name    string
	Obvious bool
	Lines   []Line
}

// Line is a line of a part. Label is printed before it: "cost". A Typed line is a command or a line of a file, and is
// shown unchanged.
type Line struct {
	Label, Text string
	Typed       bool
}

func (Entries) block() {}

// String returns the line with its label.
func (l Line) String() string {
	if l.Label == "" {
		return l.Text
	}
	return l.Label + ": " + l.Text
}

// Called returns the text that identifies the entry.
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
