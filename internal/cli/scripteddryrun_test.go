package cli

import (
	"strings"
	"testing"
)

// A dry run is a summary: what is measured, the order, the time and what is written, on a screen and without commands.
// All of them are listed when they are asked for.
func TestScriptedDryRunIsShort(t *testing.T) {
	inScriptedLab(t, []string{"db1", "client", "server"}, func(l *scriptedLab) {
		twoFolders(l.machine("db1"))
		suite := l.file("suite.yaml", scriptedSuite)
		on := []string{"--on", "scripted://db1", "--seed", "3"}
		for what, c := range map[string]struct {
			args []string
			says []string
		}{
			"run": {append([]string{"run", suite, "/srv/a"}, on...),
				[]string{"6 loads; about ", "; writes ", "randwrite 4k q16, 3 repetitions"}},
			"sweep": {append([]string{"sweep", suite, "/srv/a", "--factor", "sysctl:vm.swappiness=10,30"}, on...),
				[]string{"about ", "; writes at most ", "arm 1: sysctl:vm.swappiness=10", "block 1: ",
					"put back sysctl:vm.swappiness"}},
			"ablate": {append([]string{"ablate", suite, "/srv/a", "--setting", "sysctl:vm.swappiness=10"}, on...),
				[]string{"; writes at most ", "arm +1: sysctl:vm.swappiness=10", "block 1: "}},
			"bisect": {append([]string{"bisect", "settings", suite, "/srv/a", "--setting",
				"sysctl:vm.swappiness=60,10", "--setting", "queue:nr_requests=1023,8"}, on...), []string{
				"first the slow state"}},
			"live": {[]string{"compare", "--live", suite, "/srv/a", "/srv/b", "scripted://db1", "--seed", "3"},
				[]string{"; writes at most ", "until each cell has its verdict"}},
			"layers": {[]string{"compare", "--layers", suite, "scripted://db1", "/srv/a", "/srv/b", "--seed", "3"},
				[]string{"; writes ", "layer 2  ", "in each of 10 passes"}},
			"network": {l.ends("net", l.file("send.yaml", sendSuite), "--seed", "3"), []string{"port 5201"}},
		} {
			o := l.run(append(c.args, "--dry-run")...).ends(0).says(
				append(c.says, "--dry-run=full lists every command")...)
			all := l.run(append(c.args, "--dry-run=full")...).ends(0)
			for _, command := range []string{"fio --name=", "iperf3 "} {
				if strings.Contains(o.stdout, command) {
					t.Errorf("%s: has commands:\n%s", what, o.stdout)
				}
			}
			if !strings.Contains(all.stdout, "fio --name=") && !strings.Contains(all.stdout, "iperf3 ") ||
				strings.Contains(all.stderr, "=full") {
				t.Errorf("%s: has no commands, or says where they are:\n%s%s", what, all.stderr, all.stdout)
			}
		}
		l.run("run", suite, "/srv/a", "--on", "scripted://db1", "--dry-run=all").ends(2).says(
			"--dry-run takes short or full, and not \"all\"")
		if loads := l.loaded("db1"); len(loads) > 0 {
			t.Errorf("it was loaded: %v", loads)
		}
	})
}

// A dry run of a comparison in turns says what each side would do, and does nothing.
func TestScriptedDryRunOfAComparison(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		twoFolders(m)
		l.run("compare", "--live", l.file("suite.yaml", scriptedSuite), "/srv/a", "/srv/b", "scripted://db1",
			"--seed", "3", "--dry-run=full").ends(0).says("base: ", "new: ", "--filename=/srv/a/", "--filename=/srv/b/",
			"--seed 3")
		l.layers("/srv/a", "/srv/b", "--seed", "3", "--dry-run=full").ends(0).
			says("layer 1  ", "--filename=/srv/b/", "The order, by layers, with --seed 3", "pass 1  ")
		l.run("compare", "first", "second", "--dry-run").ends(2).says(
			"--dry-run means nothing without --live or --layers")
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
