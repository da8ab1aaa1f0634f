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

// reportCommand writes runs as a page, or in another format for people.
type reportCommand struct {
	app           *app.App
	output, asked string
	cells         bool
	o             report.Options
}

func newReportCommand(a *app.App) *cobra.Command {
	r := &reportCommand{app: a}
	c := &cobra.Command{
		Use: "report RUN...",
		Long: `Writes a run as one HTML page that needs no other file, to open, print or mail. The suffix of the file selects
another format: .md, .csv, .json, .txt or .prom. On a terminal, without -o, it prints the table of headroom show;
--warnings adds all warnings in full. Serial numbers are left out unless --serials is given.

Of an experiment with several arms, like a sweep, a ladder or a live comparison, pages, Markdown and tables have the
result as its command shows it; --cells writes each load in each arm instead. CSV and JSON always have the loads.`,
		Example: `  headroom report last -o page.html
  headroom report 7KQ4 --output page.html --serials
  headroom report last --warnings`,
		Args:              argumentCount(1, unlimited, "one run or more"),
		ValidArgsFunction: completion{a}.runs,
		RunE:              func(_ *cobra.Command, args []string) error { return r.write(args) },
	}
	f := flagsOf(a, c)
	f.StringVarP(&r.output, "output", "o", "", "file to write (default: standard output)")
	f.format(&r.asked, results.ReportFormats())
	cellsFlag(c, &r.cells)
	f.BoolVar(&r.o.Serials, "serials", false, "show serial numbers")
	f.BoolVar(&r.o.NoFacts, "no-facts", false, "leave the facts of the machine out")
	warningsFlag(c, &r.o.Warnings)
	f.json()
	c.MarkFlagsMutuallyExclusive("warnings", "output")
	c.MarkFlagsMutuallyExclusive("warnings", "json")
	return c
}

func (r *reportCommand) write(runs []string) error {
	flag, named := results.JSONTyped(r.app.JSON)
	format, err := results.FormatFor(r.output, flag, named, "html", results.ReportFormats())
	if r.asked != "" {
		format, err = results.ChosenFormat(r.output, r.asked, r.app.JSON, results.ReportFormats())
	}
	if err != nil {
		return err
	}
	onTerminal := r.output == "" && app.Columns(r.app.Stdout) > 0
	if !r.app.JSON && r.asked == "" && (r.o.Warnings || onTerminal) {
		format, r.o.Names = "table", true // a page is for a browser
	}
	bundles, err := results.FindAll(r.app, runs)
	if err != nil {
		return err
	}
	return writeTo(r.app, r.output, format, presenter(r.cells), bundles, r.o)
}

// writer is the type of WriteRuns and WriteForPeople.
type writer func(p *app.App, format string, bundles []*store.Bundle, w io.Writer, o report.Options) error

// presenter returns WriteForPeople, or WriteRuns if the cells are requested.
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

// writeTo writes runs to standard output or to a file, which appears in full or not at all.
func writeTo(a *app.App, output, format string, write writer, bundles []*store.Bundle, o report.Options) error {
	if app.OwnOutput(output) {
		if format == "html" && app.Columns(a.Stdout) > 0 {
			return app.Usage("a page is not for a terminal", "name a file: -o page.html")
		}
		return write(a, format, bundles, a.Stdout, o)
	}
	var page bytes.Buffer
	if err := write(a, format, bundles, &page, o); err != nil {
		return err
	}
	return results.WriteFile(a, output, page.Bytes())
}
