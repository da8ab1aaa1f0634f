package runs

import (
	"encoding/json"
	"io"

	"headroom/internal/report"
	"headroom/internal/summary"
)

// writeJSON writes one run as the published document and several as an array of such documents.
func writeJSON(w io.Writer, runs []summary.Run, _ report.Options) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // "<" stays readable; the document is never put into a page
	encoder.SetIndent("", " ")
	if len(runs) == 1 {
		return encoder.Encode(runs[0])
	}
	return encoder.Encode(append([]summary.Run{}, runs...))
}
