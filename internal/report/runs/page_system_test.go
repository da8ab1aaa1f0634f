//go:build system

package runs

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

func TestPagesOfRunsInChromium(t *testing.T) { rendertest.LookAtPages(t, runPages(t)) }

// watcher is inserted before the policy, which therefore does not apply to it. It records what the policy forbids, and
// tries the page's own script.
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

// attack is a hostile name, in case a place does not escape it.
const attack = `<script>document.documentElement.dataset.owned = "script"</script><img src="data:," onerror="document.documentElement.dataset.owned = 'handler'">
<style>body { font-family: cursive !important; }</style><iframe srcdoc="<script>parent.document.documentElement.dataset.owned = 'frame'</script>"></iframe>`

// A browser runs only the page's own script: none from a name, not even where a name is inserted unescaped.
func TestPolicyInChromium(t *testing.T) {
	watched := func(t *testing.T, page string) func(name string) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "page.html")
		if err := os.WriteFile(file, []byte(strings.Replace(page, "<head>", "<head>"+watcher, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		attributes := regexp.MustCompile(`(?s)<html[^>]*>`).FindString(rendertest.Chromium(t, "--dump-dom",
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
	kinds := map[string]string{"runs": written(t, "html", fixtures(t), report.Options{})}
	named := fixtures(t)
	for i := range named {
		named[i].Label, named[i].Suite = attack, attack
		for j := range named[i].Cells {
			named[i].Cells[j].Job = attack
			named[i].Cells[j].Warnings = append(named[i].Cells[j].Warnings,
				lab.RepeatedWarning{Warning: lab.Warning{Code: attack, Text: attack, Taints: []string{"*"}}})
		}
	}
	kinds["attack by name"] = written(t, "html", named, report.Options{})
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
	for name, page := range kinds {
		t.Run("a hole in "+name, func(t *testing.T) {
			holed := strings.Replace(page, "</body>", attack+"</body>", 1)
			seen := watched(t, holed)
			if seen("owned") != "" || !strings.HasPrefix(seen("font"), "system-ui") {
				t.Errorf("carried out: %q, applied: %s", seen("owned"), seen("font"))
			}
			for _, part := range []string{"script-src-elem", "script-src-attr", "style-src-elem"} {
				if !strings.Contains(seen("forbidden"), part) {
					t.Errorf("%s is not forbidden: %s", part, seen("forbidden"))
				}
			}
			// Without the policy the attack must succeed, or the test would prove nothing.
			bare := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`).ReplaceAllString(holed, "")
			if seen = watched(t, bare); seen("owned") == "" || seen("forbidden") != "" || seen("font") != "cursive" {
				t.Errorf("without the policy: carried out %q, forbidden %q, applied %s", seen("owned"),
					seen("forbidden"), seen("font"))
			}
		})
	}
}

// Everything must be readable without scripts, and on paper: the sentences of the warnings, the facts, the commands.
func TestPageOnPaper(t *testing.T) {
	pdftotext, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Skip("pdftotext is not installed: apt-get install poppler-utils")
	}
	s := summarized(t, "measured")
	page := written(t, "html", []summary.Run{s}, report.Options{})
	page = regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAllString(page, "")
	dir := t.TempDir()
	file, pdf := filepath.Join(dir, "page.html"), filepath.Join(dir, "page.pdf")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	rendertest.Chromium(t, "--no-pdf-header-footer", "--print-to-pdf="+pdf, "--blink-settings=preferredColorScheme=0",
		"file://"+file)
	out, err := exec.Command(pdftotext, "-layout", pdf, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	squeeze := func(text string) string { return strings.Join(strings.Fields(text), "") }
	text := squeeze(string(out))
	want := []string{"/proc/meminfo", "--rw=randwrite", "read latency of"}
	for _, m := range marks(&s) {
		want = append(want, m.Code, m.Texts[0].Text)
	}
	for _, w := range want {
		if !strings.Contains(text, squeeze(w)) {
			t.Errorf("the paper lacks: %s", w)
		}
	}
}
