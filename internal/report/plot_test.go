package report

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"headroom/internal/document"
	"headroom/internal/history"
	"headroom/internal/render"
	"headroom/internal/render/rendertest"
)

// plotsOf are the pictures of a document.
func plotsOf(d document.Document) []document.Plot {
	var plots []document.Plot
	for b := range document.All(d.Blocks) {
		if p, ok := b.(document.Plots); ok {
			plots = append(plots, p.List...)
		}
	}
	return plots
}

// ofCells is a history of so many cells.
func ofCells(t *testing.T, cells int) history.Document {
	d := updated(t)
	s := &d.Series[0]
	for i := len(s.Cells); i < cells; i++ {
		c := s.Cells[i%3]
		c.Name += " " + strconv.Itoa(i)
		s.Cells = append(s.Cells, c)
	}
	return d
}

// Whatever is drawn stays in its picture, no text is over another, and there is a mark for each point.
func TestPlotsStayInTheirFrames(t *testing.T) {
	plots := slices.Concat(plotsOf(HistoryDocument(updated(t), Options{})),
		plotsOf(HistoryDocument(oddHistory(), Options{})), plotsOf(StagesDocument(asPublished(t), Options{})),
		plotsOf(StagesDocument(oddStages(), Options{})))
	for _, d := range slices.Concat(slices.Collect(maps.Values(oddSearches())),
		slices.Collect(maps.Values(wideSweeps())), []document.Document{
			AblationDocument(hardened(twoCells(), costly), Options{}), AblationDocument(oddAblation(), Options{})}) {
		plots = append(plots, plotsOf(d)...)
	}
	for _, d := range runPages(t) {
		plots = append(plots, plotsOf(d)...)
	}
	for _, d := range comparedDocuments(t) {
		plots = append(plots, plotsOf(d)...)
	}
	for _, p := range plots {
		rendertest.CheckPicture(t, p)
	}
	if len(plots) < 20 {
		t.Errorf("%d plots", len(plots))
	}
}

// The interval of a sweep that leaves its picture ends in an arrow.
func TestIntervalsOfSweepsEndInArrows(t *testing.T) {
	arrow := regexp.MustCompile(`d="M[^L"]+L[^L"]+L[^L"]+" fill="none"`)
	plots := plotsOf(SweepDocument(wideSweep(), Options{}))
	if len(plots) == 0 {
		t.Error("the sweep has no picture")
	}
	for _, p := range plots {
		if n := len(arrow.FindAllString(string(render.Picture(p)), -1)); n != 1 {
			t.Errorf("%s: %d arrows for the interval that leaves the picture", p.Title, n)
		}
	}
}

// A page opens with the first pictures and folds the others away; one point is a line of text.
func TestPagesFoldPlots(t *testing.T) {
	var b strings.Builder
	if err := render.Page(&b, HistoryDocument(ofCells(t, 200), Options{}), render.Options{}); err != nil {
		t.Fatal(err)
	}
	open, folded, found := strings.Cut(b.String(), "<summary>188 more</summary>")
	if n := strings.Count(open, "<figure>"); n != 12 || !found || strings.Count(folded, "<figure>") != 188 {
		t.Errorf("%d pictures are open, others folded: %v", n, found)
	}
	if b.Len() > 3<<20 {
		t.Errorf("the page has %d bytes", b.Len())
	}
	b.Reset()
	if err := render.Page(&b, HistoryDocument(oddHistory(), Options{}), render.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<p class="alone"><b>randread 4k q32</b> 64.2k IOPS`,
		`<p class="alone"><b>alone 1m q8</b> 3.00 GiB/s`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s", want)
		}
	}
}

// A file for other programs has each point once, by the time and in base units, and codes of warnings.
func TestPointsInCSV(t *testing.T) {
	var b strings.Builder
	if err := render.CSV(&b, HistoryDocument(updated(t), Options{}), render.Options{}); err != nil {
		t.Fatal(err)
	}
	want := "mixed 16k q8 write,6,RUN05XXXXX 2026-08-08T03:00:00Z,write IOPS,1/s,"
	if n := strings.Count(b.String(), want); n != 1 {
		t.Errorf("%d lines %s in\n%s", n, want, b.String())
	}
	line := b.String()[strings.Index(b.String(), want):]
	if line, _, _ = strings.Cut(line, "\n"); !strings.HasSuffix(strings.TrimSpace(line), ",busy") {
		t.Error(line)
	}
	b.Reset()
	if err := render.CSV(&b, StagesDocument(asPublished(t), Options{}), render.Options{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "(217.7%)"); n != 1 {
		t.Errorf("a figure is there %d times", n)
	}
}
