package rule

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func FuzzDecode(f *testing.F) {
	names, err := filepath.Glob("rules/*.yaml")
	if err != nil || len(names) == 0 {
		f.Fatalf("no rules: %v", err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(ruleText("a", "true", "silent_if: [b]",
		"remedies: [{set: 'queue:scheduler=none', only: 'cpu.boost', cost: none}]")))
	f.Add([]byte("- &a {id: *a}\n- []\n-\n---\n"))
	f.Add([]byte("- id: a\n  when: |\n    x.y\n  effects: [{low: .nan}]\n"))
	l, err := newLanguage()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReporter("fuzz.yaml")
		rules := r.decode(l, data)
		if r.Err() != nil {
			_ = r.Err().Error()
			return
		}
		s, err := Compile(rules)
		if err != nil {
			return
		}
		report := s.Evaluate([]lab.Fact{{Key: "disk.size", About: "a", Value: "1"}, {Key: "cpu.boost", Value: "on"}},
			Options{All: true, Unquantified: true, Risks: true, Keep: []string{"cmdline:a=b"}})
		if n := report.Counts; n.Finding+n.Clear+n.NotApplicable+n.Unknown < len(rules) {
			t.Errorf("%d rules gave %+v", len(rules), n)
		}
	})
}

func FuzzCondition(f *testing.F) {
	for _, text := range []string{`clock.source == "hpet"`, `!(config["KASAN"] == "y") || argument["a-b"] != ""`,
		`values("disk.size").exists(s, int(s) > 1) && count("nic") > 0`,
		`sum("nic.speed") > 1e9 ? kernel(6, 2) : cpu.boost`,
		`disk.model.matches("^(a|b)+$")`, `[1, 2].map(x, x * cpu.threads).all(y, y < 3)`, `{"a": cpu.boost}["b"]`,
		`sysctl["a"].split(" ")[2] == "x"`, `disk.size / 0 == 1`, `dyn(1) == "a"`, `module[config["A"]] == ""`} {
		f.Add(text, "disk", "a=1 b", "5")
	}
	l, err := newLanguage()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, scope, line, value string) {
		c, faults := l.compile(text, scope)
		if len(faults) > 0 {
			return
		}
		m := newMachine(l.vocabulary,
			[]lab.Fact{{Key: "kernel.cmdline", Value: line}, {Key: "cpu.threads", Value: value},
				{Key: "disk.size", About: "a", Value: value}, {Key: "nic.speed", Unknown: value},
				{Key: "disk.model", About: "a", Value: line}})
		answer, _, missing := c.evaluate(m, scope, "a")
		if answer == unknown && len(missing) == 0 {
			t.Errorf("%s is unknown, and nothing is missing", text)
		}
	})
}
