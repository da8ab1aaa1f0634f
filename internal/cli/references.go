package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/results"
)

func newReferencesCommand(a *app.App) *cobra.Command {
	var o results.DocumentOutput
	c := &cobra.Command{
		Use: "references",
		Long: `Lists the published results that come with headroom. A published figure is a single number without a spread, from
another machine: "references for RUN" shows how comparable each is, and then the figure. headroom compare accepts
reference:NAME in place of a run.`,
		Example: "  headroom references\n  headroom references show kbench/samsung-850-pro\n  headroom references " +
			"for last\n  headroom compare reference:kbench/samsung-850-pro last",
		Args: argumentCount(0, 0, "no argument, show NAME or for RUN"),
		RunE: func(*cobra.Command, []string) error {
			return results.ListReferences(a, o)
		},
	}
	f := flagsOf(a, c)
	f.document(&o)
	f.json()
	return c
}

func completeReferences(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	references, err := reference.BuiltIn()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	for _, r := range references {
		found = append(found, r.Name+"\t"+r.Title)
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func newReferencesShowCommand(a *app.App) *cobra.Command {
	var o results.DocumentOutput
	c := &cobra.Command{
		Use:               "show NAME",
		Args:              argumentCount(1, 1, "the name of a reference"),
		ValidArgsFunction: completeReferences,
		Example:           "  headroom references show nfs-rdma-report/rdma-multipath",
		RunE: func(_ *cobra.Command, args []string) error {
			r, _, err := results.FindReference(reference.Prefix + strings.TrimPrefix(args[0], reference.Prefix))
			if err != nil {
				return err
			}
			return results.ShowReference(a, r, o)
		},
	}
	f := flagsOf(a, c)
	f.document(&o)
	f.json()
	return c
}

func newReferencesForCommand(a *app.App) *cobra.Command {
	var o results.DocumentOutput
	var all bool
	c := &cobra.Command{
		Use: "for RUN",
		Long: `Shows each load of a run next to published results of its kind. The grade comes before the ratio: "same
conditions", "close" (the same load on the same model of drive), or "only the order of magnitude", where even a
factor of two means nothing. Conditions that differ or are unknown are listed.`,
		Example:           "  headroom references for last\n  headroom references for 7KQ4 --all --json",
		Args:              argumentCount(1, 1, "a run"),
		ValidArgsFunction: completion{a}.runs,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.OpenStore()
			if err != nil {
				return err
			}
			b, err := s.Find(args[0])
			if err != nil {
				return err
			}
			return results.ShowStandings(a, s, b, all, o)
		},
	}
	f := flagsOf(a, c)
	f.BoolVar(&all, "all", false, "all that is published of a load, not the three most comparable")
	f.document(&o)
	f.json()
	return c
}
