// Package render writes documents: for a terminal, as a page, as Markdown and as comma-separated values. Its writers
// know the blocks of a document, not the kinds of results.
package render

import (
	"io"

	"github.com/headroom/headroom/internal/document"
)

// Options of a writer. The zero value writes for a terminal of 80 columns, without colour.
type Options struct {
	// Width of the terminal in columns; 0 is 80.
	Width int
	// Warnings prints all warnings in full below a table for a terminal, rather than the most important ones briefly.
	Warnings bool
	// Colour returns an escape sequence in the form that the output needs; nil for no colours. Colours only repeat what
	// the text says.
	Colour func(sequence string) string
	// NoHeader omits the line of titles in csv and sheet, to paste rows below others.
	NoHeader bool
	// DecimalComma writes 1,5 rather than 1.5 in csv and sheet, with semicolons between the fields, as a spreadsheet
	// with a German, Russian or Italian locale expects.
	DecimalComma bool
	// RawCells leaves texts for spreadsheets unchanged, even those that a spreadsheet takes for formulas.
	RawCells bool
}

// Format is an output format.
type Format struct {
	// Name is what the user types, and Extension the file extension, with its dot. Title is a line for help.
	Name, Extension, Title string
	// Write writes a document.
	Write func(io.Writer, document.Document, Options) error
}

// Formats returns the formats in the order in which help lists them.
func Formats() []Format {
	return []Format{
		{"table", ".txt", "a table for the terminal", Text},
		{"html", ".html", "one self-contained page, to look at, print or mail", Page},
		{"markdown", ".md", "tables for a pull request or a wiki", Markdown},
		{"csv", ".csv", "one line a value, for statistics and plots", CSV},
	}
}
