package cli

import (
	"cmp"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

const suitesSchema = "headroom/suites/v1"

// suitesDocument is the published JSON document of suites.
type suitesDocument struct {
	Schema string     `json:"schema"`
	Suites []suiteRow `json:"suites"`
}

// suiteRow is a suite in the published JSON document of suites.
type suiteRow struct {
	Name        string  `json:"name"`
	Title       string  `json:"title"`
	Source      string  `json:"source,omitempty"`
	File        string  `json:"file,omitempty"`
	Place       string  `json:"place"`
	Cells       int     `json:"cells"`
	Repetitions int     `json:"repetitions"`
	Seconds     float64 `json:"seconds,omitempty"`
}

// suitesCommand lists suites, or prints one.
type suitesCommand struct{ app *app.App }

func newSuitesCommand(a *app.App) *cobra.Command {
	s := suitesCommand{a}
	c := &cobra.Command{
		Use:     "suites",
		Example: "  headroom suites\n  headroom suites show nvme",
		Args:    argumentCount(0, 1, "no argument, or show NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return s.list()
			case a.JSON:
				return app.Usage("--json is for the list of suites", "headroom suites --json",
					"headroom suites show "+lab.ShellQuote(args))
			}
			return s.show(args[0], false, false)
		},
	}
	flagsOf(a, c).json()
	return c
}

func (s suitesCommand) list() error {
	var rows []suiteRow
	for _, name := range suiteNames(s.app) {
		row, err := s.row(name)
		switch {
		case err == nil:
			rows = append(rows, row)
		case slices.Contains(suite.Builtin(), name):
			return err
		case s.isExperiment(name):
		default: // one faulty file of many hides no other
			fmt.Fprintf(s.app.Stderr, "%s is left out: %v\n", name, err)
		}
	}
	if s.app.JSON {
		return s.app.PrintJSON(suitesDocument{suitesSchema, rows})
	}
	w := tabwriter.NewWriter(s.app.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tON\tCELLS\tREPETITIONS\tTAKES\tWHAT")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", r.Name, r.Place, r.Cells, r.Repetitions, duration(r.Seconds),
			cmp.Or(r.Title, r.File))
	}
	return w.Flush()
}

// isExperiment reports whether a file in the folder of suites is for sweep or ablate.
func (s suitesCommand) isExperiment(name string) bool {
	file, err := s.app.SuiteFile(name)
	if err != nil {
		return false
	}
	data, err := app.ReadInput(file)
	return err == nil && suite.IsExperiment(data)
}

func (s suitesCommand) row(name string) (suiteRow, error) {
	file, err := s.app.SuiteFile(name)
	if err != nil {
		return suiteRow{}, err
	}
	loaded, err := experiment.LoadSuite(file)
	if err != nil {
		return suiteRow{}, err
	}
	cells, err := loaded.Cells(kindFor(loaded), false)
	if err != nil {
		return suiteRow{}, err
	}
	if file == name {
		file = ""
	}
	return suiteRow{Name: name, Title: loaded.Title, Source: loaded.Source, File: file, Place: placeWord(loaded.Place),
		Cells: len(cells), Repetitions: loaded.Repetitions,
		Seconds: suite.EstimateTime(cells, loaded.Interval).Seconds()}, nil
}

// placeWord returns the kind of place that a suite measures, for the list.
func placeWord(p suite.Place) string {
	if p == suite.Network {
		return "network"
	}
	return string(p)
}

// kindFor returns the kind of place for which to expand a suite if none was named.
func kindFor(s suite.Suite) lab.PlaceKind {
	switch s.Place {
	case suite.Device:
		return lab.Device
	case suite.Network:
		return lab.NoPlace
	}
	return lab.Directory
}

func newSuitesShowCommand(a *app.App) *cobra.Command {
	var file, asPublished bool
	c := &cobra.Command{
		Use:  "show NAME",
		Long: `Prints the plain command lines of a built-in suite or a suite file, step by step.`,
		Example: `  headroom suites show nvme
  headroom suites show nvme --as-published
  headroom suites show quick --file > my.yaml`,
		Args:              argumentCount(1, 1, "the name of a suite or a suite file"),
		ValidArgsFunction: completion{a}.suites(0),
		Annotations:       suiteAt(0),
		RunE: func(_ *cobra.Command, args []string) error {
			return suitesCommand{a}.show(args[0], file, asPublished)
		},
	}
	f := flagsOf(a, c)
	f.BoolVar(&file, "file", false, "print the suite file itself, as a start for your own")
	f.BoolVar(&asPublished, "as-published", false, "show what the suite's source did, including its mistakes")
	return c
}

// show prints the command lines of a suite, or its file.
func (s suitesCommand) show(name string, file, asPublished bool) error {
	loaded, err := experiment.LoadSuite(name)
	if err != nil {
		return err
	}
	if file {
		fmt.Fprint(s.app.Stdout, loaded.Text)
		return nil
	}
	lines, err := loaded.Commands(kindFor(loaded), asPublished)
	if err != nil {
		return err
	}
	for _, l := range lines {
		fmt.Fprintln(s.app.Stdout, l)
	}
	return nil
}

func duration(seconds float64) string {
	if seconds == 0 {
		return "?"
	}
	return unit.Duration(unit.SecondsToDuration(seconds))
}
