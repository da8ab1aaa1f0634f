package render

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/document"
)

func flameDocument() document.Document {
	return document.Document{Title: "flames", Blocks: []document.Block{document.Flame{Title: "<t> by stack",
		Layers: []document.FlameLayer{{ID: "a", Title: "block layer"}, {ID: "b", Title: "unused"}}, Total: "18 µs",
		Frames: []document.Frame{{Name: "<fio>", Text: "</title>", Layer: -1, Width: 3, Children: []document.Frame{
			{Name: "submit_bio", Text: "1 µs", Width: 1}, {Name: "nvme_queue_rq", Text: "1 µs", Width: 1.5},
			{Name: "narrow", Text: "10 ns", Width: 0.01}}},
			{Name: "(interrupt)", Text: "1 µs", Layer: -1, Width: 1}}}}}
}

// Frames are below their callers and within their width, and have no text if there is no room; names contain no markup.
// Only colours of existing layers are used.
func TestFlamePicture(t *testing.T) {
	page := written(t, flameDocument())
	frame := regexp.MustCompile(
		`<svg class="(\w+)" x="([0-9.]+)%" y="(\d+)" width="([0-9.]+)%" height="17"><title>([^\n]*)`)
	found := frame.FindAllStringSubmatch(page, -1)
	var names []string
	for _, f := range found {
		names = append(names, f[5]+" "+f[1]+" "+f[2]+" "+f[3]+" "+f[4])
	}
	want := []string{"&lt;fio&gt; o 0 0 75", "submit_bio l0 0 18 25", "nvme_queue_rq l0 25 18 37.5",
		"narrow l0 62.5 18 0.25", "(interrupt) o 75 0 25"}
	if strings.Join(names, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nnot\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	for _, text := range []string{">submit_bio</text>", `<li class="l0">block layer</li><li class="o">other</li>`,
		`height="36" role="img" aria-label="&lt;t&gt; by stack"`, `data-total="18 µs"`} {
		if !strings.Contains(page, text) {
			t.Errorf("no %s in\n%s", text, page)
		}
	}
	for _, text := range []string{"narrow</text>", "<fio>", "\n</title></title>", "unused"} {
		if strings.Contains(page, text) {
			t.Errorf("%s in\n%s", text, page)
		}
	}
}

// The height of a frame is defined twice: the script uses it, too.
func TestFlameScriptKnowsTheHeight(t *testing.T) {
	if !strings.Contains(flameScript, "const height = "+strconv.Itoa(frameHeight)+",") {
		t.Error("the script has another height of frames")
	}
}

// The colours of changes depend on the size of the gain or loss.
func TestFlameColours(t *testing.T) {
	for change, want := range map[float64]string{0: "o", 1: "m4", 0.1: "m1", 0.5: "m2", -0.6: "s3", -1: "s4"} {
		if got := flameClass(document.Flame{Difference: true}, document.Frame{Change: change}); got != want {
			t.Errorf("%v has %s, not %s", change, got, want)
		}
	}
	d := document.Document{Blocks: []document.Block{document.Flame{Title: "nothing"}}}
	if page := written(t, d); strings.Contains(page, "<figure") {
		t.Errorf("a graph of nothing:\n%s", page)
	}
}

func written(t *testing.T, d document.Document) string {
	t.Helper()
	var b strings.Builder
	if err := Page(&b, d, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
