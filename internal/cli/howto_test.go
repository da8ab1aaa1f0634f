package cli

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/testing/golden"
)

// howto is a page of docs whose commands are carried out in their order. What each prints stands below it.
type howto struct {
	page string
	// run carries a command line out and gives what it prints.
	run func(t *testing.T, line string) string
	// exact says that what is printed is the same each time.
	exact bool
	// all carries out also what no output is shown of, such as what makes a place to measure.
	all bool
}

// commandBlock is a command line of a page, and what it printed.
var commandBlock = regexp.MustCompile("(?s)```sh\n([^\n]*)\n```\n(?:\n```text\n(.*?)```)?")

// summaryLine says how many commands a page has, and how long they took.
var summaryLine = regexp.MustCompile(`(?m)^\d+ commands?, .* in all\.$`)

// excerpt takes from what was printed the lines that a page shows. Lines "…" stand for what it leaves out. The first
// part begins where the output does, each other one at the next line with the same first two words; all keep their
// number of lines.
func excerpt(t *testing.T, shown, printed string) string {
	t.Helper()
	words := func(line string) string { return strings.Join(strings.Fields(line + " . .")[:2], " ") }
	var b strings.Builder
	left := strings.SplitAfter(printed, "\n")
	for i, part := range strings.Split(shown, "…\n") {
		if i > 0 {
			b.WriteString("…\n")
		}
		first, _, _ := strings.Cut(part, "\n")
		for i > 0 && part != "" && len(left) > 0 && words(left[0]) != words(first) {
			left = left[1:]
		}
		n := strings.Count(part, "\n")
		if n > len(left) {
			t.Errorf("there is no %q in\n%s", part, printed)
			return shown
		}
		b.WriteString(strings.Join(left[:n], ""))
		left = left[n:]
	}
	return b.String()
}

// follow carries out the commands of the page. UPDATE_GOLDEN=1 writes what they print into it; else what always is the
// same must stand there.
func (h howto) follow(t *testing.T) (printed []string) {
	t.Helper()
	text, err := os.ReadFile(h.page)
	if err != nil {
		t.Fatal(err)
	}
	began, page := time.Now(), string(text)
	for _, m := range commandBlock.FindAllStringSubmatch(page, -1) {
		if m[2] == "" && !h.all {
			continue
		}
		got := h.run(t, m[1])
		if t.Failed() {
			return nil
		}
		printed = append(printed, got)
		if strings.Contains(m[2], "…\n") && (h.exact || golden.Update()) {
			got = excerpt(t, m[2], got)
		}
		switch {
		case m[2] == "":
		case golden.Update():
			page = strings.Replace(page, m[0], "```sh\n"+m[1]+"\n```\n\n```text\n"+got+"```", 1)
		case h.exact && got != m[2]:
			t.Errorf("%s: %s prints\n%s\nand not\n%s\nUPDATE_GOLDEN=1 writes it again", h.page, m[1], got, m[2])
		}
	}
	if len(printed) == 0 || !summaryLine.MatchString(page) {
		t.Fatalf("%s: %d commands, and a line with their time: %v", h.page, len(printed), summaryLine.MatchString(page))
	}
	if !golden.Update() {
		return printed
	}
	took := time.Since(began).Round(time.Second).String()
	if time.Since(began) < 10*time.Second {
		took = "less than ten seconds"
	}
	page = summaryLine.ReplaceAllString(page, fmt.Sprintf("%s, %s in all.", prose.Count(len(printed), "command"), took))
	if err := os.WriteFile(h.page, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	return printed
}

// The commands about what the reports themselves published print what stands below them.
func TestHowTosOfReports(t *testing.T) {
	t.Chdir("../..")
	for _, name := range []string{"nfs-report", "slow-system", "all-ports"} {
		store := t.TempDir()
		howto{page: "docs/howto/" + name + ".md", exact: true, run: func(t *testing.T, line string) string {
			return regexp.MustCompile(`(--show )[0-9A-Z]{4,}`).ReplaceAllString(printedBy(t, store, line), "${1}8JT9")
		}}.follow(t)
	}
}
