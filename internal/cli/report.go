package cli

import (
	"bytes"
	"io"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
)

func (p *program) reportCommand() *cobra.Command {
	var output, asked string
	var cells bool
	var o report.Options
	c := &cobra.Command{
		Use:   "report RUN...",
		Short: "Write a run as a self-contained HTML page, or print its table",
		Long: `Writes a run as one HTML page that needs no other file, to open, print or mail. The suffix of the file selects
another format: .md, .csv, .json, .txt or .prom. On a terminal, without -o, it prints the table of headroom show;
--warnings adds all warnings in full. Serial numbers are left out unless --serials is given.

Of an experiment with several arms, like a sweep, a ladder or a live comparison, pages, Markdown and tables have the
result as its command shows it; --cells writes each load in each arm instead. CSV and JSON always have the loads.`,
		Example: `  headroom report last -o page.html
  headroom report 7KQ4 --output page.html --serials
  headroom report last --warnings`,
		Args:              argumentCount(1, unlimited, "one run or more"),
		ValidArgsFunction: p.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			flag, named := results.JSONTyped(p.App.JSON)
			format, err := results.FormatFor(output, flag, named, "html", results.ReportFormats())
			if asked != "" {
				format, err = results.ChosenFormat(output, asked, p.App.JSON, results.ReportFormats())
			}
			if err != nil {
				return err
			}
			if !p.App.JSON && asked == "" && (o.Warnings || output == "" && app.Columns(p.App.Stdout) > 0) {
				format, o.Names = "table", true // a page is for a browser
			}
			bundles, err := results.FindAll(p.App, args)
			if err != nil {
				return err
			}
			return p.writeTo(output, format, presenter(cells), bundles, o)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "file to write (default: standard output)")
	p.formatFlag(c, &asked, results.ReportFormats())
	cellsFlag(c, &cells)
	c.Flags().BoolVar(&o.Serials, "serials", false, "show serial numbers")
	c.Flags().BoolVar(&o.NoFacts, "no-facts", false, "leave the facts of the machine out")
	warningsFlag(c, &o.Warnings)
	p.jsonFlag(c)
	c.MarkFlagsMutuallyExclusive("warnings", "output")
	c.MarkFlagsMutuallyExclusive("warnings", "json")
	return c
}

// writer is WriteRuns or WriteForPeople.
type writer func(p *app.App, format string, bundles []*store.Bundle, w io.Writer, o report.Options) error

// presenter is WriteForPeople, unless the cells were asked for.
func presenter(cells bool) writer {
	if cells {
		return results.WriteRuns
	}
	return results.WriteForPeople
}

func cellsFlag(c *cobra.Command, cells *bool) {
	c.Flags().BoolVar(cells, "cells", false, "for an experiment with several arms, show each load in each arm")
}

func warningsFlag(c *cobra.Command, warnings *bool) {
	c.Flags().BoolVar(warnings, "warnings", false, "print all warnings in full below the table")
}

func rawCellsFlag(c *cobra.Command, raw *bool) {
	c.Flags().BoolVar(raw, "raw-cells", false,
		"in csv and sheet, don't put an apostrophe before texts that a spreadsheet would run as a formula")
}

// writeTo writes runs to a file, which appears whole or not at all, or to standard output.
func (p *program) writeTo(output, format string, write writer, bundles []*store.Bundle, o report.Options) error {
	if app.OwnOutput(output) && format == "html" && app.Columns(p.App.Stdout) > 0 {
		return app.Usage("a page is not for a terminal", "name a file: -o page.html")
	}
	return writeAtomically(p, output, func(w io.Writer) error { return write(p.App, format, bundles, w, o) })
}

// writeAtomically writes to a file, which appears whole or not at all, or to standard output.
func writeAtomically(p *program, output string, write func(io.Writer) error) error {
	if app.OwnOutput(output) {
		return write(p.App.Stdout)
	}
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	return results.WriteFile(p.App, output, page.Bytes())
}
