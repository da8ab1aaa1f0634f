package rule

import (
	"strings"
	"testing"
)

// TestConditionsThatGrow checks short conditions that ask for more memory than there is, or run for years.
func TestConditionsThatGrow(t *testing.T) {
	l, err := newLanguage()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`kernel.release` + strings.Repeat(`.replace("a", "aaaaaaaaaaaaaaaa")`, 40) + ` == "x"`,
		`[kernel.release]` + strings.Repeat(`.map(x, [x, x, x, x].join())`, 40) + `.exists(x, x == "b")`,
		`[[1]]` + strings.Repeat(`.map(a, a + a)`, 60) + `.exists(a, 2 in a)`,
		`dyn([[1]])` + strings.Repeat(`.map(a, a + a)`, 60) + `.exists(a, 2 in a)`,
		`[kernel.release]` + strings.Repeat(`.map(x, "%s%s%s%s".format([x, x, x, x]))`, 40) + `.exists(x, x == "b")`,
	} {
		if _, faults := l.compile(text, ""); len(faults) == 0 || !strings.Contains(faults[0].message, "not available") {
			t.Errorf("%.60s: %+v", text, faults)
		}
	}
	for _, text := range []string{
		`values("nic.speed").filter(s, int(s) > 5).size() > 1`,
		`kernel.livepatches.map(p, p.lowerAscii()).exists(p, p == "a")`,
		`kernel.livepatches.map(p, p != "", p.lowerAscii()).exists(p, p == "a")`,
		`kernel.release + "x" == "6.1x" && cpu.threads + 1 > 2`,
	} {
		if _, faults := l.compile(text, ""); len(faults) > 0 {
			t.Errorf("%s: %+v", text, faults)
		}
	}
}
