package nfs

import (
	"fmt"
	"slices"

	"headroom/internal/report"
	"headroom/internal/results"
)

// Report shows what was measured.
func (x *Stages) Report() error {
	// A stage that was refused after its run was drafted has left none.
	begun := slices.DeleteFunc(slices.Clone(x.bundles), func(id string) bool { return !x.Store.Has(id) })
	if len(begun) == 0 {
		return nil
	}
	bundles, err := results.FindAll(x.App, begun)
	if err != nil {
		return err
	}
	format := "table"
	if x.JSON {
		format = "json"
	}
	if err := results.WriteForPeople(x.App, format, bundles, x.Stdout, report.Options{Names: format == "table"}); err !=
		nil ||
		x.JSON || len(bundles) == 1 {
		return err
	}
	d, runs, err := results.StagesDocument(x.App, bundles[0], results.StagesOptions{})
	if err != nil {
		return err
	}
	s, err := x.OpenStore()
	if err != nil {
		return err
	}
	fmt.Fprintln(x.Stdout)
	if err := results.ShowResult(x.App, s, results.StagesResult(d, runs), results.DocumentOutput{}); err != nil {
		return err
	}
	return writeConfigHelp(x.Stdout, &d, bundles)
}
