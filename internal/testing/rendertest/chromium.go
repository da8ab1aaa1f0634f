//go:build system

package rendertest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/testing/browsertest"
)

// checker is inserted into the page under test. It writes its findings into attributes of the page.
const checker = `<script>
const found = [];
addEventListener("error", (e) => found.push("error: " + e.message));
addEventListener("securitypolicyviolation", (e) => found.push("forbidden: " + e.effectiveDirective + " " + e.blockedURI));
addEventListener("load", () => {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > wide) found.push("the page is " + document.documentElement.scrollWidth + " wide in " + wide);
  for (const e of document.querySelectorAll("body *")) {
    const box = e.getBoundingClientRect();
    const scrolls = e.closest(".scroll, .maps, .wide, svg") !== null;
    if (!scrolls && box.width > 0 && box.right > wide + 1 && e.closest("details:not([open]) > :not(summary)") === null)
      found.push(e.tagName + "." + e.className + " reaches to " + Math.round(box.right) + " of " + wide);
  }
  for (const cell of document.querySelectorAll("table .words")) {
    const style = getComputedStyle(cell), room = cell.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    if (cell.clientWidth > 0 && cell.textContent.length > 3 && room < 3 * parseFloat(style.fontSize))
      found.push("in a table, " + cell.textContent + " has a width of " + Math.round(room));
  }
  for (const drawing of document.querySelectorAll("figure:not(.forest) .drawing")) {
    const box = drawing.getBoundingClientRect();
    drawing.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + box.width / 2, bubbles: true}));
    if (box.width > 0 && !drawing.querySelector(".tip")) found.push("no numbers under the pointer");
    drawing.dispatchEvent(new PointerEvent("pointerleave"));
  }
  for (const svg of document.querySelectorAll(".drawn svg")) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map((e) => [e.textContent, e.getBoundingClientRect()]);
    texts.forEach(([text, a], i) => {
      if (a.width > 0 && (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1))
        found.push("in a picture, " + text + " reaches beyond it");
      for (const [other, b] of texts.slice(0, i))
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4)
          found.push("in a picture, " + text + " is over " + other);
    });
  }
  const text = document.querySelector(".drawing text, .drawn text");
  document.documentElement.dataset.found = found.slice(0, 5).join("; ");
  document.documentElement.dataset.width = innerWidth;
  document.documentElement.dataset.text = text ? text.getBoundingClientRect().height.toFixed(1) : "none";
  document.documentElement.dataset.paper = getComputedStyle(document.body).backgroundColor;
});
</script>`

// look is one way to show a page: the width of the window in pixels, and whether the reader prefers dark pages.
type look struct {
	name  string
	width int64
	dark  bool
}

func looks() []look {
	return []look{{"desk by day", 1400, false}, {"desk by night", 1400, true}, {"phone by day", 400, false},
		{"phone by night", 400, true}, {"tablet", 800, false}}
}

// LookAtPages opens the pages of documents, by their names, in one Chromium. Each must fit a desktop and a phone, light
// and dark, and must make no network requests.
func LookAtPages(t *testing.T, documents map[string]document.Document) {
	t.Helper()
	if len(documents) == 0 {
		t.Fatal("no documents")
	}
	var page string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			t.Errorf("the page asked for %s", r.URL)
		}
		fmt.Fprint(w, page)
	}))
	t.Cleanup(server.Close)
	b := browsertest.Open(t, server.URL, 30*time.Minute)
	for name, d := range documents {
		t.Run(name, func(t *testing.T) {
			page = strings.Replace(Written(t, d, "html", render.Options{}), "<head>", "<head>"+checker, 1)
			for _, look := range looks() {
				t.Run(look.name, func(t *testing.T) {
					b.Emulate(t, look.width, 1000, look.dark)
					lookAt(t, b, look)
				})
			}
		})
	}
}

// lookAt lets the browser find faults of a page as it is shown.
func lookAt(t *testing.T, b *browsertest.Browser, as look) {
	t.Helper()
	b.Load(t, "/page")
	b.WaitUntil(t, "document.documentElement.dataset.width !== undefined")
	seen := browsertest.Ask(t, b, chromedp.Evaluate[map[string]string]("({...document.documentElement.dataset})"))
	if found := seen["found"]; found != "" {
		t.Error(found)
	}
	if seen["width"] != strconv.FormatInt(as.width, 10) {
		t.Errorf("the page was laid out %s wide, not %d", seen["width"], as.width)
	}
	if is := seen["paper"] != "rgb(255, 255, 255)"; is != as.dark {
		t.Errorf("the paper is %s", seen["paper"])
	}
	var height float64
	if _, err := fmt.Sscan(seen["text"], &height); seen["text"] != "none" && (err != nil || height < 9) {
		t.Errorf("text in pictures is %s pixels high", seen["text"])
	}
}

// Chromium returns Chromium's output for some arguments. The test is skipped if it is not installed.
func Chromium(t *testing.T, args ...string) string {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: apt-get install chromium")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	always := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir=" + t.TempDir(),
	}
	out, err := exec.CommandContext(ctx, chromium, append(always, args...)...).Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, out)
	}
	return string(out)
}
