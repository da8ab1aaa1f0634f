package render

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

var (
	//go:embed document.html.tmpl
	documentPageText string
	//go:embed document.css
	documentStyle string
)

// documentPage is the data of the template.
type documentPage struct {
	Head   pageHead
	Title  template.HTML
	Blocks []pageBlock
	Script template.JS
}

// pageBlock is a block; one field is set.
type pageBlock struct {
	Subject, Headline, Answer, Heading, Detail, Note, Reading template.HTML

	Command  *document.Command
	Listing  *document.Listing
	List     []pageItem
	Warnings []pageWarning
	Table    *pageTable
	Entries  []pageEntry
	Plots    *pagePlots
	Flame    *pageFlame

	Conditions []document.Condition
	Section    *pageDocument
	Folded     *pageFolded
}

// pageDocument is a document within another.
type pageDocument struct {
	Title  template.HTML
	Blocks []pageBlock
}

type pageFolded struct {
	Title  string
	Open   bool
	Blocks []pageBlock
}

type pageItem struct {
	Text  template.HTML
	Below []template.HTML
}

type pageWarning struct {
	document.WarningBlock
	ID string
}

// pageTable opens with the first rows; the Rest is folded.
type pageTable struct {
	// Over are titles shared by several columns; nil if there are none.
	Over       []pageSpan
	Head       []pageColumn
	Rows, Rest []pageRow
	Tinted     bool
}

// pageColumn is the head of a column.
type pageColumn struct {
	Kind  document.Kind
	Title string
	Signs template.HTML
}

// pageSpan is a title above several columns.
type pageSpan struct {
	Text  string
	Width int
}

// mostOpenRows is how many rows of a table a page opens with.
const mostOpenRows = 60

type pageRow struct {
	Group  string
	Cells  []pageCell
	Strong bool
}

type pageCell struct {
	Kind           document.Kind
	Text, Interval string
	// Bounds of the interval, "65.3k to 66.9k", shown when the pointer is on the number.
	Bounds string
	Signs  template.HTML
	Bar    *pageBar
	Tint   int
	Tone   document.Tone
}

// bounds formats a number's interval; empty if it has none, or is a ratio, whose text has the interval.
func bounds(c document.Cell) string {
	if c.Lo == nil || c.Hi == nil || c.Unit == "1" {
		return ""
	}
	return unit.Value(c.Unit, *c.Lo) + " to " + unit.Value(c.Unit, *c.Hi)
}

// pageBar is a bar in a picture of width 100.
type pageBar struct{ X, Width, Class string }

// Page writes one self-contained page.
func Page(w io.Writer, d document.Document, _ Options) error {
	links := warningLinks("w")
	script := documentScript(d)
	return writeHTML(w, documentPageText, documentPage{Head: newPageHead(d.Title, script, documentStyles(d)...),
		Title: links.text(d.Title), Blocks: links.blocks(d.Blocks, new(bool)), Script: template.JS(script)})
}

// Part writes the blocks of a document into another page, which must link PartStyle and PartScript.
func Part(w io.Writer, d document.Document) error {
	t, err := template.New("blocks").Parse(blocksText)
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, "blocks", warningLinks("w").blocks(d.Blocks, new(bool)))
}

// PartStyle returns the style of all blocks that documents can have, and of the page around them.
func PartStyle() string {
	return strings.Join([]string{pageStyle, documentStyle, entriesStyle, heatStyle(), flameStyle()}, "")
}

// PartScript returns the script of flame graphs.
func PartScript() string { return flameScript }

// documentScript returns the script that a document needs; empty for none.
func documentScript(d document.Document) string {
	for b := range document.All(d.Blocks) {
		if _, ok := b.(document.Flame); ok {
			return flameScript
		}
	}
	return ""
}

// documentStyles returns the styles that a document needs.
func documentStyles(d document.Document) []string {
	entries, tints, flames := false, false, false
	for b := range document.All(d.Blocks) {
		switch b := b.(type) {
		case document.Entries:
			entries = true
		case document.Table:
			tints = tints || b.Map
		case document.Flame:
			flames = true
		}
	}
	styles := []string{documentStyle}
	if entries {
		styles = append(styles, entriesStyle)
	}
	if tints {
		styles = append(styles, heatStyle())
	}
	if flames {
		styles = append(styles, flameStyle())
	}
	return styles
}

// warningLinks is the prefix of the anchors of a document's warnings: a page can have several documents.
type warningLinks string

// text returns a text whose signs are links to their warnings.
func (l warningLinks) text(text string) template.HTML {
	return template.HTML(signs(html.EscapeString(prose.Inline(text)), func(n string) string {
		return `<a class="sign" href="#` + string(l) + n + `">!` + n + `</a>`
	}))
}

// blocks returns the blocks of a document. The first answer on each subject is a headline.
func (l warningLinks) blocks(of []document.Block, headline *bool) []pageBlock {
	var blocks []pageBlock
	sections := 0
	for _, b := range of {
		shown := pageBlock{}
		switch b := b.(type) {
		case document.Section:
			sections++
			within, own := warningLinks(fmt.Sprintf("%s%d-", l, sections)), *headline
			shown.Section = &pageDocument{within.text(b.Title), within.blocks(b.Blocks, &own)}
		case document.Folded:
			shown.Folded = &pageFolded{prose.Inline(b.Title), b.Open, l.blocks(b.Blocks, headline)}
		case document.Terminal:
			continue
		case document.Plots:
			if len(b.List) == 0 {
				continue
			}
			shown.Plots = newPagePlots(b)
		case document.Flame:
			if shown.Flame = l.flame(b); shown.Flame == nil {
				continue
			}
		default:
			shown = l.block(b)
		}
		switch {
		case shown.Subject != "":
			*headline = false
		case shown.Answer != "" && !*headline:
			shown.Headline, shown.Answer, *headline = shown.Answer, "", true
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
	case document.Listing:
		return pageBlock{Listing: &b}
	case document.WarningBlock:
		return pageBlock{Warnings: []pageWarning{l.warning(b)}}
	case document.Warnings:
		var list []pageWarning
		for _, w := range b.List {
			list = append(list, l.warning(w))
		}
		return pageBlock{Warnings: list}
	case document.Table:
		return pageBlock{Table: l.table(b)}
	case document.Conditions:
		return pageBlock{Conditions: b.List}
	case document.Entries:
		return pageBlock{Entries: newPageEntries(b.List)}
	}
	return pageBlock{}
}

func (l warningLinks) warning(w document.WarningBlock) pageWarning {
	return pageWarning{w, string(l) + strings.TrimPrefix(w.Sign, "!")}
}

func (l warningLinks) table(t document.Table) *pageTable {
	p := &pageTable{Rows: make([]pageRow, len(t.Rows)), Tinted: t.Map}
	for i, c := range t.Columns {
		if t.Empty(i) || c.Kind == document.Sketch || c.Kind == document.Range {
			continue
		}
		p.over(c.Over)
		p.Head = append(p.Head, pageColumn{c.Kind, c.Title, l.text(c.Signs)})
		for j, row := range t.Rows {
			of := row.Cells[i]
			signs := strings.ReplaceAll(of.Signs, " ", "\u00a0")
			cell := pageCell{Kind: c.Kind, Text: of.Text, Interval: of.Interval, Bounds: bounds(of),
				Signs: l.text(signs),
				Tint:  int(100 * of.Tint), Tone: of.Tone}
			if c.Kind == document.Bar {
				cell.Bar = newPageBar(of)
			}
			p.Rows[j].Cells, p.Rows[j].Strong, p.Rows[j].Group = append(p.Rows[j].Cells, cell), row.Strong, row.Group
		}
	}
	if len(p.Rows) > mostOpenRows {
		p.Rows, p.Rest = p.Rows[:mostOpenRows], p.Rows[mostOpenRows:]
	}
	return p
}

// over adds a column to the neighbours that share a title.
func (p *pageTable) over(title string) {
	switch last := len(p.Over) - 1; {
	case last >= 0 && p.Over[last].Text == title:
		p.Over[last].Width++
	case last >= 0:
		p.Over = append(p.Over, pageSpan{title, 1})
	case title != "":
		p.Over = []pageSpan{{"", len(p.Head)}, {title, 1}}
	}
}

func newPageBar(c document.Cell) *pageBar {
	lo, hi, class := c.From, c.To, ""
	if hi < lo {
		lo, hi, class = hi, lo, "back"
	}
	const narrowest = 0.005 // so that a small addition is still visible
	return &pageBar{fmt.Sprintf("%.2f", 100*min(lo, 1-narrowest)), fmt.Sprintf("%.2f", 100*max(hi-lo, narrowest)),
		class}
}
