// Package document holds a result as blocks in the order in which people read them. A builder for each kind of result
// makes a document, once; the writers of internal/render (terminal, page, Markdown, CSV) know blocks and no kind of
// result. Published JSON is made from the results themselves, not from documents.
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
	// Data is the file for other programs if its columns are published; nil if the blocks determine the contents.
	Data *Data
}

// Absent is printed in place of a value that was not measured.
const Absent = "–"

// Block is a Sentence, a Heading, a List, a WarningBlock, Warnings, a Table, a Command, a Listing, Conditions, Entries,
// Plots or a Flame; or a Section, Folded or Terminal, which have blocks.
type Block interface{ block() }

// Role is the purpose of a sentence.
type Role string

const (
	// Subject names the topic of the rest, or the part up to the next subject: the machine, the time.
	Subject Role = "subject"
	// Answer is what the reader wants to know. The first of a document is its headline.
	Answer Role = "answer"
	// More is a paragraph with details of the answer.
	More Role = "more"
	// Detail adds details to a table.
	Detail Role = "detail"
	// Note names something that was left out or is in doubt.
	Note Role = "note"
	// Reading explains how to read the rest.
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

// WarningBlock is a reason to distrust numbers, which have its sign next to them.
type WarningBlock struct {
	// Sign is "!1"; it is empty if the warning is about everything. Code is empty if the text is complete without it.
	Sign, Code string
	Texts      []WarningText
	// Explained reports whether headroom explain knows the code.
	Explained bool
	// Apart is set if each text has another subject, so that the first few are not representative of the rest.
	Apart bool
	// Brief is the line that a terminal shows in a list of warnings, if it is not the first text.
	Brief WarningText
}

// WarningText is a sentence, and the things that it is about. All names all of them, for a writer with room for it, and
// About the first few.
type WarningText struct{ Text, About, All string }

// Warnings are the warnings of a document, the most important first.
type Warnings struct {
	List []WarningBlock
	// Brief is how many warnings a terminal shows, one a line; it prints only the codes of the others. 0 is all. An
	// option of the user shows all in full.
	Brief int
	// Notes are the codes of remarks that are worth knowing but taint no shown number.
	Notes []string
	// Full is the command that shows all warnings in full.
	Full string
}

// Command is what to type next.
type Command struct {
	// What is the purpose of the command, up to the colon.
	What string
	Text string
}

// Table has a cell for each column in each row.
type Table struct {
	// Name distinguishes the table from the document's other tables.
	Name    string
	Columns []Column
	Rows    []Row
	// Map is set if all columns after the first have the same quantity, so that the table shows it by two variables: a
	// page tints it, and a terminal drops no column.
	Map bool
	// Brief is how many rows a terminal shows; 0 is all.
	Brief int
}

// Row is a row of a table. Strong marks a row that the answer is about.
type Row struct {
	// Group is a title above some rows, and names what they have in common. The first of them has it, the others do
	// not. Apart separates a row from the group before it if it does not continue that group.
	Group string
	Apart bool

	Cells  []Cell
	Strong bool
}

// Kind is what the cells of a column are.
type Kind string

const (
	// Words are names: they are aligned to the left and identify a row.
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

// Picture reports whether cells are pictures, which files for other programs leave out.
func (k Kind) Picture() bool { return k == Bar || k == Sketch || k == Range }

// Column is a column of a table.
type Column struct {
	Title string
	// Signs are the signs of warnings about all numbers of the column: "!1 !3".
	Signs string
	Kind  Kind
	// Over is a common title above the titles of neighbouring columns.
	Over string
	// Drop ranks what goes first where a terminal has no room, the highest; 0 stays. DropInterval ranks the interval
	// separately; one of -1 goes where names are cut already.
	Drop, DropInterval int
	// Optional columns vanish if all their cells are empty. Cut shortens the column's texts on a narrow terminal.
	Optional, Cut bool
	// Instead is printed below the table if a terminal has no room for the column; nil prints a general note.
	Instead []string
}

// Tone is the meaning of a cell as a colour. The text has the same meaning without colours.
type Tone string

const (
	// Good is better than before.
	Good Tone = "good"
	// Bad is worse.
	Bad Tone = "bad"
	// Doubtful is undecided between the two.
	Doubtful Tone = "doubtful"
	// Faint is a number that does not count.
	Faint Tone = "faint"
)

// Cell is a text for people and the value behind it. Signs without a text are about the whole row.
type Cell struct {
	Text string
	// Interval is "[1.2, 1.4]", and Signs "!1 !3"; empty for none.
	Interval, Signs string
	Tone            Tone
	// Value and the bounds of its interval are in the base unit; they are nil if the cell is not a number.
	Value, Lo, Hi *float64
	Unit          string
	// From and To are where a bar begins and ends, as shares of the table's largest value.
	From, To float64
	// Tint is the strength of the colour behind a cell of a map, from 0 to 1.
	Tint float64
}

func (Sentence) block()     {}
func (Heading) block()      {}
func (WarningBlock) block() {}
func (Warnings) block()     {}
func (Command) block()      {}
func (List) block()         {}
func (Table) block()        {}

// Rewritten returns the document with rewrite applied to each text: to remove serial numbers before others see it.
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

// Name distinguishes a column from the table's other columns.
func (c Column) Name() string {
	if c.Over == "" {
		return c.Title
	}
	return c.Over + ": " + c.Title
}

// Empty reports whether an optional column has nothing in any row.
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

// RowName returns what identifies a row: its group and its words.
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

// Section is a document within another. Its warnings have separate signs.
type Section struct{ Document }

// Folded has blocks that few readers need: pages and Markdown fold them away behind their title, a terminal leaves them
// out. If Open is set, a page shows them unfolded.
type Folded struct {
	Title  string
	Open   bool
	Blocks []Block
}

// Terminal are blocks for whoever sits at the machine where the result is saved: only a terminal shows them.
type Terminal struct{ Blocks []Block }

// Conditions are what to know before numbers are read. A terminal leaves them out.
type Conditions struct{ List []Condition }

// Condition is something to know, by its name.
type Condition struct{ Name, Text string }

// Listing is a text as it is: a file, a command line that was run. Only pages have it.
type Listing struct{ Title, Text string }

func (Listing) block()    {}
func (Section) block()    {}
func (Folded) block()     {}
func (Terminal) block()   {}
func (Conditions) block() {}

// All are the blocks and those within them.
func All(blocks []Block) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		for _, b := range blocks {
			if !yield(b) {
				return
			}
			for within := range All(inner(b)) {
				if !yield(within) {
					return
				}
			}
		}
	}
}

func inner(b Block) []Block {
	switch b := b.(type) {
	case Section:
		return b.Blocks
	case Folded:
		return b.Blocks
	case Terminal:
		return b.Blocks
	}
	return nil
}

func (c Conditions) rewritten(rewrite func(string) string) Conditions {
	list := make([]Condition, len(c.List))
	for i, one := range c.List {
		list[i] = Condition{one.Name, rewrite(one.Text)}
	}
	return Conditions{list}
}
