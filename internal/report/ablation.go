package report

import (
	"fmt"
	"io"

	"headroom/internal/ablation"
)

// AblationFormat is one way to write an ablation down.
type AblationFormat struct {
	Name      string
	Title     string
	Extension string

	write func(io.Writer, ablation.Document, Options) error
}

// AblationFormats in the order in which help lists them. JSON is the document itself.
func AblationFormats() []AblationFormat {
	return []AblationFormat{
		{Name: "table", Title: "a table for the terminal", Extension: ".txt", write: WriteAblation},
		{Name: "html", Title: "one self-contained page", Extension: ".html", write: writeAblationPage},
		{Name: "markdown", Title: "tables for a pull request or a wiki", Extension: ".md",
			write: writeAblationMarkdown},
		{Name: "csv", Title: "one line a ratio", Extension: ".csv", write: writeAblationCSV},
	}
}

// Write writes the ablation in the format.
func (f AblationFormat) Write(w io.Writer, d ablation.Document, o Options) error {
	if err := f.write(w, d, o); err != nil {
		return fmt.Errorf("writing the ablation as %s: %w", f.Name, err)
	}
	return nil
}
