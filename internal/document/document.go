// Package document is what a result says, as blocks in the order in which people read them. A builder for each kind of
// result makes a document, once; the writers of internal/render (terminal, page, Markdown, CSV) know blocks and no kind
// of result. Published JSON is made of the results themselves and not of this.
package document

import (
	"iter"
	"slices"
	"strings"
)

// Document is a result.
type Document struct {
	// Title names what was measured, and where: the title of a page.
	Title  string
	Blocks []Block
	// Data is the file for other programs where its columns are published; nil where the blocks say what is in it.
	Data *Data
}

// Absent is what a person sees where nothing was measured.
const Absent = "–"

// Block is a Sentence, a Heading, a List, a WarningBlock, Warnings, a Table, a Command, a Listing, Conditions, Entries,
// Plots or a Flame; or a Section, Folded or Terminal, which have blocks.
type Block interface{ block() }

// Role says what a sentence is for.
type Role string

const (
	// Subject says what the rest is about, or the part up to the next subject: the machine, the time.
	Subject Role = "subject"
	// Answer is what the reader wants to know. The first of a document is its headline.
	Answer Role = "answer"
	// More is a paragraph that says more of the answer.
	More Role = "more"
	// Detail says more of a table.
	Detail Role = "detail"
	// Note is what was left out, or is in doubt.
	Note Role = "note"
	// Reading says how to read the rest.
	Reading Role = "reading"
)

// Sentence is a paragraph. Signs of warnings are in its text: "!1".
type Sentence struct {
	Role Role
	Text string
}

// Heading is above a table.
type Heading struct{ Text string }

// List has items, each with lines below it. A terminal shows the first Brief of them; 0 is all.
type List struct {
	Items []Item
	Brief int
}

// Item of a list.
type Item struct {
	Text  string
	Below []string
}

// WarningBlock is a reason to distrust numbers, which have its sign beside them.
type WarningBlock struct {
	// Sign is "!1"; empty where it is about everything. Code is empty where the text says all.
	Sign, Code string
	Texts      []WarningText
	// Explained says that headroom explain knows the code.
	Explained bool
	// Apart says that each text is about something else, so that the first few don't stand for all.
	Apart bool
	// Brief is the line by which a terminal shows it among others, where that is not the first text.
	Brief WarningText
}

// WarningText is a sentence, and what it is about. All names what it is about where a writer has room for it, About
// the first few.
type WarningText struct{ Text, About, All string }

// Warnings are those of a document, the most important first.
type Warnings struct {
	List []WarningBlock
	// Brief is how many of them a terminal shows, in a line each: of the others it names the codes. All are shown in
	// full where that is asked for; 0 is all.
	Brief int
	// Notes are the codes of what is worth knowing and taints no number that is shown.
	Notes []string
	// Full is the command that shows all in full.
	Full string
}

// Command is what to type next.
type Command struct {
	// What it does, up to the colon.
	What string
	Text string
}

// Table has a cell for each column in each row.
type Table struct {
	// Name tells the table from others of the document.
	Name    string
	Columns []Column
	Rows    []Row
	// Map says that all columns behind the first have one quantity, by two things: a page tints it, and a terminal
	// leaves none of it out.
	Map bool
	// Brief is how many rows a terminal shows; 0 is all.
	Brief int
}

// Row of a table. One that the answer is about is strong.
type Row struct {
	// Group is above the first of some rows, and names what they have in common. Apart from the group before they
	// are where they are no more of the same.
	Group string
	Apart bool

	Cells  []Cell
	Strong bool
}

// Kind is what the cells of a column are.
type Kind string

const (
	// Words are names, which stand on the left and identify a row.
	Words Kind = "words"
	// Number is aligned to the right.
	Number Kind = "number"
	// Verdict is a word that is read last.
	Verdict Kind = "verdict"
	// Bar is a picture of the row, which files for other programs leave out.
	Bar Kind = "bar"
	// Sketch is a picture of the row in characters, for texts: pages have plots.
	Sketch Kind = "sketch"
	// Range is a sketch that needs characters of one width: only terminals have it.
	Range Kind = "range"
)

// Picture says whether cells are no text that a file for other programs has.
func (k Kind) Picture() bool { return k == Bar || k == Sketch || k == Range }

// Column of a table.
type Column struct {
	Title string
	// Signs are of warnings about all numbers of the column: "!1 !3".
	Signs string
	Kind  Kind
	// Over is above the titles of columns that are next to each other and have it in common.
	Over string
	// Drop ranks what goes first where a terminal has no room, the highest; 0 stays. The interval goes on its own, one
	// of -1 where names are cut already.
	Drop, DropInterval int
	// Optional columns vanish where all their cells are empty; texts of those that are Cut are shortened where a
	// terminal has no room.
	Optional, Cut bool
	// Instead stands below the table where a terminal has no room for the column; nil where it says so.
	Instead []string
}

// Tone is what a cell says of its row, for those who see colours: the text says it too.
type Tone string

const (
	// Good is better than before.
	Good Tone = "good"
	// Bad is worse.
	Bad Tone = "bad"
	// Doubtful is not known to be either.
	Doubtful Tone = "doubtful"
	// Faint is a number that does not count.
	Faint Tone = "faint"
)

// Cell is what people read, and the value behind it. Signs without a text are about the whole row.
type Cell struct {
	Text string
	// Interval is "[1.2, 1.4]", and Signs "!1 !3"; empty for none.
	Interval, Signs string
	Tone            Tone
	// Value, with the bounds of its interval, is in the base unit; nil where the cell is no number.
	Value, Lo, Hi *float64
	Unit          string
	// From and To are where a bar begins and ends, as shares of the largest of the table.
	From, To float64
	// Tint is how much of the colour of a map is behind the cell, from 0 to 1.
	Tint float64
}

func (Sentence) block()     {}
func (Heading) block()      {}
func (WarningBlock) block() {}
func (Warnings) block()     {}
func (Command) block()      {}
func (List) block()         {}
func (Table) block()        {}

// Rewritten is the document with each text as rewrite makes it: without serial numbers, for others.
func (d Document) Rewritten(rewrite func(string) string) Document {
	return Document{rewrite(d.Title), allRewritten(d.Blocks, rewrite), d.Data.rewritten(rewrite)}
}

func allRewritten(blocks []Block, rewrite func(string) string) []Block {
	out := make([]Block, len(blocks))
	for i, b := range blocks {
		out[i] = rewritten(b, rewrite)
	}
	return out
}

func rewritten(b Block, rewrite func(string) string) Block {
	switch b := b.(type) {
	case Sentence:
		b.Text = rewrite(b.Text)
		return b
	case Heading:
		b.Text = rewrite(b.Text)
		return b
	case Command:
		b.Text = rewrite(b.Text)
		return b
	case List:
		items := make([]Item, len(b.Items))
		for i, item := range b.Items {
			items[i] = Item{rewrite(item.Text), rewrittenTexts(item.Below, rewrite)}
		}
		return List{items, b.Brief}
	case WarningBlock:
		return b.rewritten(rewrite)
	case Warnings:
		list := make([]WarningBlock, len(b.List))
		for i, w := range b.List {
			list[i] = w.rewritten(rewrite)
		}
		b.List, b.Full = list, rewrite(b.Full)
		return b
	case Table:
		b.Name = rewrite(b.Name)
		columns := make([]Column, len(b.Columns))
		for i, c := range b.Columns {
			c.Title, c.Over, c.Instead = rewrite(c.Title), rewrite(c.Over), rewrittenTexts(c.Instead, rewrite)
			columns[i] = c
		}
		rows := make([]Row, len(b.Rows))
		for i, row := range b.Rows {
			rows[i] = Row{rewrite(row.Group), row.Apart, make([]Cell, len(row.Cells)), row.Strong}
			for j, c := range row.Cells {
				c.Text = rewrite(c.Text)
				rows[i].Cells[j] = c
			}
		}
		b.Columns, b.Rows = columns, rows
		return b
	case Section:
		return Section{b.Rewritten(rewrite)}
	case Folded:
		return Folded{rewrite(b.Title), b.Open, allRewritten(b.Blocks, rewrite)}
	case Terminal:
		return Terminal{allRewritten(b.Blocks, rewrite)}
	case Conditions:
		return b.rewritten(rewrite)
	case Listing:
		return Listing{rewrite(b.Title), rewrite(b.Text)}
	case Entries:
		return b.rewritten(rewrite)
	case Plots:
		return b.rewritten(rewrite)
	case Flame:
		return b.rewritten(rewrite)
	}
	return b
}

func rewrittenTexts(of []string, rewrite func(string) string) []string {
	out := slices.Clone(of)
	for i := range out {
		out[i] = rewrite(out[i])
	}
	return out
}

func (w WarningBlock) rewritten(rewrite func(string) string) WarningBlock {
	texts := make([]WarningText, len(w.Texts))
	for i, t := range w.Texts {
		texts[i] = WarningText{rewrite(t.Text), rewrite(t.About), rewrite(t.All)}
	}
	w.Texts = texts
	w.Brief = WarningText{rewrite(w.Brief.Text), rewrite(w.Brief.About), rewrite(w.Brief.All)}
	return w
}

// Name tells a column from others of its table.
func (c Column) Name() string {
	if c.Over == "" {
		return c.Title
	}
	return c.Over + ": " + c.Title
}

// Empty says whether an optional column has nothing in any row.
func (t Table) Empty(column int) bool {
	if !t.Columns[column].Optional {
		return false
	}
	for _, row := range t.Rows {
		if row.Cells[column].Text != "" || row.Cells[column].Signs != "" {
			return false
		}
	}
	return true
}

// RowName is what identifies a row: its group and its words.
func (t Table) RowName(row int) string {
	var words []string
	for i := row; i >= 0 && len(words) == 0; i-- {
		if t.Rows[i].Group != "" {
			words = append(words, t.Rows[i].Group)
		}
	}
	for i, c := range t.Rows[row].Cells {
		if t.Columns[i].Kind == Words && c.Text != "" {
			words = append(words, c.Text)
		}
	}
	return strings.Join(words, ", ")
}

// Data is a table for other programs: a line for each number, say, with all that belongs to it.
type Data struct {
	Columns []string
	// Rows have a field for each column. They are made as they are written: there may be a million.
	Rows iter.Seq[[]Field]
}

// Field is a text, or a number in its base unit.
type Field struct {
	Text   string
	Number *float64
}

// Texts are fields without numbers.
func Texts(texts ...string) []Field {
	fields := make([]Field, len(texts))
	for i, text := range texts {
		fields[i].Text = text
	}
	return fields
}

// Numbers are fields that are empty for nil.
func Numbers(numbers ...*float64) []Field {
	fields := make([]Field, len(numbers))
	for i, n := range numbers {
		fields[i].Number = n
	}
	return fields
}

func (d *Data) rewritten(rewrite func(string) string) *Data {
	if d == nil {
		return nil
	}
	return &Data{Columns: d.Columns, Rows: func(yield func([]Field) bool) {
		for row := range d.Rows {
			fields := make([]Field, len(row))
			for i, f := range row {
				fields[i] = Field{rewrite(f.Text), f.Number}
			}
			if !yield(fields) {
				return
			}
		}
	}}
}
