package report

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"slices"
	"strings"

	"headroom/internal/document"
	"headroom/internal/visible"
)

var (
	//go:embed document.html.tmpl
	documentPageText string
	//go:embed document.css
	documentStyle string
)

// documentPage is what the template fills in.
type documentPage struct {
	Head   pageHead
	Title  template.HTML
	Blocks []pageBlock
}

// pageBlock is a block in the one field that is set.
type pageBlock struct {
	Subject, Headline, Answer, Heading, Detail, Note, Reading template.HTML

	Command *document.Command
	List    []pageItem
	Warning *pageWarning
	Table   *pageTable
	Entries []pageEntry
	Plots   *pagePlots
}

type pageItem struct {
	Text  template.HTML
	Below []template.HTML
}

type pageWarning struct {
	document.Warning
	ID string
}

type pageTable struct {
	Head []document.Column
	Rows []pageRow
}

type pageRow struct {
	Group  string
	Cells  []pageCell
	Strong bool
}

type pageCell struct {
	Kind           document.Kind
	Text, Interval string
	Signs          template.HTML
	Bar            *pageBar
}

// pageBar is drawn in a picture that is 100 wide.
type pageBar struct{ X, Width, Class string }

// writeDocumentPage writes one self-contained page.
func writeDocumentPage(w io.Writer, d document.Document, _ Options) error {
	styles := []string{documentStyle}
	if slices.ContainsFunc(d.Blocks, func(b document.Block) bool { _, is := b.(document.Entries); return is }) {
		styles = append(styles, entriesStyle)
	}
	links := warningLinks("w")
	return writeHTML(w, documentPageText, documentPage{Head: newPageHead(d.Title, "", styles...),
		Title: links.text(d.Title), Blocks: links.blocks(d)})
}

// warningLinks is what the anchors of a document's warnings begin with: a page can have several documents.
type warningLinks string

// text is a text whose signs lead to their warnings.
func (l warningLinks) text(text string) template.HTML {
	return template.HTML(signs(html.EscapeString(visible.Line(text)), func(n string) string {
		return `<a class="sign" href="#` + string(l) + n + `">!` + n + `</a>`
	}))
}

// blocks are those of a document. The first answer on each subject is a headline.
func (l warningLinks) blocks(d document.Document) []pageBlock {
	var blocks []pageBlock
	headline := false
	for _, b := range d.Blocks {
		shown := l.block(b)
		switch {
		case shown.Subject != "":
			headline = false
		case shown.Answer != "" && !headline:
			shown.Headline, shown.Answer, headline = shown.Answer, "", true
		}
		blocks = append(blocks, shown)
	}
	return blocks
}

func (l warningLinks) block(b document.Block) pageBlock {
	switch b := b.(type) {
	case document.Heading:
		return pageBlock{Heading: l.text(b.Text)}
	case document.Sentence:
		text := l.text(b.Text)
		switch b.Role {
		case document.Subject:
			return pageBlock{Subject: text}
		case document.Answer:
			return pageBlock{Answer: text}
		case document.Note:
			return pageBlock{Note: text}
		case document.Reading:
			return pageBlock{Reading: text}
		}
		return pageBlock{Detail: text}
	case document.List:
		var items []pageItem
		for _, item := range b.Items {
			shown := pageItem{Text: l.text(item.Text)}
			for _, text := range item.Below {
				shown.Below = append(shown.Below, l.text(text))
			}
			items = append(items, shown)
		}
		return pageBlock{List: items}
	case document.Command:
		return pageBlock{Command: &b}
	case document.Warning:
		return pageBlock{Warning: &pageWarning{b, string(l) + strings.TrimPrefix(b.Sign, "!")}}
	case document.Table:
		return pageBlock{Table: l.table(b)}
	case document.Entries:
		return pageBlock{Entries: newPageEntries(b.List)}
	case document.Plots:
		return pageBlock{Plots: newPagePlots(b)}
	}
	return pageBlock{}
}

func (l warningLinks) table(t document.Table) *pageTable {
	p := &pageTable{Rows: make([]pageRow, len(t.Rows))}
	for i, c := range t.Columns {
		if t.Empty(i) || c.Kind == document.Sketch {
			continue
		}
		p.Head = append(p.Head, c)
		for j, row := range t.Rows {
			of := row.Cells[i]
			cell := pageCell{Kind: c.Kind, Text: of.Text, Interval: of.Interval, Signs: l.text(of.Signs)}
			if c.Kind == document.Bar {
				cell.Bar = newPageBar(of)
			}
			p.Rows[j].Cells, p.Rows[j].Strong, p.Rows[j].Group = append(p.Rows[j].Cells, cell), row.Strong, row.Group
		}
	}
	return p
}

func newPageBar(c document.Cell) *pageBar {
	lo, hi, class := c.From, c.To, ""
	if hi < lo {
		lo, hi, class = hi, lo, "back"
	}
	const narrowest = 0.005 // so that nothing added is still seen
	return &pageBar{fmt.Sprintf("%.2f", 100*min(lo, 1-narrowest)), fmt.Sprintf("%.2f", 100*max(hi-lo, narrowest)),
		class}
}
