package report

import (
	"strings"
	"testing"

	"headroom/internal/diff"
	"headroom/internal/document"
	"headroom/internal/interference"
	"headroom/internal/lab"
	"headroom/internal/layers"
	"headroom/internal/render"
)

// stackedLayers are a disk, encryption over it, and a file system over that, where memory answered some reads.
func stackedLayers() layers.Document {
	stack := []layers.Layer{{Name: "/dev/disk/by-id/nvme-SERIAL-1", Run: "A"}, {Name: "/dev/mapper/crypt", Run: "B"},
		{Name: "/srv", Run: "C"}}
	cell := layers.Cell{Title: "randread 4k q1",
		Cell: lab.Cell{ID: "r", Params: map[string]string{"rw": "randread", "bs": "4k", "iodepth": "1"}}}
	var measured []layers.Measured
	for block := 1; block <= 6; block++ {
		for layer, mean := range []float64{100e-6, 130e-6, 128e-6} {
			measured = append(measured, layers.Measured{Layer: layer, Cell: "r", Block: block,
				Values: map[string]float64{"read.latency.mean": mean + 1e-6*float64((block+layer)%3)}})
		}
	}
	cached := layers.Warning{Layer: 2, Cell: "r", Repetitions: 2, N: 6,
		Warning: lab.Warning{Code: "page-cache", Text: "memory answered 9% of the reads", Taints: []string{"read.*"}}}
	return layers.Compare(stack, []layers.Cell{cell}, measured, []layers.Warning{cached},
		[]string{"2 cells that write were left out"})
}

// sharedCeiling are three loads of which two share a link.
func sharedCeiling() interference.Document {
	groups := []interference.Group{{Name: "application", Kind: "network", Over: []string{"10.0.1.1"}},
		{Name: "backup", Kind: "network", Over: []string{"10.0.2.1"}},
		{Name: "data", Kind: "storage", Over: []string{"/dev/nvme0n1"}}}
	var measured []interference.Measured
	for block := 1; block <= 8; block++ {
		v := 1 + 0.002*float64(block%3)
		for _, rates := range []map[int]float64{{0: 9e9}, {1: 8e9}, {2: 20e9}, {0: 5e9, 1: 4.5e9}, {0: 9e9, 2: 20e9},
			{1: 8e9, 2: 20e9}, {0: 5e9, 1: 4.5e9, 2: 20e9}} {
			m := interference.Measured{Block: block, Rates: map[int]float64{}}
			for g, rate := range rates {
				m.Rates[g] = rate * v
			}
			measured = append(measured, m)
		}
	}
	lossy := interference.Warning{Groups: []int{0, 1}, About: 0, Repetitions: 3, N: 8,
		Warning: lab.Warning{Code: "retransmits", Text: "0.2% of the segments were sent again",
			Taints: []string{"send.*"}}}
	d := interference.Analyse(groups, measured, []interference.Warning{lossy}, nil,
		interference.Terms{Margin: interference.DefaultMargin, Alpha: interference.DefaultAlpha, Passes: 8})
	d.Run = "7KQ4M2X9TD"
	return d
}

// asText is a document as a terminal shows it.
func asText(t *testing.T, d document.Document, width int) string {
	t.Helper()
	var b strings.Builder
	if err := render.Text(&b, d, render.Options{Width: width}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Every kind that is a document comes in every format.
func TestDocumentsInEveryFormat(t *testing.T) {
	for name, build := range map[string]func(Options) document.Document{
		"layers":       func(o Options) document.Document { return LayersDocument(stackedLayers(), o) },
		"interference": func(o Options) document.Document { return InterferenceDocument(sharedCeiling(), o) },
		"ladder":       func(o Options) document.Document { return LadderDocument(sharedLink(), o) },
		"ladder-guest": func(o Options) document.Document { return LadderDocument(throughGuest(), o) },
		"doctor": func(Options) document.Document {
			return DoctorDocument(heldBack(), DoctorOptions{})
		},
		"doctor-all": func(Options) document.Document {
			return DoctorDocument(heldBack(), DoctorOptions{Full: true, All: true})
		},
		"doctor-clear": func(Options) document.Document { return DoctorDocument(clearMachine(), DoctorOptions{}) },
		"doctor-build": func(Options) document.Document { return DoctorDocument(onlyBuild(), DoctorOptions{}) },
		"doctor-several": func(Options) document.Document {
			return SeveralDoctorDocument(manyMachines(), DoctorOptions{})
		},
		"factsdiff": func(Options) document.Document {
			return FactsDiffDocument(fewDifferences(), FactsDiffOptions{All: true})
		},
		"factsdiff-many": func(Options) document.Document {
			return FactsDiffDocument(manyDifferences(), FactsDiffOptions{Top: 12})
		},
		"factsdiff-none": func(Options) document.Document {
			return FactsDiffDocument(diff.Document{A: "one.sysctl", B: "two.sysctl"}, FactsDiffOptions{Top: 20})
		},
		"compare":      func(o Options) document.Document { return CompareDocument(comparison(t), o) },
		"compare-odd":  func(o Options) document.Document { return CompareDocument(oddComparison(t), o) },
		"references":   func(Options) document.Document { return ReferencesDocument(publishedResults()) },
		"reference":    func(Options) document.Document { return ReferenceDocument(publishedResults()[0]) },
		"standings":    func(Options) document.Document { return StandingsDocument(againstPublished(), "7KQ4") },
		"history":      func(o Options) document.Document { return HistoryDocument(updated(t), o) },
		"history-odd":  func(o Options) document.Document { return HistoryDocument(oddHistory(), o) },
		"stages":       func(o Options) document.Document { return StagesDocument(asPublished(t), o) },
		"stages-odd":   func(o Options) document.Document { return StagesDocument(oddStages(), o) },
		"soak":         func(o Options) document.Document { return SoakDocument(fullCache(), o) },
		"soak-odd":     func(o Options) document.Document { return SoakDocument(oddSoak(), o) },
		"ablation":     func(o Options) document.Document { return AblationDocument(hardened(twoCells(), costly), o) },
		"ablation-odd": func(o Options) document.Document { return AblationDocument(oddAblation(), o) },
		"search":       func(o Options) document.Document { return BisectionDocument(bisectionDocument(), o) },
		"search-commits": func(o Options) document.Document {
			one, _ := commitBisections()
			return BisectionDocument(one, o)
		},
		"sweep":         func(o Options) document.Document { return SweepDocument(bySuite(10, "2k"), o) },
		"sweep-kernel":  func(o Options) document.Document { return SweepDocument(byKernel(), o) },
		"sweep-rate":    func(o Options) document.Document { return SweepDocument(byRate(), o) },
		"sweep-word":    func(o Options) document.Document { return SweepDocument(byWord(0.2), o) },
		"sweep-means":   func(o Options) document.Document { return SweepDocument(byMeans(t), o) },
		"sweep-odd":     func(o Options) document.Document { return SweepDocument(oddSweep(3), o) },
		"sweep-nothing": func(o Options) document.Document { return SweepDocument(nothingSwept(), o) },
	} {
		for _, f := range render.Formats() {
			for _, width := range []int{80, 160} {
				if width == 160 && f.Name != "table" {
					continue
				}
				o := Options{Options: render.Options{Width: width}}
				var b strings.Builder
				if err := f.Write(&b, build(o), o.Options); err != nil {
					t.Fatal(err)
				}
				file := name + f.Extension
				if width == 160 {
					file = name + "-160" + f.Extension
				}
				compareGolden(t, file, b.String())
			}
		}
	}
}

// A document for others has no serial number in any block.
func TestDocumentsForOthersHaveNoSerials(t *testing.T) {
	run := lab.Run{Targets: []lab.RunTarget{
		{Facts: []lab.Fact{{Key: "disk.serial", About: "nvme0n1", Value: "SERIAL-1"}}}}}
	for _, f := range render.Formats() {
		for hidden, d := range map[bool]document.Document{false: LayersDocument(stackedLayers(), Options{}),
			true: WithoutSerials(LayersDocument(stackedLayers(), Options{}), run)} {
			var b strings.Builder
			if err := f.Write(&b, d, render.Options{Width: 200}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), "SERIAL") == hidden {
				t.Errorf("%s, hidden %t:\n%s", f.Name, hidden, b.String())
			}
		}
	}
}

// What others have named carries no markup into a page, and signs are links.
func TestPagesOfDocumentsEscape(t *testing.T) {
	d := document.Document{Title: "<script>", Blocks: []document.Block{
		document.Sentence{Role: document.Answer, Text: "it is <b> !1"},
		document.Table{Name: "<i>", Columns: []document.Column{{Title: "<u>", Kind: document.Words}},
			Rows: []document.Row{{Cells: []document.Cell{{Text: "<a href>", Signs: "!1"}}}}},
		document.List{Items: []document.Item{{Text: "<li>", Below: []string{"<ul>"}}}},
		document.Warning{Sign: "!1", Code: "<c>",
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
	if err := render.Page(&b, d, render.Options{}); err != nil {
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

// A map keeps all its columns: a terminal goes on below with those that it has no room for, below the titles that they
// have in common; other tables leave out what is asked least for.
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
		if err := render.Text(&b, document.Document{Blocks: []document.Block{table}},
			render.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("%d wide:\n%s", width, b.String())
		}
	}
	var b strings.Builder
	if err := render.Page(&b, document.Document{Blocks: []document.Block{table}}, render.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`colspan="1"></th><th scope="colgroup" colspan="2">jobs 1</th>`,
		`<td class="number tint h50">&#43;132%</td>`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}
