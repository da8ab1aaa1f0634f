package validity

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/golden"
)

const (
	warningsDoc = "../../docs/reference/warnings.md"
	pitfallsDoc = "../../docs/reference/pitfalls.md"
)

// warningsPreface has ' for the backticks that a raw string can't hold.
const warningsPreface = `# Warnings

A warning is a reason to distrust a number. Every output shows it beside the numbers that it affects. A table on a
terminal prints three warnings in full and names the others; add '--warnings' for all. 'headroom explain CODE' prints
the entry of this page. Codes are stable: scripts may test for them.

No warning does not prove that all is well: a check without its evidence says nothing. An import, for example, has no
counters of the machine.

Each warning has a weight:

| weight | the numbers that it affects | in a comparison |
| --- | --- | --- |
| spoils | are not what they are called | incomparable |
| slows | are real; without it they could only be better | incomparable where that could turn the verdict, else a caveat |
| moves | are real; without it they could be better or worse | the same |
| widens | differ between repetitions | nothing: the interval shows it |
| note | stand | nothing |

'most_error' in the JSON says by how much, at most, a warning that slows or moves can change a number, where that is
known. Where both sides of a comparison have the same warning of unknown size, it is a caveat.

An entry has the meaning, the *weight* and what it weighs on, when the warning appears (with the source of the
threshold), and what to do.

`

// docs/reference/warnings.md is written from Checks, so that its thresholds are those of the code.
func TestWarningsDoc(t *testing.T) {
	want := warningsPage()
	golden.Equal(t, warningsDoc, want)
	codes := regexp.MustCompile("(?m)^### `([a-z-]+)`$").FindAllStringSubmatch(want, -1)
	if len(codes) != len(Checks()) {
		t.Fatalf("docs/reference/warnings.md has %d codes, Checks %d", len(codes), len(Checks()))
	}
}

// family is a section of the page.
type family struct {
	title  string
	checks []Check
}

func families() []family {
	return []family{
		{"The load's result", outcomeChecks()},
		{"Caches", cacheChecks()},
		{"Limits of the hardware", ceilingChecks()},
		{"The load generator", generatorChecks()},
		{"Contradictions", contradictionChecks()},
		{"Writes", writeChecks()},
		{"Steadiness", steadinessChecks()},
		{"Disturbance", disturbanceChecks()},
		{"Several targets", targetChecks()},
		{"The network", networkChecks()},
		{"The machine", machineChecks()},
		{"All repetitions together", acrossChecks()},
		{"Experiments", experimentChecks()},
		{"Stages", stageChecks()},
		{"Comparisons", comparisonChecks()},
		{"Imports", importChecks()},
	}
}

func warningsPage() string {
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(warningsPreface, "'", "`"))
	for _, f := range families() {
		var codes []string
		for _, c := range f.checks {
			codes = append(codes, fmt.Sprintf("[`%s`](#%s)", c.Code, c.Code))
		}
		fmt.Fprintf(&b, "- %s: %s\n", f.title, strings.Join(codes, ", "))
	}
	for _, f := range families() {
		fmt.Fprintf(&b, "\n## %s\n", f.title)
		for _, c := range f.checks {
			fmt.Fprintf(&b, "\n### `%s`\n%s. %s.\n\n- When: %s%s.\n- Do: %s.\n", c.Code, c.Title, affects(c), c.When,
				source(c), c.Do)
		}
	}
	return b.String()
}

// affects is the weight of a check, and what it weighs on; a note affects nothing.
func affects(c Check) string {
	weight := "*" + strings.ToUpper(string(c.Weight[:1])) + string(c.Weight[1:]) + "*"
	taints, isNothing := strings.CutPrefix(c.Taints, "nothing")
	if isNothing {
		return weight + taints
	}
	return weight + " " + taints
}

// source is where a threshold comes from, but for those of headroom's own.
func source(c Check) string {
	if c.Source == "headroom's own" {
		return ""
	}
	return " (" + c.Source + ")"
}

func TestChecksAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Checks() {
		if seen[c.Code] {
			t.Errorf("%s is there twice", c.Code)
		}
		seen[c.Code] = true
		for name, text := range map[string]string{
			"title": c.Title, "when": c.When, "do": c.Do, "taints": c.Taints, "source": c.Source,
			"weight": string(c.Weight),
		} {
			if text == "" || strings.HasSuffix(text, ".") || strings.Contains(text, "%!") {
				t.Errorf("%s: %s is %q", c.Code, name, text)
			}
		}
		ways := 0
		for _, there := range []bool{c.Repetition != nil, c.Run != nil, c.By != ""} {
			if there {
				ways++
			}
		}
		if ways != 1 {
			t.Errorf("%s: looks at a repetition, or at a run, or comes from elsewhere: %d of them", c.Code, ways)
		}
	}
}

func TestPitfallsDoc(t *testing.T) {
	text, err := os.ReadFile(pitfallsDoc)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, c := range Checks() {
		codes = append(codes, c.Code)
	}
	row := regexp.MustCompile(`(?m)^\| (\d+) \|.*\| (warning|impossible|not checked|out of scope)\b(.*)\|$`)
	rows := row.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 70 {
		t.Fatalf("%d pitfalls, want all 70", len(rows))
	}
	dealt := 0
	for i, r := range rows {
		if r[1] != fmt.Sprint(i+1) {
			t.Errorf("pitfall %s stands at place %d", r[1], i+1)
		}
		if r[2] == "warning" || r[2] == "impossible" {
			dealt++
		}
		mentioned := regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(r[3], -1)
		if r[2] == "warning" && len(mentioned) == 0 {
			t.Errorf("pitfall %s is a warning without a code", r[1])
		}
		for _, m := range mentioned {
			if !slices.Contains(codes, m[1]) {
				t.Errorf("pitfall %s names the warning %s, which is not there", r[1], m[1])
			}
		}
	}
	if dealt < 30 {
		t.Errorf("%d pitfalls are warnings or impossible, want 30", dealt)
	}
	t.Logf("%d of %d pitfalls are warnings or impossible", dealt, len(rows))
}
