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

// exportCommand writes runs for other programs.
type exportCommand struct {
	app            *app.App
	format, output string
	o              report.Options
}

func newExportCommand(a *app.App) *cobra.Command {
	e := &exportCommand{app: a}
	c := &cobra.Command{
		Use: "export RUN...",
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
		ValidArgsFunction: completion{a}.runs,
		RunE:              e.write,
	}
	f := flagsOf(a, c)
	f.StringVar(&e.format, "format", "json",
		strings.Join(results.FormatNames(results.ExportFormats()), ", ")+"; without it the suffix "+
			"of --output decides")
	f.StringVarP(&e.output, "output", "o", "", "file to write (default: standard output)")
	f.BoolVar(&e.o.DecimalComma, "decimal-comma", false, "write 1,5 and semicolons in csv and sheet")
	rawCellsFlag(c, &e.o.RawCells)
	f.BoolVar(&e.o.NoHeader, "no-header", false, "leave out the header line of csv and sheet")
	f.BoolVar(&e.o.Serials, "serials", false, "show serial numbers, addresses, host and user names")
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

func (e *exportCommand) write(c *cobra.Command, args []string) error {
	flag := ""
	if c.Flags().Changed("format") {
		flag = "--format " + e.format
	}
	format, err := results.FormatFor(e.output, flag, e.format, "json", results.ExportFormats())
	if err != nil {
		return err
	}
	bundles, err := results.FindAll(e.app, args)
	if err != nil {
		return err
	}
	if format == "run" {
		return e.writeBundle(c.Context(), bundles)
	}
	return writeTo(e.app, e.output, format, results.WriteForPeople, bundles, e.o)
}

// writeBundle writes a whole run as one file.
func (e *exportCommand) writeBundle(ctx context.Context, bundles []*store.Bundle) error {
	if len(bundles) != 1 {
		return app.Usage("one run a file with --format run")
	}
	if b := bundles[0]; b.Arm() != "" {
		return app.Usage("only a whole run is exported with --format run", "name it: "+b.Whole().Run.ID)
	}
	write := bundles[0].ExportRedacted
	if e.o.Serials {
		write = bundles[0].Export
	}
	if app.OwnOutput(e.output) {
		if app.Columns(e.app.Stdout) > 0 {
			return app.Usage("a run is not for a terminal", "name a file: -o FILE.headroom")
		}
		return write(e.app.RawStdout)
	}
	return e.app.WriteOutput(ctx, e.output, write)
}
