package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/runs"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
)

func (p *program) exportCommand() *cobra.Command {
	var format, output string
	var o report.Options
	c := &cobra.Command{
		Use:   "export RUN...",
		Short: "Write runs for other programs: csv, sheet, json, markdown, openmetrics, or the whole run",
		Long: `Writes runs in a format for other programs. Without --format, the suffix of the file decides: -o values.csv.

` + formatHelp() + `
headroom import reads a run that was exported with --format run: with --serials it is unchanged; without, serial
numbers, addresses, host and user names are hidden, also in the raw output of load generators.`,
		Example: `  headroom export last --format csv > values.csv
  headroom export last -o values.csv
  headroom export 7KQ4 --format sheet --decimal-comma
  headroom export last --format openmetrics -o /var/lib/node_exporter/headroom.prom
  headroom export 7KQ4 --format run -o for-a-colleague.headroom`,
		Args:              argumentCount(1, unlimited, "one run or more"),
		ValidArgsFunction: p.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			flag := ""
			if c.Flags().Changed("format") {
				flag = "--format " + format
			}
			format, err := results.FormatFor(output, flag, format, "json", results.ExportFormats())
			if err != nil {
				return err
			}
			bundles, err := results.FindAll(p.App, args)
			if err != nil {
				return err
			}
			if format == "run" {
				return p.exportRun(c.Context(), bundles, output, o.Serials)
			}
			return p.writeTo(output, format, results.WriteForPeople, bundles, o)
		},
	}
	f := c.Flags()
	f.StringVar(&format, "format", "json",
		strings.Join(results.FormatNames(results.ExportFormats()), ", ")+"; without it the suffix "+
			"of --output decides")
	f.StringVarP(&output, "output", "o", "", "file to write (default: standard output)")
	f.BoolVar(&o.DecimalComma, "decimal-comma", false, "write 1,5 and semicolons in csv and sheet")
	rawCellsFlag(c, &o.RawCells)
	f.BoolVar(&o.NoHeader, "no-header", false, "leave out the header line of csv and sheet")
	f.BoolVar(&o.Serials, "serials", false, "show serial numbers, addresses, host and user names")
	return c
}

func formatHelp() string {
	var b strings.Builder
	for _, f := range runs.Formats() {
		fmt.Fprintf(&b, "  %-12s %s\n", f.Name, f.Title)
	}
	fmt.Fprintf(&b, "  %-12s %s\n", "run", "everything, raw output included, as one file")
	return b.String()
}

func (p *program) exportRun(ctx context.Context, bundles []*store.Bundle, output string, serials bool) error {
	if len(bundles) != 1 {
		return app.Usage("one run a file with --format run")
	}
	if b := bundles[0]; b.Arm() != "" {
		return app.Usage("only a whole run is exported with --format run", "name it: "+b.Whole().Run.ID)
	}
	write := bundles[0].ExportRedacted
	if serials {
		write = bundles[0].Export
	}
	if app.OwnOutput(output) {
		if app.Columns(p.App.Stdout) > 0 {
			return app.Usage("a run is not for a terminal", "name a file: -o FILE.headroom")
		}
		return write(p.App.RawStdout)
	}
	return p.App.WriteOutput(ctx, output, write)
}
