package render

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/document"
)

// Names from users contain no markup on a page, and signs are links.
func TestPagesOfDocumentsEscape(t *testing.T) {
	d := document.Document{Title: "<script>", Blocks: []document.Block{
		document.Sentence{Role: document.Answer, Text: "it is <b> !1"},
		document.Table{Name: "<i>", Columns: []document.Column{{Title: "<u>", Kind: document.Words}},
			Rows: []document.Row{{Cells: []document.Cell{{Text: "<a href>", Signs: "!1"}}}}},
		document.List{Items: []document.Item{{Text: "<li>", Below: []string{"<ul>"}}}},
		document.WarningBlock{Sign: "!1", Code: "<c>",
			Texts: []document.WarningText{{Text: "<t>", About: "<a>", All: "<a>"}}},
		document.Command{What: "<w>", Text: "rm <x>"},
		document.Entries{List: []document.Entry{{Mark: "<m>", Title: "<h>", ID: "<d>",
			Parts: []document.Part{{Name: "<n>", Lines: []document.Line{{Label: "<l>", Text: "<s>"},
				{Text: "<v>", Typed: true}}}}}}},
		document.Plots{Reading: "<r>", List: []document.Plot{{Title: "<P>", Note: "<n>",
			X: document.Axis{Title: "<X>"}, Y: document.Axis{Title: "<Y>", Scale: document.Names,
				Names: []string{"<N>", "<M>"}},
			Series: []document.Series{{Points: []document.Point{{Value: 1, Name: "<k>", Text: "<v>",
				Codes: []string{"<o>"}}, {At: 1, Value: 2}}}},
			Marks:      []document.Mark{{Text: "<m>"}},
			References: []document.Reference{{Name: "<f>"}}}}},
	}}
	var b strings.Builder
	if err := Page(&b, d, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, markup := range []string{"<script>", "<b> ", "<u>", "<a href>", "<c>", "<t>", "<x>", "<w>", "<m>",
		"<h>", "<d>", "<l>", "<s>", "<r>", "<P>", "<n>", "<X>", "<Y>", "<N>", "<k>", "<v>", "<o>", "<f>"} {
		if strings.Contains(b.String(), markup) {
			t.Errorf("%s in\n%s", markup, b.String())
		}
	}
	if n := strings.Count(b.String(), `<a class="sign" href="#w1">!1</a>`); n != 2 ||
		!strings.Contains(b.String(), `id="w1"`) {
		t.Errorf("%d links to the warning:\n%s", n, b.String())
	}
}

// A map keeps all its columns: on a terminal, columns without room follow below, under their shared titles. Other
// tables drop the least important columns.
func TestMapsOnNarrowTerminals(t *testing.T) {
	table := document.Table{Map: true, Columns: []document.Column{{Title: "depth", Kind: document.Words}}}
	row := document.Row{Cells: []document.Cell{{Text: "a load with a long name"}}}
	for _, jobs := range []string{"1", "16"} {
		for _, depth := range []string{"1", "32"} {
			table.Columns = append(table.Columns, document.Column{Title: depth, Over: "jobs " + jobs,
				Kind: document.Number})
			row.Cells = append(row.Cells, document.Cell{Text: "+" + jobs + depth + "%", Tint: 0.5})
		}
	}
	table.Rows = []document.Row{row, row, row}
	table.Brief = 1
	for width, want := range map[int]string{
		80: `                           jobs 1         jobs 16
depth                         1     32        1      32
a load with a long name    +11%  +132%    +161%  +1632%
and 2 more
`,
		40: `                 jobs 1         jobs 16
depth               1     32        1
a load with …    +11%  +132%    +161%
               jobs 16
depth              32
a load with …  +1632%
and 2 more
`} {
		var b strings.Builder
		if err := Text(&b, document.Document{Blocks: []document.Block{table}},
			Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("%d wide:\n%s", width, b.String())
		}
	}
	var b strings.Builder
	if err := Page(&b, document.Document{Blocks: []document.Block{table}}, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`colspan="1"></th><th scope="colgroup" colspan="2">jobs 1</th>`,
		`<td class="number tint h50">&#43;132%</td>`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}
