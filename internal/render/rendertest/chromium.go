//go:build system

package rendertest

import (
	"context"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"headroom/internal/document"
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

// LookAtPages looks at the pages of documents, by their names.
func LookAtPages(t *testing.T, documents map[string]document.Document) {
	t.Helper()
	if len(documents) == 0 {
		t.Fatal("no documents")
	}
	for name, d := range documents {
		t.Run(name, func(t *testing.T) { lookAt(t, Written(t, d, "html", render.Options{})) })
	}
}

// lookAt has Chromium say what is wrong with a page: it must fit a desk and a phone, by day and by night, and must ask
// the network for nothing. Chromium's window is never narrower than 500 pixels, so the phone is a frame of 400 in a
// page around it.
func lookAt(t *testing.T, page string) {
	t.Helper()
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
			out := Chromium(t, "--dump-dom", "--virtual-time-budget=5000", "--window-size="+window+",1000",
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

// Chromium prints what Chromium does with the arguments. The test is skipped where it is not installed.
func Chromium(t *testing.T, args ...string) string {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: apt-get install chromium")
	}
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
