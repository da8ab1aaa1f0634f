package cli

import (
	"fmt"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// here has a scripted machine stand for this one.
func (l *scriptedLab) here(name string) *scripted.Machine {
	l.machines[""] = l.machine(name)
	l.schemes = append(l.schemes, app.LocalTarget)
	return l.machine(name)
}

// What is checked out is as the good run or as the bad one, or undecided: git bisect run reads it in the exit code.
func TestScriptedBisectCheck(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.here("db1")
		rate, n := 100.0, 0
		benchmarks(m, nil)
		bench := func(*scripted.Load) scripted.Result {
			n++
			return scripted.Result{Duration: 5 * time.Second,
				Stdout: fmt.Sprintf("rate %d\n", int(1000*rate*(1+0.01*float64(n%5-2))))}
		}
		m.Programs["bench"] = bench
		m.Answer = func(argv []string) (scripted.Output, bool) {
			if argv[0] != "make" {
				return scripted.Output{}, false
			}
			if argv[1] == "broken" {
				return scripted.Output{Exit: 2, Stderr: "bench.c:3: error: expected expression\n"}, true
			}
			return scripted.Output{}, true
		}
		suite := l.file("suite.yaml", benches)
		l.run("run", suite, "/srv", "--repeat", "6", "--label", "good").ends(0)
		rate = 60
		l.run("run", suite, "/srv", "--repeat", "6", "--label", "bad").ends(0)
		check := func(more ...string) []string {
			return append([]string{"bisect", "check", suite, "/srv", "--good", "good", "--bad", "bad"}, more...)
		}
		for name, c := range map[string]struct {
			rate float64
			code int
			args []string
			says string
		}{
			"as the good one": {101, 0, check("--build", "make -j2 bench"), "good: "},
			"as the bad one":  {59, 1, check(), "bad: -4"},
			"in between":      {77, 125, check("--most", "4"), "neither good"},
			"does not build":  {100, 125, check("--build", "make broken"), "expected expression"},
			"no range":        {100, 129, check("--most", "1"), "two measurements or more"},
			"no bad run": {100, 129, []string{"bisect", "check", suite, "/srv", "--good", "good"},
				"needs a good run and a bad one"},
			"no such run": {100, 129, []string{"bisect", "check", suite, "/srv", "--good", "good",
				"--bad", "none"}, "none"},
			"one run": {100, 129, []string{"bisect", "check", suite, "/srv", "--good", "good", "--bad",
				"good"}, "don't differ clearly"},
			"no suite":         {100, 129, []string{"bisect", "check"}, "a suite"},
			"a flag of others": {100, 129, check("--on", "scripted://db1"), "unknown flag"},
		} {
			t.Log(name)
			rate = c.rate
			l.run(c.args...).ends(c.code).says(c.says)
		}
		// What fails is the commit's fault, which git is to skip.
		rate = 100
		m.Programs["bench"] = func(*scripted.Load) scripted.Result {
			return scripted.Result{Exit: 1, Stderr: "crashed\n"}
		}
		l.run(check()...).ends(125).says("a load failed, so the answer is unknown")
		m.Programs["bench"] = bench
		m.Programs["make-data"] = func(*scripted.Load) scripted.Result {
			return scripted.Result{Exit: 1, Stderr: "no room\n"}
		}
		l.run(check()...).ends(125).says("preparing bench failed")
		m.Programs["make-data"] = func(*scripted.Load) scripted.Result { return scripted.Result{} }
		m.AtLoad("bench --count", 0, func(e *scripted.Event) { e.After(2*time.Second, l.interrupt) })
		l.run(check()...).ends(130)
		l.checkNothingLeft("db1")
	})
}
