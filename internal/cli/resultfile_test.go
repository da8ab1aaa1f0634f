package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// After an experiment whose report goes to a file, the terminal has the answer, the table and the run as well,
// and so it has after --show.
func TestScriptedReportsInFilesAreOnTheTerminalToo(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Noise = 0.004
		twoFolders(m)
		readAheadHelps(m)
		suite := l.file("load.yaml", oneLoad)
		page := filepath.Join(l.dir, "page.html")
		for _, test := range []struct {
			args, says []string
		}{
			{[]string{"sweep", suite, "/srv", "--on", "scripted://db1", "--factor", "queue:read_ahead_kb=16,64"},
				[]string{"64", "each load in each arm: headroom show "}},
			{[]string{"ablate", suite, "/srv", "--on", "scripted://db1", "--setting", "sysctl:vm.swappiness=1",
				"--alone"},
				[]string{"vm.swappiness=1", "each load in each arm: headroom show "}},
			{[]string{"compare", "--live", suite, "/srv/a", "/srv/b", "scripted://db1"},
				[]string{" against ", "verdict", "as a page: headroom compare "}},
		} {
			args := append(test.args, "--seed", "1", "--label", "of "+test.args[0], "-o", page)
			o := l.run(args...).ends(0).says("wrote " + page)
			for _, text := range test.says {
				if !strings.Contains(o.stdout, text) {
					t.Errorf("%s does not print %q:\n%s", test.args[0], text, o.stdout)
				}
			}
			if data, err := os.ReadFile(page); err != nil || !strings.HasPrefix(string(data), "<!doctype html>") {
				t.Errorf("%s wrote %.100s, %v", test.args[0], data, err)
			}
			if err := os.Remove(page); err != nil {
				t.Error(err)
			}
		}
		o := l.run("ablate", "--show", "of ablate", "-o", page).ends(0)
		if !strings.Contains(o.stdout, "vm.swappiness") {
			t.Errorf("a saved ablation that is written to a file is not printed:\n%s", o.stdout)
		}
	})
}
