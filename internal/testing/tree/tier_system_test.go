//go:build system

package tree

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTierRunsFailedTestsAgain checks the second try of scripts/tier on small modules: a test that passes then is green
// and named, and everything else is red.
func TestTierRunsFailedTestsAgain(t *testing.T) {
	t.Chdir(root)
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
	// Lines of two packages whose tests run at the same time are interleaved in the log.
	const noisy = `func TestA(t *testing.T) {
	for range 50 {
		t.Run("noise", func(t *testing.T) { t.Log("noise"); time.Sleep(10 * time.Millisecond) })
	}
}`
	const other = `func TestOther(t *testing.T) {
	first := os.Mkdir("been", 0o700) == nil
	t.Run("part", func(t *testing.T) {
		time.Sleep(200 * time.Millisecond)
		if first { t.Error("part of other") }
		time.Sleep(200 * time.Millisecond)
	})
}`
	for name, c := range map[string]struct {
		tries, tests, other string
		red                 bool
		says, silent        string
	}{
		"passes": {"twice", "func TestA(t *testing.T) {}", "", false, "nothing was left out", "UNSTABLE"},
		"skipped": {"twice", `func TestA(t *testing.T) { t.Run("a", func(t *testing.T) { t.Skip("no disk") }); t.Skip("no disk") }
func TestB(t *testing.T) { t.Log("before"); t.Skip("no net") }`, "", false,
			"    2  no disk (TestA)\n    1  no net (TestB)\n", "UNSTABLE"},
		"unstable": {"twice", once, "", false,
			"UNSTABLE: TestA (the port was taken)\nUNSTABLE: TestPart (part one)", "what failed"},
		"two packages at once": {"twice", noisy, other, false,
			"UNSTABLE: TestOther (part of other)\n", "what failed"},
		"fails twice": {"twice", once + `func TestB(t *testing.T) { t.Error("always") }`, "", true, "always", "not run"},
		"one try":     {"once", once, "", true, "the port was taken", "UNSTABLE"},
		"four fail": {"twice", once + `
func TestC(t *testing.T) { if first(t) { t.Error("c") } }
func TestD(t *testing.T) { if first(t) { t.Error("d") } }`, "", true, "--- FAIL: TestD", "UNSTABLE"},
		"skipped then": {"twice", `func TestA(t *testing.T) {
	if os.Mkdir("been", 0o700) == nil { t.Fatal("broken") }
	t.Skip("not today")
}`, "", true, "did not pass when they ran again: TestA", "== not run"},
		"panics once": {"twice", `func TestA(t *testing.T) { if os.Mkdir("been", 0o700) == nil { panic("nil map") } }`, "", true,
			"nil map", "UNSTABLE"},
		"does not build": {"twice", `func TestA(t *testing.T) { x }`, "", true, "undefined: x", "UNSTABLE"},
		"too slow":       {"twice", `func TestA(t *testing.T) { select {} }`, "", true, "panic: test timed out", "UNSTABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]string{"go.mod": "module tried\n\ngo 1.26\n", "a_test.go": c.tests}
			if c.other != "" {
				files["other/other_test.go"] = c.other
			}
			for file, text := range files {
				if strings.HasSuffix(file, ".go") {
					text = "package tried\n\nimport (\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\nvar _, _ = os.Stat, time.Now\n\n" + text
				}
				file = filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
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
