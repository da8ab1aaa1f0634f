package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/testing/golden"
)

// TestBuiltinSuitesDoc keeps the page of the built-in suites the same as their files.
func TestBuiltinSuitesDoc(t *testing.T) {
	c := suitesCommand{app.New(app.Environment{Stdout: io.Discard, Stderr: io.Discard,
		Env: func(string) string { return "" }})}
	var list, sections strings.Builder
	for _, name := range suite.Builtin() {
		row, err := c.row(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := suite.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&list, "| [`%s`](#%s) | %s | %d | %d | %s | %s |\n", name, name, row.Place, row.Cells,
			row.Repetitions, duration(row.Seconds), row.Title)
		fmt.Fprintf(&sections, "\n## `%s`\n\n%s. Source: %s.\n\n| job | what it does |\n| --- | --- |\n", name,
			row.Title,
			cmp.Or(tableText(strings.TrimSuffix(s.Source, ".")), "headroom's own"))
		for _, j := range s.Jobs {
			fmt.Fprintf(&sections, "| `%s` | %s |\n", j.Name, tableText(j.Title))
		}
	}
	golden.Equal(t, "../../docs/reference/builtin-suites.md", `# Built-in suites

`+"`headroom suites show NAME`"+` prints the command lines of a suite, and `+"`--file`"+` its file.
[Suites](suites.md) describes the format. A cell is a job with one set of parameters.

This page is written from the files in internal/suite/files.

| suite | on | cells | repetitions | takes | what it does |
| --- | --- | --- | --- | --- | --- |
`+list.String()+sections.String())
}
