package catalogue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/golden"
)

const factsDoc = "../../../docs/reference/facts.md"

// TestFactsDoc keeps the page of all facts the same as the catalogue.
func TestFactsDoc(t *testing.T) {
	want := factsPage()
	golden.Equal(t, factsDoc, want)
}

func factsPage() string {
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(factsPreface, "'", "`"))
	for _, d := range All() {
		fmt.Fprintf(&b, "| `%s` | %s%s |\n", d.Key, d.Text, valueWords(d))
	}
	b.WriteString("\n## Things\n\n| class | what it is, and its name |\n| --- | --- |\n")
	seen := map[string]bool{}
	for _, d := range All() {
		class := ClassOf(d.Key)
		if class == "" || seen[class] {
			continue
		}
		seen[class] = true
		fmt.Fprintf(&b, "| `%s` | %s |\n", class, Classes()[class])
	}
	return b.String()
}

// valueWords is how a value is written, but for plain text, and how the fact is marked.
func valueWords(d Definition) string {
	var words []string
	written := string(d.Unit)
	if written == "" {
		written = map[Kind]string{Whole: "whole", Fraction: "fraction", Flag: "flag", List: "list"}[d.Kind]
	}
	mark := map[Mark]string{Moving: "moving", Identity: "hidden", Address: "hidden", Name: "hidden",
		Computed: "computed"}[d.Mark]
	for _, w := range []string{written, mark} {
		if w != "" {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " *(" + strings.Join(words, ", ") + ")*"
}

// factsPreface has ' for the backticks that a raw string can't hold.
const factsPreface = `# Facts

What headroom knows of a machine, by key. 'headroom facts' prints the values, '--sources' where each was read, '--json'
everything. Reading changes nothing and needs no root; what only root can read is *unknown*, with the reason.

'headroom facts diff A B' compares two of these: a target ('local', 'ssh://host'), a saved run ('RUN:ROLE' for one of
its targets), a snapshot ('headroom facts --json > FILE'), a kernel configuration, [files or pasted
text](../howto/doctor.md#a-machine-that-is-not-here) of a machine, or '-' for standard input. Two that have no fact in
common are an error. '-o FILE' writes HTML, Markdown, CSV or JSON, by its
suffix.

- A fact of one thing among several names it: 'disk.queue.scheduler' of 'nvme0n1'. The disk that a run measures has keys
  of its own, 'disk.under-test.queue.scheduler', and so have the devices above it, 'volume.under-test.queue.scheduler'
  and 'volume.under-test.2.…': runs compare whatever their disks are called.
- Behind a text stands how its value is written: a unit; *whole* or *fraction*, a number without one; *flag*, on or off;
  *list*, words separated by a comma and a space, or "none". Without any, it is text.
- *Moving* facts change by themselves and are never a difference; counters count since boot. *Hidden* ones name a
  device, an address, a host or a person: pages, Markdown and '--redact' show a short hash. *Computed* ones follow from
  others.

| fact | what it is |
| --- | --- |
`
