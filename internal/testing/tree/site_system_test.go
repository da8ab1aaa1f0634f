//go:build system

package tree

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/headroom/headroom/internal/testing/browsertest"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

// The site of the documentation is built once for both tests.
func TestSite(t *testing.T) {
	t.Chdir(root)
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	site := t.TempDir()
	text, err := exec.Command("go", "run", "-C", "tools/docs", ".", "site", root, site).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	t.Run("search", func(t *testing.T) { searchOfTheSite(t, site) })
	t.Run("widths", func(t *testing.T) { widthsOfTheSite(t, site) })
}

// A site that was opened from the disk finds a word, and links to its place.
func searchOfTheSite(t *testing.T, site string) {
	shown := rendertest.Chromium(t, "--dump-dom", "--virtual-time-budget=5000",
		"file://"+site+"/howto/doctor.html?q=nvme-scheduler")
	results := regexp.MustCompile(`(?s)<output id="found">(.*?)</output>`).FindStringSubmatch(shown)
	if results == nil {
		t.Fatalf("no results in\n%s", shown)
	}
	first := regexp.MustCompile(`<a href="([^"#]*)#([^"]*)">`).FindStringSubmatch(results[1])
	if first == nil || first[1] != "../reference/rules.html" || first[2] != "nvme-scheduler" {
		t.Fatalf("the first result is %q of\n%s", first, results[1])
	}
	text, err := os.ReadFile(filepath.Join(site, "howto", first[1]))
	if err != nil || !strings.Contains(string(text), `id="`+first[2]+`"`) {
		t.Errorf("%s has no anchor %s: %v", first[1], first[2], err)
	}
	nothing := rendertest.Chromium(t, "--dump-dom", "--virtual-time-budget=5000",
		"file://"+site+"/index.html?q=nosuchwordanywhere")
	if !strings.Contains(nothing, "No page has “nosuchwordanywhere”.") {
		t.Errorf("a word that is nowhere is found:\n%s", nothing)
	}
}

// frames is a page that shows other pages, one after the other, in a frame of a given width, and records what is wrong.
const frames = `<!doctype html><title>frames</title><link rel="icon" href="data:,"><body style="margin:0">
<iframe style="width:%spx;height:900px;border:0"></iframe><script>
(async () => {
  const found = [], frame = document.querySelector("iframe");
  let looked = 0;
  for (const page of %s) {
    await new Promise((done) => { frame.onload = done; frame.src = page; });
    const root = frame.contentDocument.documentElement;
    if (root.scrollWidth > root.clientWidth) found.push(page + " is " + root.scrollWidth + " wide in " + root.clientWidth);
    if (!frame.contentDocument.querySelector("main h1")) found.push(page + " has no heading");
    looked++;
  }
  document.documentElement.dataset.found = looked + " pages " + found.join("; ");
})();
</script>`

// Every page of the site fits a phone and a desktop.
func widthsOfTheSite(t *testing.T, site string) {
	var pages []string
	for _, pattern := range []string{"*.html", "*/*.html"} {
		names, err := filepath.Glob(filepath.Join(site, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			pages = append(pages, strings.TrimPrefix(name, site))
		}
	}
	if len(pages) == 0 {
		t.Fatal("the site has no pages")
	}
	list, err := json.Marshal(pages)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(site)))
	mux.HandleFunc("/frames/{width}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, frames, r.PathValue("width"), list)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	b := browsertest.Open(t, server.URL, 30*time.Minute)
	for _, width := range []int64{400, 1400} {
		b.Emulate(t, width+100, 1000, false)
		b.Load(t, fmt.Sprintf("/frames/%d", width))
		b.WaitUntil(t, "document.documentElement.dataset.found !== undefined")
		found := browsertest.Ask(t, b, chromedp.Evaluate[string]("document.documentElement.dataset.found"))
		if want := fmt.Sprintf("%d pages ", len(pages)); found != want {
			t.Errorf("in %d pixels: %q, want %q", width, found, want)
		}
	}
}
