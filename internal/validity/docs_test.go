package validity

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"headroom/internal/golden"
)

const (
	warningsDoc = "../../docs/reference/warnings.md"
	pitfallsDoc = "../../docs/reference/pitfalls.md"
)

// docs/reference/warnings.md is written from Checks, so that its thresholds are those of the code.
func TestWarningsDoc(t *testing.T) {
	want := warningsPage(Checks())
	golden.Equal(t, warningsDoc, want)
	codes := regexp.MustCompile("(?m)^## `([a-z-]+)`$").FindAllStringSubmatch(want, -1)
	if len(codes) != len(Checks()) {
		t.Fatalf("docs/reference/warnings.md has %d codes, Checks %d", len(codes), len(Checks()))
	}
}

func warningsPage(checks []Check) string {
	var b strings.Builder
	b.WriteString(`# Warnings

A warning is a reason to distrust a number. It stands beside the number that it taints, in every output, and says what was
seen and what to do; a table on the terminal has a line for the three that matter most, and names the others (--warnings prints all). Its code is stable: scripts may test for it. A check that lacks its evidence (an import has no
counters of the machine) says nothing; no warning is no proof that all is well.

Each has a weight:

| weight | what it means for the numbers that it taints | in a comparison |
| --- | --- | --- |
| spoils | they are not what they are called | incomparable |
| slows | they are what the load did, and could only have been better without it | incomparable where that could turn the verdict, else a caveat |
| moves | the same, but they could have been better or worse | the same |
| widens | they differ from one repetition to the next | nothing: the interval tells it |
| note | nothing; it is worth knowing | nothing |

How far a warning that slows or moves can have moved a number stands in the JSON as most_error, where it can be computed. What both sides of a comparison have to an
unknown extent is a caveat.

This page is written from the list of checks in internal/validity/checks.go.

`)
	b.WriteString("| code | what it means |\n| --- | --- |\n")
	for _, c := range checks {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", c.Code, c.Code, c.Title)
	}
	for _, c := range checks {
		about := "each repetition"
		if c.Run != nil {
			about = "all repetitions of a run together"
		}
		if c.By != "" {
			about = map[string]string{
				"run": "the run before it starts", "runner": "what happens while a load is carried out",
				"import":  "the files imported",
				"report":  "the facts beside the numbers, whenever a report is made",
				"compare": "two runs beside each other",
				"stages":  "the stages of a run beside each other, and a published table beside them (headroom stages)",
				"nfs":     "the paths of a mount, before its loads and after",
			}[c.By]
		}
		fmt.Fprintf(&b, "\n## `%s`\n%s.\n\n- Fires when: %s.\n- What to do: %s.\n- Taints: %s.\n- Weight: %s.\n- "+
			"Looks at: %s.\n- Source: %s.\n",
			c.Code, c.Title, c.When, c.Do, c.Taints, c.Weight, about, c.Source)
	}
	return b.String()
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
