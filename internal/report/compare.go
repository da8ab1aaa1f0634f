package report

import (
	"fmt"
	"io"

	"headroom/internal/compare"
)

// CompareFormat is one way to write a comparison down.
type CompareFormat struct {
	Name      string
	Title     string
	Extension string

	write func(io.Writer, *compare.Document, Options) error
}

// CompareFormats in the order in which help lists them. JSON is the document itself.
func CompareFormats() []CompareFormat {
	return []CompareFormat{
		{Name: "table", Title: "a table for the terminal", Extension: ".txt", write: writeCompareTable},
		{Name: "html", Title: "one self-contained page", Extension: ".html", write: writeComparePage},
		{Name: "markdown", Title: "tables for a pull request or a wiki", Extension: ".md", write: writeCompareMarkdown},
		{Name: "csv", Title: "one line a number", Extension: ".csv", write: writeCompareCSV},
	}
}

// Write writes the comparison in the format.
func (f CompareFormat) Write(w io.Writer, d compare.Document, o Options) error {
	if err := f.write(w, &d, o); err != nil {
		return fmt.Errorf("writing the comparison as %s: %w", f.Name, err)
	}
	return nil
}
