package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"regexp"
	"strings"
	"testing"

	"headroom/internal/render"
)

// pages are one of each kind, and of those whose content depends on what was measured, several.
func pages(t *testing.T) map[string]string {
	t.Helper()
	written := map[string]string{
		"run":     written(t, "html", fixtures(t), Options{}),
		"compare": writtenComparison(t, comparison(t), "html", Options{}),
	}
	for name, d := range sweeps() {
		written["sweep "+name] = writtenSweep(t, d, "html", Options{})
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"ablation": func(b *bytes.Buffer) error {
			return render.Page(b, AblationDocument(hardened(twoCells(), costly), Options{}), render.Options{})
		},
		"bisection": func(b *bytes.Buffer) error {
			return render.Page(b, BisectionDocument(bisectionDocument(), Options{}), render.Options{})
		},
		"history": func(b *bytes.Buffer) error {
			return render.Page(b, HistoryDocument(updated(t), Options{}), render.Options{})
		},
		"stages": func(b *bytes.Buffer) error {
			return render.Page(b, StagesDocument(asPublished(t), Options{}), render.Options{})
		},
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		written[name] = b.String()
	}
	return written
}

// Every page forbids all but its own script and its own style, by their hashes, and has nothing that the policy would
// forbid.
func TestPagesAllowOnlyTheirOwnScript(t *testing.T) {
	meta := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`)
	forbidden := regexp.MustCompile(
		`(?i)<[^<>]*\s(on[a-z]+|style|srcdoc|action|formaction)\s*=|javascript:|<(iframe|object|embed|base|form)\b|@import|url\(`)
	scripts := 0
	for name, page := range pages(t) {
		found := meta.FindAllStringSubmatchIndex(page, -1)
		if len(found) != 1 {
			t.Errorf("%s: %d policies", name, len(found))
			continue
		}
		policy := html.UnescapeString(page[found[0][2]:found[0][3]])
		want := "default-src 'none'; img-src data:"
		for _, element := range []string{"style", "script"} {
			parts := regexp.MustCompile(`(?s)<`+element+`\b([^>]*)>(.*?)</`+element+`>`).FindAllStringSubmatch(page, -1)
			if len(parts) > 1 || element == "style" && len(parts) == 0 {
				t.Errorf("%s: %d elements %s", name, len(parts), element)
			}
			if len(parts) == 0 {
				continue
			}
			if parts[0][1] != "" {
				t.Errorf("%s: the %s has attributes: %s", name, element, parts[0][1])
			}
			if strings.Index(page, parts[0][0]) < found[0][1] {
				t.Errorf("%s: the %s stands before the policy, which is not for it then", name, element)
			}
			want += "; " + element + "-src " + hashOf(parts[0][2])
			if element == "script" {
				scripts++
			}
		}
		if want += "; base-uri 'none'; form-action 'none'"; policy != want {
			t.Errorf("%s: the policy is\n%s\nnot\n%s", name, policy, want)
		}
		bare := regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`).ReplaceAllString(page, "")
		if bad := forbidden.FindString(bare); bad != "" {
			t.Errorf("%s: the policy forbids %s", name, bad)
		}
		if strings.Contains(page, "ZgotmplZ") {
			t.Errorf("%s: the template has refused something", name)
		}
	}
	if scripts != 0 {
		t.Errorf("%d pages have a script", scripts)
	}
}

// hashOf is how a policy names the text of an element: https://www.w3.org/TR/CSP3/#grammardef-hash-source
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
