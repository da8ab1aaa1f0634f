//go:build system

package headroom

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTierRunsFailedTestsAgain checks the second try of scripts/tier on small modules: what passes it is green and named,
// and everything else is red.
func TestTierRunsFailedTestsAgain(t *testing.T) {
	script, err := filepath.Abs("scripts/tier")
	if err != nil {
		t.Fatal(err)
	}
	const once = `func first(t *testing.T) bool {
	_, err := os.Stat(t.Name())
	if err := os.WriteFile(t.Name(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return err != nil
}
func TestA(t *testing.T) { if first(t) { t.Log("before"); t.Error("the port was taken") } }
func TestPart(t *testing.T) {
	first := first(t)
	t.Run("one", func(t *testing.T) { if first { t.Error("part one") } })
	t.Run("two", func(t *testing.T) {})
}
`
	for name, c := range map[string]struct {
		tries, tests string
		red          bool
		says, silent string
	}{
		"passes": {"twice", "func TestA(t *testing.T) {}", false, "nothing was left out", "UNSTABLE"},
		"unstable": {"twice", once, false,
			"UNSTABLE: TestA (the port was taken)\nUNSTABLE: TestPart (part one)", "what failed"},
		"fails twice": {"twice", once + `func TestB(t *testing.T) { t.Error("always") }`, true, "always", "not run"},
		"one try":     {"once", once, true, "the port was taken", "UNSTABLE"},
		"four fail": {"twice", once + `
func TestC(t *testing.T) { if first(t) { t.Error("c") } }
func TestD(t *testing.T) { if first(t) { t.Error("d") } }`, true, "--- FAIL: TestD", "UNSTABLE"},
		"skipped then": {"twice", `func TestA(t *testing.T) {
	if os.Mkdir("been", 0o700) == nil { t.Fatal("broken") }
	t.Skip("not today")
}`, true, "did not pass when they ran again: TestA", "== not run"},
		"panics once": {"twice", `func TestA(t *testing.T) { if os.Mkdir("been", 0o700) == nil { panic("nil map") } }`, true,
			"nil map", "UNSTABLE"},
		"does not build": {"twice", `func TestA(t *testing.T) { x }`, true, "undefined: x", "UNSTABLE"},
		"too slow":       {"twice", `func TestA(t *testing.T) { select {} }`, true, "panic: test timed out", "UNSTABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{"go.mod": "module tried\n\ngo 1.26\n",
				"a_test.go": "package tried\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Stat\n\n" + c.tests} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			limit := "10m"
			if name == "too slow" {
				limit = "1s"
			}
			cmd := exec.Command(script, "tried", c.tries, "./...", "-count", "1", "-timeout", limit, "-run", "^Test")
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if red := err != nil; red != c.red {
				t.Errorf("red: %v, want %v", red, c.red)
			}
			if !strings.Contains(string(out), c.says) || strings.Contains(string(out), c.silent) {
				t.Errorf("does not say %q, or says %q:\n%s", c.says, c.silent, out)
			}
		})
	}
}
