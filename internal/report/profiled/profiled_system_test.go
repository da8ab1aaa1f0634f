//go:build system

package profiled

import (
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

func pages(t *testing.T) map[string]document.Document {
	strict, sides := strictDifference(t)
	return map[string]document.Document{"difference": Difference(strict, sides, options(t, report.Options{})),
		"profile": Profile(guestProfile(t), options(t, report.Options{})),
		"refused": Profile(refusedProfile(), options(t, report.Options{}))}
}

func TestProfilePagesInChromium(t *testing.T) { rendertest.LookAtPages(t, pages(t)) }

// visitor is inserted before the policy, which therefore does not apply to it. It uses the first graph as a reader
// does, and records what it shows.
const visitor = `<script>
const forbidden = [];
addEventListener("securitypolicyviolation", (e) => forbidden.push(e.effectiveDirective));
addEventListener("load", () => setTimeout(() => {
  const figure = document.querySelector("figure.flame"), seen = document.documentElement.dataset;
  const frame = (name) => [...figure.querySelectorAll("svg svg")].find((e) => e.querySelector("title").textContent.startsWith(name + "\n"));
  const shown = () => [...figure.querySelectorAll("svg svg")].filter((e) => e.getBoundingClientRect().width > 0).length;
  const at = () => figure.querySelector(".at").textContent;
  const room = () => Math.round(figure.querySelector(".frames").getBoundingClientRect().width);
  const wide = (name) => Math.round(100 * frame(name).getBoundingClientRect().width / room());
  const key = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
  seen.all = shown();
  seen.before = wide("submit_bio");
  frame("submit_bio").dispatchEvent(new MouseEvent("click", {bubbles: true}));
  seen.zoomed = wide("submit_bio") + " " + wide("do_syscall_64") + " " + frame("(interrupt)").getBoundingClientRect().width;
  seen.named = frame("nvme_queue_rq").querySelector("text").textContent + ": " + at();
  key("ArrowDown");
  seen.down = at();
  key("ArrowUp"); key("ArrowUp");
  seen.up = at();
  key("Escape");
  seen.whole = shown() + " " + wide("submit_bio");
  const search = figure.querySelector("input");
  search.value = "iommu|nvme";
  search.dispatchEvent(new Event("input"));
  seen.found = figure.querySelector("[role=status]").textContent;
  seen.missed = frame("submit_bio").classList.contains("missed") + " " + frame("nvme_irq").classList.contains("missed");
  search.value = "(";
  search.dispatchEvent(new Event("input"));
  seen.odd = figure.querySelector("[role=status]").textContent;
  seen.forbidden = forbidden.join(" ");
}, 300));
</script>`

// A reader zooms by a click, continues with the keyboard, and searches; the policy allows the script that does it.
func TestFlameGraphInChromium(t *testing.T) {
	page := rendertest.Written(t, pages(t)["profile"], "html", render.Options{})
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(strings.Replace(page, "<head>", "<head>"+visitor, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	attributes := regexp.MustCompile(`(?s)<html[^>]*>`).FindString(rendertest.Chromium(t, "--dump-dom",
		"--window-size=1400,1000", "--virtual-time-budget=5000", "file://"+file))
	for name, want := range map[string]string{
		"all": "16", "before": "42", "zoomed": "100 100 0", "whole": "16 42", "forbidden": "",
		"named": "nvme_queue_rq: submit_bio 7.73 µs per I/O, 42%; block layer",
		"down":  "blk_mq_submit_bio 7.73 µs per I/O, 42%; block layer; 1.00 calls per I/O wherever it is called from",
		"up":    "do_syscall_64 9.88 µs per I/O, 54%; system call entry and mitigations",
		"found": "39.5% of 18.4 µs per I/O, in 4 frames", "missed": "true false",
		"odd": "16.8% of 18.4 µs per I/O, in 1 frame",
	} {
		m := regexp.MustCompile(`data-` + name + `="([^"]*)"`).FindStringSubmatch(attributes)
		if m == nil {
			t.Fatalf("the page's checks did not get to %s: %s", name, attributes)
		}
		if got := html.UnescapeString(m[1]); got != want {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
}

// The graph works on paper and without a script.
func TestFlameGraphOnPaper(t *testing.T) {
	pdftotext, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Skip("pdftotext is not installed: apt-get install poppler-utils")
	}
	page := rendertest.Written(t, pages(t)["profile"], "html", render.Options{})
	dir := t.TempDir()
	for name, page := range map[string]string{"as it is": page,
		"without a script": regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAllString(page, "")} {
		file, pdf := filepath.Join(dir, "page.html"), filepath.Join(dir, "page.pdf")
		if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		rendertest.Chromium(t, "--no-pdf-header-footer", "--print-to-pdf="+pdf,
			"--blink-settings=preferredColorScheme=0",
			"file://"+file)
		out, err := exec.Command(pdftotext, "-layout", pdf, "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"fio:io_queue_event", "asm_common_interrupt", "nvme_queue_rq"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s, the paper lacks %s", name, want)
			}
		}
		if strings.Contains(string(out), "search functions") {
			t.Errorf("%s, the paper has what only a screen needs", name)
		}
	}
}
