package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"headroom/internal/report"
	"headroom/internal/stages"
	"headroom/internal/store"
	"headroom/internal/visible"
)

// write writes runs in a format that report knows.
func writeRuns(p *program, format string, bundles []*store.Bundle, w io.Writer, o report.Options) error {
	formats := report.Formats()
	i := slices.IndexFunc(formats, func(f report.Format) bool { return f.Name == format })
	if i < 0 {
		return usage(fmt.Sprintf("there is no format %q", format),
			"the formats are "+strings.Join(formatNames(exportFormats()), ", "))
	}
	o, err := reportOptions(p, w, o)
	if err != nil {
		return err
	}
	var summaries []report.Summary
	for _, b := range bundles {
		s, err := report.Summarize(b.Run, b.Repetitions())
		if err != nil {
			return err
		}
		if err := findOutliers(p, b, &s, o.Serials); err != nil {
			return err
		}
		summaries = append(summaries, s)
	}
	if format == "table" {
		w = p.naming.writer(w)
	}
	if o.Stages == nil && (format == "html" || format == "markdown") {
		if o.Stages, err = stagesOf(p, bundles); err != nil {
			return err
		}
	}
	return formats[i].Write(w, summaries, o)
}

// stagesOf are the stages of runs that have some, beside each other.
func stagesOf(p *program, bundles []*store.Bundle) (map[string]*stages.Document, error) {
	all := map[string]*stages.Document{}
	for _, b := range bundles {
		if len(stageNames(b.Run)) == 0 {
			continue
		}
		d, _, err := stagesDocument(p, b, stagesOptions{})
		if err != nil {
			return nil, err
		}
		all[b.Run.ID] = &d
	}
	return all, nil
}

// present writes runs for people. A run with several arms is shown as the experiment that it was, where one reads it by
// itself; beside others on a page, and for programs, it has the cells of all arms.
func writeForPeople(p *program, format string, bundles []*store.Bundle, w io.Writer, o report.Options) error {
	alone := format == "table" || len(bundles) == 1 && (format == "html" || format == "markdown")
	if !alone || !slices.ContainsFunc(bundles, isExperiment) {
		return writeRuns(p, format, bundles, w, o)
	}
	for i, b := range bundles {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if !isExperiment(b) {
			if err := writeRuns(p, format, []*store.Bundle{b}, w, o); err != nil {
				return err
			}
			continue
		}
		options, err := reportOptions(p, w, o)
		if err != nil {
			return err
		}
		if err := writeExperiment(p, b, format, w, options); err != nil {
			return err
		}
	}
	return nil
}

func isExperiment(b *store.Bundle) bool { return b.Run.Experiment != nil }

// reportOptions are options with what the terminal and the store add to them; w is where the report goes.
func reportOptions(p *program, w io.Writer, o report.Options) (report.Options, error) {
	s, err := p.openStore()
	if err != nil {
		return o, err
	}
	o.Width, o.Colour, o.ShortID = columns(p.Stdout), p.colour(w), s.ShortID
	return o, nil
}

func findAll(p *program, refs []string) ([]*store.Bundle, error) {
	s, err := p.openStore()
	if err != nil {
		return nil, err
	}
	var bundles []*store.Bundle
	var errs []error
	for _, ref := range refs {
		found, err := s.FindAll(ref)
		bundles, errs = append(bundles, found...), append(errs, err)
	}
	return bundles, errors.Join(errs...)
}

func (p *program) reportCommand() *cobra.Command {
	var output, asked string
	var cells bool
	var o report.Options
	c := &cobra.Command{
		Use:   "report RUN...",
		Short: "Write a run as one self-contained page, or print its table",
		Long: `Writes a run as one HTML page that needs nothing else: it can be opened, printed and mailed.
A file that ends in .md, .csv, .json, .txt or .prom gets that format. On a terminal, without -o, it prints the
table of headroom show; --warnings prints that with all warnings in full. Serial numbers are left out unless
asked for. A sweep or an ablation is written as what it has found; --cells has each load in each arm.`,
		Example: `  headroom report last -o page.html
  headroom report 7KQ4 --output page.html --serials
  headroom report last --warnings`,
		Args:              argumentCount(1, unlimited, "one run or more"),
		ValidArgsFunction: p.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			flag, named := jsonTyped(p.json)
			format, err := formatFor(output, flag, named, "html", reportFormats())
			if asked != "" {
				format, err = chosenFormat(output, asked, p.json, reportFormats())
			}
			if err != nil {
				return err
			}
			if !p.json && asked == "" && (o.Warnings || output == "" && columns(p.Stdout) > 0) {
				format, o.Names = "table", true // a page is for a browser
			}
			bundles, err := findAll(p, args)
			if err != nil {
				return err
			}
			return p.writeTo(output, format, presenter(cells), bundles, o)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "file to write (default: standard output)")
	formatFlag(c, &asked, reportFormats())
	cellsFlag(c, &cells)
	c.Flags().BoolVar(&o.Serials, "serials", false, "show serial numbers")
	c.Flags().BoolVar(&o.NoFacts, "no-facts", false, "leave the facts of the machine out")
	warningsFlag(c, &o.Warnings)
	p.jsonFlag(c)
	c.MarkFlagsMutuallyExclusive("warnings", "output")
	c.MarkFlagsMutuallyExclusive("warnings", "json")
	return c
}

// writer is writeRuns or writeForPeople.
type writer func(p *program, format string, bundles []*store.Bundle, w io.Writer, o report.Options) error

// presenter is writeForPeople, unless the cells were asked for.
func presenter(cells bool) writer {
	if cells {
		return writeRuns
	}
	return writeForPeople
}

func cellsFlag(c *cobra.Command, cells *bool) {
	c.Flags().BoolVar(cells, "cells", false, "of a sweep or an ablation, show each load in each arm")
}

func warningsFlag(c *cobra.Command, warnings *bool) {
	c.Flags().BoolVar(warnings, "warnings", false, "below a table, print all warnings in full")
}

func rawCellsFlag(c *cobra.Command, raw *bool) {
	c.Flags().BoolVar(raw, "raw-cells", false,
		"in csv and sheet, texts as they are: not '=x where a spreadsheet would take =x for a formula")
}

// writeTo writes runs to a file, which appears whole or not at all, or to standard output.
func (p *program) writeTo(output, format string, write writer, bundles []*store.Bundle, o report.Options) error {
	if ownOutput(output) && format == "html" && columns(p.Stdout) > 0 {
		return usage("a page is not for a terminal", "name a file: -o page.html")
	}
	return writeAtomically(p, output, func(w io.Writer) error { return write(p, format, bundles, w, o) })
}

// writeAtomically writes to a file, which appears whole or not at all, or to standard output.
func writeAtomically(p *program, output string, write func(io.Writer) error) error {
	if ownOutput(output) {
		return write(p.Stdout)
	}
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	return writeFile(p, output, page.Bytes())
}

// writeFile writes a text.
func writeFile(p *program, output string, data []byte) error {
	shown := visible.Text(string(data)) // some day somebody shows the file on a terminal
	return p.writeOutput(context.Background(), output, func(w io.Writer) error {
		_, err := io.WriteString(w, shown)
		return err
	})
}
