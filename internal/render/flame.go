package render

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
)

var (
	//go:embed flame.css
	flameStyleText string
	//go:embed flame.js
	flameScript string
)

// pageFlame is a flame graph: a picture, to which the page's script adds search and zoom.
type pageFlame struct {
	document.Flame
	Caption template.HTML
	SVG     template.HTML
	Legend  []pageLegend
}

// pageLegend is a colour with its name.
type pageLegend struct{ Class, Title string }

// frameHeight is the height of a frame in pixels, including the gap to the next; the script uses it, too.
const frameHeight = 18

// flameColours is how many layers have a separate colour.
const flameColours = 32

// changeColours is the number of shades for increases, and for decreases.
const changeColours = 4

// narrowestText is the share of the width below which a frame has no text: without the script nothing shortens it.
const narrowestText = 0.02

func (l warningLinks) flame(f document.Flame) *pageFlame {
	total, depth := 0.0, 0
	used := map[string]bool{}
	for _, frame := range f.Frames {
		total += frame.Width
		depth = max(depth, frameDepth(frame, func(frame document.Frame) { used[flameClass(f, frame)] = true }))
	}
	if total <= 0 {
		return nil
	}
	d := flameDrawing{f: f, total: total}
	d.frames(f.Frames, 0, 0)
	svg := fmt.Sprintf(`<svg width="100%%" height="%d" role="img" aria-label="%s">%s</svg>`, depth*frameHeight,
		template.HTMLEscapeString(prose.Inline(f.Title)), d.shapes.String())
	return &pageFlame{f, l.text(f.Note), template.HTML(svg), flameLegend(f, used)}
}

func frameDepth(f document.Frame, visit func(document.Frame)) int {
	visit(f)
	deepest := 0
	for _, c := range f.Children {
		deepest = max(deepest, frameDepth(c, visit))
	}
	return deepest + 1
}

// flameDrawing places frames in shares of the width, so that a picture fits a desktop, a phone and paper alike. Each
// frame is a separate svg, which clips text that is too long.
type flameDrawing struct {
	f      document.Flame
	total  float64
	shapes strings.Builder
}

func (d *flameDrawing) frames(list []document.Frame, from float64, depth int) {
	for _, frame := range list {
		share := frame.Width / d.total
		name := prose.Inline(frame.Name)
		fmt.Fprintf(&d.shapes, `<svg class="%s" x="%s" y="%d" width="%s" height="%d"><title>%s`+"\n"+`%s</title>`+
			`<rect width="100%%" height="%d"/>`, flameClass(d.f, frame), percent(from), depth*frameHeight,
			percent(share), frameHeight-1, template.HTMLEscapeString(name),
			template.HTMLEscapeString(prose.Inline(frame.Text)), frameHeight-1)
		if share >= narrowestText {
			fmt.Fprintf(&d.shapes, `<text x="4" y="13">%s</text>`, template.HTMLEscapeString(name))
		}
		d.shapes.WriteString("</svg>\n")
		d.frames(frame.Children, from, depth+1)
		from += share
	}
}

// percent formats a share of the width, to a hundred thousandth of the width.
func percent(share float64) string {
	return strconv.FormatFloat(math.Round(share*1e5)/1e3, 'f', -1, 64) + "%"
}

// flameClass returns the class of a frame's colour.
func flameClass(f document.Flame, frame document.Frame) string {
	if !f.Difference {
		if frame.Layer >= 0 && frame.Layer < len(f.Layers) {
			return "l" + strconv.Itoa(frame.Layer%flameColours)
		}
		return "o"
	}
	shade := int(math.Ceil(math.Abs(frame.Change) * changeColours))
	switch shade = min(shade, changeColours); {
	case shade == 0:
		return "o"
	case frame.Change > 0:
		return "m" + strconv.Itoa(shade)
	}
	return "s" + strconv.Itoa(shade)
}

// flameLegend returns the colours that a picture uses.
func flameLegend(f document.Flame, used map[string]bool) []pageLegend {
	if f.Difference {
		return []pageLegend{{"m4", "more"}, {"m2", "somewhat more"}, {"o", "no clear change"}, {"s2", "somewhat less"},
			{"s4", "less"}}
	}
	var list []pageLegend
	for i, l := range f.Layers {
		if class := "l" + strconv.Itoa(i%flameColours); used[class] {
			list = append(list, pageLegend{class, prose.Inline(l.Title)})
		}
	}
	if used["o"] && len(list) > 0 {
		list = append(list, pageLegend{"o", "other"})
	}
	return list
}

// flameStyle returns the colours: hues that are far apart for layers that are adjacent on an I/O's path.
func flameStyle() string {
	const golden = 137.5
	var b strings.Builder
	b.WriteString(flameStyleText)
	for i := range flameColours {
		fmt.Fprintf(&b, ".l%d{--hue:%d;--tone:%d%%}", i, int(math.Mod(float64(i)*golden+30, 360)), 4*(i%3))
	}
	for i := 1; i <= changeColours; i++ {
		fmt.Fprintf(&b, ".m%d{--of:var(--write);--much:%d%%}.s%d{--of:var(--read);--much:%d%%}", i, 18*i, i, 18*i)
	}
	return b.String()
}
