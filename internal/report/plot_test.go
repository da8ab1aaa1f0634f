package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"headroom/internal/document"
	"headroom/internal/history"
	"headroom/internal/lab"
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
		plotsOf(StagesDocument(oddStages(), Options{})), oddPlots())
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
		checkPicture(t, p)
	}
	if len(plots) < 20 {
		t.Errorf("%d plots", len(plots))
	}
}

// oddPlots are along and upwards on every scale, with values and times that a scale can't be made of by the usual
// rules.
func oddPlots() []document.Plot {
	var plots []document.Plot
	nothing, all := math.NaN(), math.Inf(1)
	for _, values := range [][]float64{{0, 0}, {1, 1}, {1, 51}, {-5, 5}, {1e-9, 1e12}, {nothing, 1}, {all, 1, 2}, {},
		{100.01, 100.02}, {1 << 20, 1 << 40}, {0, 1e6}} {
		for _, u := range []lab.Unit{lab.PerSecond, lab.BytesPerSecond, lab.Seconds, lab.Share, "widgets"} {
			for _, y := range []document.Scale{document.Linear, document.Logarithmic, document.Ratio} {
				for _, x := range []document.Scale{document.Linear, document.Logarithmic, document.Time,
					document.Names} {
					p := document.Plot{Title: fmt.Sprint(values, u, y, x), X: document.Axis{Scale: x, Title: "places"},
						Y: document.Axis{Scale: y, Unit: string(u), Title: "values"}}
					s := document.Series{Direction: lab.Write, Joined: true}
					for i, v := range values {
						p.X.Names = append(p.X.Names, "a level with a long name "+strconv.Itoa(i))
						s.Points = append(s.Points, document.Point{At: float64(i), Value: v, Lo: &nothing, Hi: &all})
					}
					p.Series = []document.Series{s}
					plots = append(plots, p)
				}
			}
		}
	}
	return plots
}

// checkPicture reads a picture as a browser does.
func checkPicture(t *testing.T, p document.Plot) {
	t.Helper()
	svg := string(drawPlot(p))
	height := drawnHeight(t, svg)
	dots, texts := 0, []box{}
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v in\n%s", p.Title, err, svg)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attributes := map[string]string{}
		for _, a := range e.Attr {
			attributes[a.Name.Local] = a.Value
		}
		switch e.Name.Local {
		case "text":
			var text string
			if err := decoder.DecodeElement(&text, &e); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, textBox(t, attributes, text))
		case "circle", "rect":
			dots++
		case "path":
			if strings.HasSuffix(attributes["d"], "Z") {
				dots++
			}
		}
		for _, name := range []string{"x", "y", "cx", "cy", "d"} {
			for _, word := range regexp.MustCompile(`[^\s,MLHVZlv]+`).FindAllString(attributes[name], -1) {
				v, err := strconv.ParseFloat(word, 64)
				if err != nil || math.IsNaN(v) || v < -6 || v > max(pictureWidth, height)+1 {
					t.Errorf("%s: %s=%q of a picture of %v by %v", p.Title, name, attributes[name], pictureWidth,
						height)
				}
			}
		}
	}
	drawn := len(p.Bands)
	for _, s := range p.Series {
		for _, at := range s.Points {
			if !math.IsNaN(at.Value) && !s.Line {
				drawn++
			}
		}
	}
	if dots != drawn {
		t.Errorf("%s: %d dots for %d points in\n%s", p.Title, dots, drawn, svg)
	}
	for i, a := range texts {
		if a.left < -1 || a.right > pictureWidth+1 || a.top < -1 || a.bottom > height+1 {
			t.Errorf("%s: text %+v is outside of\n%s", p.Title, a, svg)
		}
		for _, b := range texts[:i] {
			if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
				t.Errorf("%s: text %+v over %+v in\n%s", p.Title, a, b, svg)
			}
		}
	}
}

func drawnHeight(t *testing.T, svg string) float64 {
	t.Helper()
	m := regexp.MustCompile(`viewBox="0 0 [0-9.]+ ([0-9.]+)"`).FindStringSubmatch(svg)
	if m == nil {
		t.Fatalf("no height in %s", svg)
	}
	height, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return height
}

// textBox is the room that a text takes, about.
func textBox(t *testing.T, attributes map[string]string, text string) box {
	t.Helper()
	var numbers [3]float64
	for i, name := range []string{"x", "y", "font-size"} {
		v, err := strconv.ParseFloat(attributes[name], 64)
		if err != nil {
			t.Fatal(err)
		}
		numbers[i] = v
	}
	left, width := numbers[0], textWidth(html.UnescapeString(text))*numbers[2]
	switch attributes["text-anchor"] {
	case "end":
		left -= width
	case "middle":
		left -= width / 2
	}
	return box{left, numbers[1] - 0.75*numbers[2], left + width, numbers[1] + 0.2*numbers[2]}
}

// An interval that goes on beyond its picture ends in an arrow on that side.
func TestIntervalsEndInArrows(t *testing.T) {
	far, near, low := 5000.0, 101.0, -5000.0
	for _, c := range []struct {
		lo, hi *float64
		arrows int
	}{{&near, &near, 0}, {&near, &far, 1}, {&low, &near, 1}, {&low, &far, 2}} {
		p := document.Plot{X: document.Axis{Scale: document.Linear}, Y: document.Axis{Scale: document.Linear},
			Series: []document.Series{{Points: []document.Point{{At: 1, Value: 100, Lo: c.lo, Hi: c.hi}, {At: 2,
				Value: 102}}}}}
		if got := strings.Count(string(drawPlot(p)), `stroke-width="1.2"`) - 1; got != c.arrows {
			t.Errorf("from %v to %v: %d arrows, want %d", *c.lo, *c.hi, got, c.arrows)
		}
	}
	arrow := regexp.MustCompile(`d="M[^L"]+L[^L"]+L[^L"]+" fill="none"`)
	for _, p := range plotsOf(SweepDocument(wideSweep(), Options{})) {
		if n := len(arrow.FindAllString(string(drawPlot(p)), -1)); n != 1 {
			t.Errorf("%s: %d arrows for the interval that leaves the picture", p.Title, n)
		}
	}
}

func TestTimeTicks(t *testing.T) {
	from := time.Date(2026, 7, 4, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		span  time.Duration
		ticks string
		title string
	}{
		{40 * time.Second, "03:00:00 03:00:15 03:00:30", "time on 2026-07-04, UTC"},
		{4 * time.Hour, "03:00 04:00 05:00 06:00 07:00", "time on 2026-07-04, UTC"},
		{23 * time.Hour, "07-04 06:00 07-04 12:00 07-04 18:00 07-05 00:00", "date in 2026, UTC"},
		{4 * 24 * time.Hour, "07-05 07-06 07-07 07-08", "date in 2026, UTC"},
		{60 * 24 * time.Hour, "07-06 07-20 08-03 08-17 08-31", "date in 2026, UTC"},
		{150 * 24 * time.Hour, "2026-08 2026-09 2026-10 2026-11 2026-12", "month, UTC"},
		{4 * 365 * 24 * time.Hour, "2027 2028 2029 2030", "year, UTC"},
	} {
		ticks, title := timeTicks(float64(from.Unix()), float64(from.Add(c.span).Unix()))
		var names []string
		for _, t := range ticks {
			names = append(names, t.name)
		}
		if got := strings.Join(names, " "); got != c.ticks || title != c.title {
			t.Errorf("%v: %s, %s; want %s, %s", c.span, got, title, c.ticks, c.title)
		}
	}
}

func TestTicksAreRoundAndTellApart(t *testing.T) {
	for _, c := range []struct {
		from, to float64
		unit     lab.Unit
		want     string
	}{
		{1.5e6, 1.72e6, lab.PerSecond, "1.5M 1.6M 1.7M"},
		{0, 30 << 20, lab.BytesPerSecond, "0 10 MiB/s 20 MiB/s 30 MiB/s"},
		{90e-6, 104e-6, lab.Seconds, "90 µs 95 µs 100 µs"},
		{-0.1, 0.1, lab.Share, "-10% -5% 0 5% 10%"},
		{1.5781e6, 1.5789e6, lab.PerSecond, "1.58M"},
	} {
		var names []string
		for _, t := range linearTicks(c.from, c.to, c.unit) {
			names = append(names, t.name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("from %v to %v: %s, want %s", c.from, c.to, got, c.want)
		}
	}
}

// A page opens with the first pictures and folds the others away; one point is a line of text.
func TestPagesFoldPlots(t *testing.T) {
	var b strings.Builder
	if err := writeDocumentPage(&b, HistoryDocument(ofCells(t, 200), Options{}), Options{}); err != nil {
		t.Fatal(err)
	}
	open, folded, found := strings.Cut(b.String(), "<summary>188 more</summary>")
	if n := strings.Count(open, "<figure>"); n != mostOpenPlots || !found || strings.Count(folded, "<figure>") != 188 {
		t.Errorf("%d pictures are open, others folded: %v", n, found)
	}
	if b.Len() > 3<<20 {
		t.Errorf("the page has %d bytes", b.Len())
	}
	b.Reset()
	if err := writeDocumentPage(&b, HistoryDocument(oddHistory(), Options{}), Options{}); err != nil {
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
	if err := writeDocumentCSV(&b, HistoryDocument(updated(t), Options{}), Options{}); err != nil {
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
	if err := writeDocumentCSV(&b, StagesDocument(asPublished(t), Options{}), Options{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "(217.7%)"); n != 1 {
		t.Errorf("a figure is there %d times", n)
	}
}
