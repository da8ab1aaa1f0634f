package cli

import "testing"

// A dry run of a comparison in turns says what each side would do, and does nothing.
func TestScriptedDryRunOfAComparison(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		twoFolders(m)
		l.run("compare", "--live", l.file("suite.yaml", scriptedSuite), "/srv/a", "/srv/b", "scripted://db1",
			"--seed", "3", "--dry-run").ends(0).says("base: ", "new: ", "--filename=/srv/a/", "--filename=/srv/b/", "--seed 3")
		l.survey("/srv/a", "/srv/b", "--seed", "3", "--dry-run").ends(0).
			says("layer 1  ", "--filename=/srv/b/", "The order, by layers, with --seed 3", "pass 1  ")
		l.run("compare", "first", "second", "--dry-run").ends(2).says("--dry-run means nothing without --live or --layers")
		l.run("list").ends(0).says("no runs yet")
		if loads := l.loaded("db1"); len(loads) > 0 {
			t.Errorf("it was loaded: %v", loads)
		}
		for _, folder := range []string{"/srv/a", "/srv/b", "/dev/shm/headroom-0"} {
			if left := m.Names(folder); len(left) > 0 {
				t.Errorf("left in %s: %v", folder, left)
			}
		}
	})
}
