//go:build system

package report

import (
	"context"
	"fmt"
	"html"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"headroom/internal/document"
	"headroom/internal/lab"
	"headroom/internal/render"
)

// checker is put into the page under test. It writes down what it finds as an attribute, which --dump-dom shows.
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
  for (const e of performance.getEntriesByType("resource")) if (!e.name.startsWith("data:")) found.push("request: " + e.name);
  const text = document.querySelector(".drawing text, .drawn text");
  document.documentElement.dataset.found = found.slice(0, 5).join("; ");
  document.documentElement.dataset.width = innerWidth;
  document.documentElement.dataset.text = text ? text.getBoundingClientRect().height.toFixed(1) : "none";
  document.documentElement.dataset.paper = getComputedStyle(document.body).backgroundColor;
});
</script>`

// The page must fit a desk and a phone, by day and by night, and must ask the network for nothing. Chromium's window is
// never narrower than 500 pixels, so the phone is a frame of 400 in a page around it.
func TestPageInChromium(t *testing.T) { lookAt(t, written(t, "html", fixtures(t), Options{})) }

func TestDocumentPagesInChromium(t *testing.T) {
	documents := oddSearches()
	maps.Copy(documents, comparedDocuments(t))
	maps.Copy(documents, map[string]document.Document{
		"history":               HistoryDocument(updated(t), Options{}),
		"odd history":           HistoryDocument(oddHistory(), Options{}),
		"history of 200 cells":  HistoryDocument(ofCells(t, 200), Options{}),
		"stages":                StagesDocument(asPublished(t), Options{}),
		"odd stages":            StagesDocument(oddStages(), Options{}),
		"ablation":              AblationDocument(hardened(twoCells(), costly), Options{}),
		"odd ablation":          AblationDocument(oddAblation(), Options{}),
		"ablation of 200 cells": AblationDocument(hardened(manyCells(200), costly), Options{}),
	})
	maps.Copy(documents, wideSweeps())
	maps.Copy(documents, runPages(t))
	for name, d := range documents {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := render.Page(&b, d, render.Options{}); err != nil {
				t.Fatal(err)
			}
			lookAt(t, b.String())
		})
	}
}

// watcher goes before the policy, which is then not for it. It writes down what the policy forbids, and tries the
// page's own script.
const watcher = `<script>
const forbidden = [];
addEventListener("securitypolicyviolation", (e) => forbidden.push(e.effectiveDirective));
addEventListener("load", () => setTimeout(() => {
  const drawing = document.querySelector("figure:not(.forest) .drawing");
  if (drawing) drawing.dispatchEvent(new PointerEvent("pointermove", {clientX: drawing.getBoundingClientRect().left + 5, bubbles: true}));
  document.documentElement.dataset.tip = document.querySelector(".tip") !== null;
  document.documentElement.dataset.font = getComputedStyle(document.body).fontFamily;
  document.documentElement.dataset.forbidden = [...new Set(forbidden)].sort().join(" ");
}, 200));
</script>`

// attack is what a name could be, were there a place where it is not escaped.
const attack = `<script>document.documentElement.dataset.owned = "script"</script><img src="data:," onerror="document.documentElement.dataset.owned = 'handler'">
<style>body { font-family: cursive !important; }</style><iframe srcdoc="<script>parent.document.documentElement.dataset.owned = 'frame'</script>"></iframe>`

// A browser carries out the page's own script and no other: not from a name, and not where a name would get into the
// page as it is.
func TestPolicyInChromium(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: apt-get install chromium")
	}
	watched := func(t *testing.T, page string) func(name string) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "page.html")
		if err := os.WriteFile(file, []byte(strings.Replace(page, "<head>", "<head>"+watcher, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		attributes := regexp.MustCompile(`(?s)<html[^>]*>`).FindString(chrome(t, chromium, "--dump-dom",
			"--virtual-time-budget=5000", "file://"+file))
		if !strings.Contains(attributes, "data-forbidden=") {
			t.Fatalf("the page's checks did not run: %s", attributes)
		}
		return func(name string) string {
			m := regexp.MustCompile(`data-` + name + `="([^"]*)"`).FindStringSubmatch(attributes)
			if m == nil {
				return ""
			}
			return html.UnescapeString(m[1])
		}
	}
	kinds := pages(t)
	named := fixtures(t)
	for i := range named {
		named[i].Label, named[i].Suite = attack, attack
		for j := range named[i].Cells {
			named[i].Cells[j].Job = attack
			named[i].Cells[j].Warnings = append(named[i].Cells[j].Warnings,
				Warning{Warning: lab.Warning{Code: attack, Text: attack, Taints: []string{"*"}}})
		}
	}
	kinds["attack by name"] = written(t, "html", named, Options{})
	for name, page := range kinds {
		t.Run(name, func(t *testing.T) {
			seen := watched(t, page)
			if seen("forbidden") != "" || seen("owned") != "" {
				t.Errorf("forbidden: %q, carried out: %q", seen("forbidden"), seen("owned"))
			}
			if own := strings.Contains(page, "pointermove"); seen("tip") != fmt.Sprint(own) {
				t.Errorf("its script is %v, and ran: %s", own, seen("tip"))
			}
			if !strings.HasPrefix(seen("font"), "system-ui") {
				t.Errorf("its style does not apply: %s", seen("font"))
			}
		})
	}
	for _, name := range []string{"run", "history"} {
		t.Run("a hole in "+name, func(t *testing.T) {
			holed := strings.Replace(kinds[name], "</body>", attack+"</body>", 1)
			seen := watched(t, holed)
			if seen("owned") != "" || !strings.HasPrefix(seen("font"), "system-ui") {
				t.Errorf("carried out: %q, applied: %s", seen("owned"), seen("font"))
			}
			for _, part := range []string{"script-src-elem", "script-src-attr", "style-src-elem"} {
				if !strings.Contains(seen("forbidden"), part) {
					t.Errorf("%s is not forbidden: %s", part, seen("forbidden"))
				}
			}
			// Without the policy the attack works, or it would show nothing.
			bare := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`).ReplaceAllString(holed, "")
			if seen = watched(t, bare); seen("owned") == "" || seen("forbidden") != "" || seen("font") != "cursive" {
				t.Errorf("without the policy: carried out %q, forbidden %q, applied %s", seen("owned"),
					seen("forbidden"), seen("font"))
			}
		})
	}
}

func lookAt(t *testing.T, page string) {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: apt-get install chromium")
	}
	page = strings.Replace(page, "<head>", "<head>"+checker, 1)
	var mu sync.Mutex
	requests := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests[r.URL.Path]++
		mu.Unlock()
		switch r.URL.Path {
		case "/page":
			fmt.Fprint(w, page)
		case "/phone":
			// The frame's findings are copied to the outside, where --dump-dom shows them.
			fmt.Fprint(w, `<!doctype html><title>phone</title><link rel="icon" href="data:,"><body style="margin:0">
<iframe src="/page" style="width:400px;height:900px;border:0" onload="Object.assign(document.documentElement.dataset,
this.contentDocument.documentElement.dataset)"></iframe>`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	// Whatever else the page asks for would come to this proxy, and be counted.
	proxy, asked := countingProxy(t)

	for _, test := range []struct {
		name, path, width, text string
		dark                    bool
	}{
		{"desk by day", "/page", "1400", "", false},
		{"desk by night", "/page", "1400", "", true},
		{"phone by day", "/phone", "400", "", false},
		{"phone by night", "/phone", "400", "", true},
		{"tablet", "/page", "800", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			window := test.width
			if window == "400" {
				window = "500"
			}
			scheme := "1"
			if test.dark {
				scheme = "0"
			}
			out := chrome(t, chromium, "--dump-dom", "--virtual-time-budget=5000", "--window-size="+window+",1000",
				"--blink-settings=preferredColorScheme="+scheme, "--proxy-server="+proxy, server.URL+test.path)
			attributes := regexp.MustCompile(`(?s)<html[^>]*>`).FindString(out)
			attribute := func(name string) string {
				m := regexp.MustCompile(`data-` + name + `="([^"]*)"`).FindStringSubmatch(attributes)
				if m == nil {
					t.Fatalf("the page's checks did not run: %s", attributes)
				}
				return html.UnescapeString(m[1])
			}
			if found := attribute("found"); found != "" {
				t.Error(found)
			}
			if width := attribute("width"); width != test.width {
				t.Errorf("the page was laid out %s wide, not %s", width, test.width)
			}
			if dark := attribute("paper") != "rgb(255, 255, 255)"; dark != test.dark {
				t.Errorf("the paper is %s", attribute("paper"))
			}
			text := attribute("text")
			var height float64
			if _, err := fmt.Sscan(text, &height); text != "none" && (err != nil || height < 9) {
				t.Errorf("text in pictures is %s pixels high", text)
			}
		})
	}
	mu.Lock()
	defer mu.Unlock()
	for path := range requests {
		if path != "/page" && path != "/phone" {
			t.Errorf("the page asked for %s", path)
		}
	}
	for _, host := range asked() {
		if strings.Contains(page, host) {
			t.Errorf("the page asked for something from %s", host)
		}
	}
}

// Everything must be readable without scripts, and on paper: the sentences of the warnings, the facts, the commands.
func TestPageOnPaper(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: apt-get install chromium")
	}
	pdftotext, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Skip("pdftotext is not installed: apt-get install poppler-utils")
	}
	s := summarized(t, "measured")
	page := written(t, "html", []Summary{s}, Options{})
	page = regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAllString(page, "")
	dir := t.TempDir()
	file, pdf := filepath.Join(dir, "page.html"), filepath.Join(dir, "page.pdf")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	chrome(t, chromium, "--no-pdf-header-footer", "--print-to-pdf="+pdf, "--blink-settings=preferredColorScheme=0",
		"file://"+file)
	out, err := exec.Command(pdftotext, "-layout", pdf, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	squeeze := func(text string) string { return strings.Join(strings.Fields(text), "") }
	text := squeeze(string(out))
	want := []string{"/proc/meminfo", "--rw=randwrite", "read latency of"}
	for _, m := range marks(&s) {
		want = append(want, m.code, m.texts[0].text)
	}
	for _, w := range want {
		if !strings.Contains(text, squeeze(w)) {
			t.Errorf("the paper lacks: %s", w)
		}
	}
}

func chrome(t *testing.T, chromium string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
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

// countingProxy writes down the hosts that are asked for through it, and serves none. Chromium goes around a proxy for
// this machine's own addresses.
func countingProxy(t *testing.T) (address string, asked func() []string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var hosts []string
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		hosts = append(hosts, r.Host)
		mu.Unlock()
		w.WriteHeader(http.StatusBadGateway)
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return listener.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return hosts
	}
}
