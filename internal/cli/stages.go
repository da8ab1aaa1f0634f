package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/results"
)

func newStagesCommand(a *app.App) *cobra.Command {
	var o results.StagesOptions
	c := &cobra.Command{
		Use: "stages RUN",
		Long: `Prints IOPS, MiB/s and Gbit/s of each load in each stage, and what share of another stage it reaches. Each row
is labelled with the command line that ran. It marks pairs that are not comparable, and with --link
figures that are more than the links can carry or at the ceiling of a single link.

--published compares the stages with a published table, row by row: rows are found by their figures, not by
their labels. The table is a CSV file whose header names the columns (label, and the unit of each other column:
IOPS, MiB/s, Gbit/s, %; "table" separates several tables), or reference:NAME for one that comes with headroom.

Stages come from headroom import --stage or --stages, and from headroom nfs, where any of the runs stands for
all of them.`,
		Example: `  headroom stages last
  headroom stages last --of 'two paths/one path' --of 'rdma/two paths'
  headroom stages last --link 'one path=QDR' --link 'two paths=2xQDR' --link rdma=2x32Gbit/s
  headroom stages last --link 'rdma=PCIe 3.0 x8' -o stages.html
  headroom stages last --published table.csv
  headroom stages last --published reference:nfs-rdma-report`,
		Args:              argumentCount(1, 1, "one run"),
		ValidArgsFunction: completion{a}.runs,
		RunE: func(_ *cobra.Command, args []string) error {
			if _, _, err := o.Result.Formats(a.JSON); err != nil {
				return err
			}
			bundles, err := results.FindAll(a, args)
			if err != nil {
				return err
			}
			d, runs, err := results.StagesDocument(a, bundles[0], o)
			if err != nil {
				return err
			}
			s, err := a.OpenStore()
			if err != nil {
				return err
			}
			return results.ShowResult(a, s, results.StagesResult(d, runs), o.Result)
		},
	}
	f := flagsOf(a, c)
	f.StringArrayVar(&o.Of, "of", nil, "compare a stage with another: STAGE/OTHER; may be repeated (default: each "+
		"with the one before it; for NFS, more paths\nwith one, and RDMA with TCP)")
	f.StringArrayVar(&o.Links, "link", nil, "links that a stage uses: STAGE=[Nx]RATE, like 'two paths=2x32Gbit/s', "+
		"rdma=2xQDR or 'rdma=PCIe 3.0 x8'; without STAGE, of all other stages;\nRATE none for no link")
	f.document(&o.Result)
	f.StringVar(&o.Published, "published", "", "compare with a published table: FILE or reference:NAME")
	f.json()
	f.values("published", func() []string { return results.PublishedNames(reference.TableNames) })
	return c
}
