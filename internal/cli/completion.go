package cli

import (
	"github.com/spf13/cobra"

	"headroom/internal/suite"
)

// completeRuns offers the runs of the store to the shell.
func (p *program) completeRuns(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	s, err := p.openStore()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	rows, _ := s.List() // a damaged run is no reason to offer none
	names := []string{"last"}
	for _, r := range rows {
		names = append(names, s.ShortID(r.ID)+"\t"+r.Suite+" "+r.Label)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeSuites offers the built-in suites, then files.
func completeSuites(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return suite.Builtin(), cobra.ShellCompDirectiveDefault
}
