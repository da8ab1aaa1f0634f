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
	Headline, Answer, Heading, Detail, Note, Reading template.HTML

	Command *document.Command
	List    []pageItem
	Warning *pageWarning
	Table   *pageTable
	Entries []pageEntry
}

type pageItem struct {
	Text  template.HTML
	Below []template.HTML
}

type pageWarning struct {
	document.Warning
	Number string
}

type pageTable struct {
	Head []document.Column
	Rows []pageRow
}

type pageRow struct {
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
	page := documentPage{Head: newPageHead(d.Title, "", styles...), Title: withLinks(d.Title)}
	headline := false
	for _, b := range d.Blocks {
		shown := newPageBlock(b)
		if shown.Answer != "" && !headline {
			shown.Headline, shown.Answer, headline = shown.Answer, "", true
		}
		page.Blocks = append(page.Blocks, shown)
	}
	return writeHTML(w, documentPageText, page)
}

func newPageBlock(b document.Block) pageBlock {
	switch b := b.(type) {
	case document.Heading:
		return pageBlock{Heading: withLinks(b.Text)}
	case document.Sentence:
		text := withLinks(b.Text)
		switch b.Role {
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
			shown := pageItem{Text: withLinks(item.Text)}
			for _, text := range item.Below {
				shown.Below = append(shown.Below, withLinks(text))
			}
			items = append(items, shown)
		}
		return pageBlock{List: items}
	case document.Command:
		return pageBlock{Command: &b}
	case document.Warning:
		return pageBlock{Warning: &pageWarning{b, strings.TrimPrefix(b.Sign, "!")}}
	case document.Table:
		return pageBlock{Table: newPageTable(b)}
	case document.Entries:
		return pageBlock{Entries: newPageEntries(b.List)}
	}
	return pageBlock{}
}

func newPageTable(t document.Table) *pageTable {
	p := &pageTable{Rows: make([]pageRow, len(t.Rows))}
	for i, c := range t.Columns {
		if t.Empty(i) {
			continue
		}
		p.Head = append(p.Head, c)
		for j, row := range t.Rows {
			of := row.Cells[i]
			cell := pageCell{Kind: c.Kind, Text: of.Text, Interval: of.Interval, Signs: withLinks(of.Signs)}
			if c.Kind == document.Bar {
				cell.Bar = newPageBar(of)
			}
			p.Rows[j].Cells, p.Rows[j].Strong = append(p.Rows[j].Cells, cell), row.Strong
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

// withLinks is a text whose signs lead to their warnings.
func withLinks(text string) template.HTML {
	return template.HTML(signs(html.EscapeString(visible.Line(text)), func(n string) string {
		return `<a class="sign" href="#w` + n + `">!` + n + `</a>`
	}))
}
