// Package rendertest checks the drawings of package render, for tests of all packages whose documents have pictures.
package rendertest

import (
	"encoding/xml"
	"errors"
	"html"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/render"
)

type box struct{ left, top, right, bottom float64 }

// CheckPicture fails if something is drawn outside of its picture, if texts overlap, or if a point has no mark. It
// reads a picture as a browser does.
func CheckPicture(t *testing.T, p document.Plot) {
	t.Helper()
	svg := string(render.Picture(p))
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
				if err != nil || math.IsNaN(v) || v < -6 || v > max(render.PictureWidth, height)+1 {
					t.Errorf("%s: %s=%q of a picture of %v by %v", p.Title, name, attributes[name], render.PictureWidth,
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
		if a.left < -1 || a.right > render.PictureWidth+1 || a.top < -1 || a.bottom > height+1 {
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

// textBox estimates the room that a text takes.
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
	left, width := numbers[0], render.TextWidth(html.UnescapeString(text))*numbers[2]
	switch attributes["text-anchor"] {
	case "end":
		left -= width
	case "middle":
		left -= width / 2
	}
	return box{left, numbers[1] - 0.75*numbers[2], left + width, numbers[1] + 0.2*numbers[2]}
}
