package cli

import (
	"regexp"
	"strings"
	"testing"
)

// Whatever is wrong with a run, its first screen has the answer, the table, and at most three lines of warnings.
func TestScriptedQuickFitsOnAScreen(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.machine("db1").Noise = 0.3
		for name, test := range map[string]struct {
			flags    []string
			warnings int
		}{
			"noisy": {nil, 1},
			"hasty, once, and into memory": {[]string{"--repeat", "1", "--set", "runtime=900ms", "--set", "direct=0",
				"--set", "rate_iops=100"}, 3},
		} {
			args := append([]string{"run", "quick", "/srv", "--on", "scripted://db1", "--seed", "1"}, test.flags...)
			o := l.run(args...).ends(0)
			const screen = 24
			lines := strings.Split(o.stdout, "\n")
			first := strings.Join(lines[:min(screen, len(lines))], "\n")
			n := len(regexp.MustCompile(`(?m)^!\d [a-z-]+: `).FindAllString(o.stdout, -1))
			if n != test.warnings || n != len(regexp.MustCompile(`(?m)^!\d [a-z-]+: `).FindAllString(first, -1)) {
				t.Errorf("%s: %d warnings, want %d:\n%s", name, n, test.warnings, o.stdout)
			}
			for _, want := range []string{"quick on /srv", "\nReads reach ", "\nrandread ", "\nwrite ", " --warnings\n",
				"headroom explain "} {
				if !strings.Contains(first, want) {
					t.Errorf("%s: the first screen has no %q:\n%s", name, want, o.stdout)
				}
			}
		}
	})
}
