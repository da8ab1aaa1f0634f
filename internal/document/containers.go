package document

import "iter"

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
