package compared

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
)

// A comparison prints three warnings in a line each, those of most rows first; rows have their signs and the number of
// further ones.
func TestCompareHasFewWarnings(t *testing.T) {
	d := comparison(t)
	d.New = d.New[:1]
	for i := range d.Cells {
		c := &d.Cells[i]
		add := func(code string) {
			c.Reasons = append(c.Reasons,
				compare.Reason{Code: "warning", Text: code + " on both sides: so it is; repeat",
					Items: []compare.Pair{{Name: code}}})
		}
		switch c.Job {
		case "busy":
			add("cpu-steal")
			add("drifting")
		case "cached":
			add("cpu-steal")
		}
	}
	for _, width := range []int{80, 120, 200} {
		text := writtenComparison(t, d, "table", report.Options{Options: render.Options{Width: width}})
		lines := regexp.MustCompile(`(?m)^(!\d [a-z-]+|[a-z-]+-unknown|one-boot)\b`).FindAllString(text, -1)
		if want := []string{"!1 cpu-steal", "!2 the", "!3 page-cache"}; !slices.Equal(lines, want) {
			t.Errorf("at width %d it has %q, want %q", width, lines, want)
		}
		whole := strings.ReplaceAll(text, " \\\n  ", " ") // commands to type, in one line
		for _, want := range []string{"(?m)^busy .* !1 \\+2 *$", "(?m)^cached .* !1 !3 *$", "(?m)^seqread-1m .* !2 *$",
			"(?m)^4 more warnings.*: headroom compare DEBIANDEBI TALOSTALOS --warnings$",
			"headroom explain cpu-steal"} {
			if !regexp.MustCompile(want).MatchString(whole) {
				t.Errorf("at width %d nothing matches %s in\n%s", width, want, text)
			}
		}
		full := strings.Join(strings.Fields(writtenComparison(t, d, "table",
			report.Options{Options: render.Options{Width: width, Warnings: true}})),
			" ")
		for _, want := range []string{
			"other-load: on the new side: 1.20 GiB passed through nvme0n1 beside the 4.50 GiB",
			"drifting: on both sides: so it is", "one-boot: ", "twice at least on each side"} {
			if !strings.Contains(full, want) {
				t.Errorf("with all warnings it lacks %q at width %d", want, width)
			}
		}
	}
}

// The warning that a run is compared with itself is printed with the answer, and is one of the three.
func TestCompareWithItselfSaysSoFirst(t *testing.T) {
	d := comparison(t)
	d.New = d.New[:1]
	d.Warnings = append(d.Warnings, compare.RunWarning{Run: d.New[0].ID, Code: sameRun,
		Text: "talos is the base itself"})
	text := writtenComparison(t, d, "table", report.Options{Options: render.Options{Width: 100}})
	if !strings.Contains(text, "\nsame-run: talos is the base itself\n\njob ") || strings.Contains(text, "\n!3 ") {
		t.Error(text)
	}
}
