package report

import (
	"fmt"
	"io"

	"headroom/internal/bisection"
)

// BisectionFormat is one way to write a search for culprits down.
type BisectionFormat struct {
	Name      string
	Title     string
	Extension string

	write func(io.Writer, bisection.Document, Options) error
}

// BisectionFormats in the order in which help lists them. JSON is the document itself.
func BisectionFormats() []BisectionFormat {
	return []BisectionFormat{
		{Name: "table", Title: "a table for the terminal", Extension: ".txt", write: WriteBisection},
		{Name: "html", Title: "one self-contained page", Extension: ".html", write: writeBisectionPage},
		{Name: "markdown", Title: "a table for a pull request or a wiki", Extension: ".md",
			write: writeBisectionMarkdown},
		{Name: "csv", Title: "one line a measurement", Extension: ".csv", write: writeBisectionCSV},
	}
}

// Write writes the search in the format.
func (f BisectionFormat) Write(w io.Writer, d bisection.Document, o Options) error {
	if err := f.write(w, d, o); err != nil {
		return fmt.Errorf("writing the search as %s: %w", f.Name, err)
	}
	return nil
}
