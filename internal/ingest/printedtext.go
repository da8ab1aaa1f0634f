package ingest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/headroom/headroom/internal/lab"
)

// printedTexts returns the importers of tools' output for people.
func printedTexts() (importers []Importer) {
	for _, kind := range printedKinds() {
		format := sync.OnceValue(kind.Format) // the patterns are compiled when they are used
		importers = append(importers, Importer{Name: kind.Name, Title: kind.Title, Units: kind.Units, text: true,
			Sniff: func(_ string, head []byte) bool { return format().Is(head) },
			read:  func(f file, d *runBuilder) error { return readPrinted(f, kind, format(), d) },
		})
	}
	return importers
}

func readPrinted(f file, kind printedKind, format *printedFormat, d *runBuilder) error {
	text, err := format.Read(string(f.data), f.before)
	if err != nil {
		return fmt.Errorf("%w (this is read as %s)", err, kind.Title)
	}
	var reasons []string
	given := map[string]bool{}
	for _, l := range text.Left {
		if !given[l.Reason] {
			reasons, given[l.Reason] = append(reasons, fmt.Sprintf("line %d: %s", l.Line, l.Reason)), true
		}
	}
	if len(reasons) > 0 {
		d.warn(lab.Warning{Code: "import-left-out", Text: fmt.Sprintf("%s left out of %s. %s",
			counted(len(text.Left), "line was", "lines were"), f.name, strings.Join(reasons, "; "))})
	}
	for _, r := range text.Results {
		m := measurement{job: r.Job, engine: format.Engine, params: r.Params, levels: r.Levels, place: r.Place,
			paramsComplete: r.Named, line: r.Line}
		if tool, _, _ := strings.Cut(kind.Name, "-"); tool != format.Engine { // it ran another tool
			m.facts = append(m.facts, lab.Fact{Key: "import.tool", Value: tool, Source: f.name})
		}
		for _, fact := range r.Facts {
			fact.Source = f.name
			m.facts = append(m.facts, fact)
		}
		m.repetition = lab.Repetition{Values: r.Values, Seconds: r.Seconds, Warnings: r.Warnings}
		if err := d.add(m); err != nil {
			return err
		}
	}
	for _, w := range text.Warnings {
		d.warn(w)
	}
	return nil
}
