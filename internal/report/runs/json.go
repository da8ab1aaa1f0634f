package runs

import (
	"encoding/json"
	"io"

	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// writeJSON writes the published documents of runs.
func writeJSON(w io.Writer, runs []summary.Run, _ report.Options) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // "<" stays readable; the document is never put into a page
	encoder.SetIndent("", " ")
	return encoder.Encode(Published(runs))
}

// Published returns the document of one run, or an array of the documents of several.
func Published(runs []summary.Run) any {
	if len(runs) == 1 {
		return runs[0]
	}
	return append([]summary.Run{}, runs...)
}
