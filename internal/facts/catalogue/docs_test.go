package catalogue

import (
	"fmt"
	"strings"
	"testing"

	"headroom/internal/golden"
)

const factsDoc = "../../../docs/reference/facts.md"

// TestFactsDoc keeps the page of all facts the same as the catalogue.
func TestFactsDoc(t *testing.T) {
	want := factsPage()
	golden.Equal(t, factsDoc, want)
}

func factsPage() string {
	var b strings.Builder
	b.WriteString(`# Facts

What headroom knows of a machine, by key. ` + "`headroom facts`" + ` shows them with their values, ` + "`--sources`" + ` where each was read,
` + "`--json`" + ` everything. Nothing is changed to read them, any user may; what stays closed is *unknown*, with the reason, never blank.

They are read from this machine, or come from a saved run (of several targets, from one by its role: ` + "`RUN:ROLE`" + `), from a file or from standard input (` + "`-`" + `): a snapshot
(` + "`headroom facts --json > FILE`" + `), a kernel's configuration, the output of ` + "`sysctl -a`" + `. ` + "`headroom facts diff A B`" + ` compares any two of them;
two that know nothing in common, such as a configuration and a sysctl dump, are an error and not "no difference".
` + "`-o FILE.html`" + `, ` + "`.md`" + `, ` + "`.csv`" + ` or ` + "`.json`" + ` writes the differences into a file as well; the CSV has all of them.

- A fact about one thing of several says which: ` + "`disk.queue.scheduler`" + ` *about* ` + "`nvme0n1`" + `. The place that a run measures has keys of
  its own, ` + "`disk.under-test.queue.scheduler`" + `, so that two runs compare whatever their disks are called.
- Kinds: text; whole and fraction are numbers in the unit named; flag is on or off; a list has a comma and a
  space between its words and is "none" when it is empty.
- *Moving* facts change by themselves and are never a difference. *Hidden* ones name a device, an address, a host or a person, and
  are replaced by a short hash in pages, Markdown and with ` + "`--redact`" + `. *Computed* ones follow from others.

This page is written from the catalogue in internal/facts/catalogue.

| fact | kind | unit | what it is | |
| --- | --- | --- | --- | --- |
`)
	kinds := map[Kind]string{Text: "text", Whole: "whole", Fraction: "fraction", Flag: "flag", List: "list"}
	marks := map[Mark]string{Moving: "moving", Identity: "hidden", Address: "hidden", Name: "hidden",
		Computed: "computed"}
	for _, d := range All() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", d.Key, kinds[d.Kind], d.Unit, d.Text, marks[d.Mark])
	}
	b.WriteString("\n## Things\n\n| class | what it is, and what it is called |\n| --- | --- |\n")
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
