package cli

import (
	"github.com/spf13/cobra"

	"headroom/internal/reference"
	"headroom/internal/results"
)

func (p *program) stagesCommand() *cobra.Command {
	var o results.StagesOptions
	c := &cobra.Command{
		Use:   "stages RUN",
		Short: "Set the stages of a run beside each other, load by load, and say what is wrong with the table",
		Long: `Prints IOPS, MiB/s and Gbit/s of each load in each stage, and what share of another
stage it reaches. Each row is labelled by the command line that ran. It says which
pairs are not alike, and with --link which figures the links can't have carried
and which sit at the ceiling of one link of several.

With --published a table that somebody published is held against it, row by row:
rows are found by their figures, never by their labels. It is a file of
comma-separated values whose first line names the columns (label, and the unit of
each other one: IOPS, MiB/s, Gbit/s, %; "table" keeps several tables apart), or
reference:NAME for one that comes with headroom.

Stages come from headroom import --stage or --stages, and from headroom nfs, any of
whose runs stands for all.`,
		Example: `  headroom stages last
  headroom stages last --of 'two paths/one path' --of 'rdma/two paths'
  headroom stages last --link 'one path=QDR' --link 'two paths=2xQDR' --link rdma=2x32Gbit/s
  headroom stages last --link 'rdma=PCIe 3.0 x8' -o stages.html
  headroom stages last --published table.csv
  headroom stages last --published reference:nfs-rdma-report`,
		Args:              argumentCount(1, 1, "one run"),
		ValidArgsFunction: p.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			if _, _, err := o.Result.Formats(p.JSON); err != nil {
				return err
			}
			bundles, err := results.FindAll(p.App, args)
			if err != nil {
				return err
			}
			d, runs, err := results.StagesDocument(p.App, bundles[0], o)
			if err != nil {
				return err
			}
			s, err := p.OpenStore()
			if err != nil {
				return err
			}
			return results.ShowResult(p.App, s, results.StagesResult(d, runs), o.Result)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.Of, "of", nil, "hold a stage against another: STAGE/OTHER; may be repeated (default: each "+
		"against the one before it; of NFS more paths\nagainst one, and RDMA against TCP)")
	f.StringArrayVar(&o.Links, "link", nil, "links that a stage goes through: STAGE=[Nx]RATE, like 'two "+
		"paths=2x32Gbit/s', rdma=2xQDR or 'rdma=PCIe 3.0 x8'; without STAGE, of all others;\nRATE none for none")
	documentFlags(&o.Result, c)
	f.StringVar(&o.Published, "published", "", "published table to hold against it: FILE or reference:NAME")
	p.jsonFlag(c)
	completeFlag(c, "published", func() []string { return results.PublishedNames(reference.TableNames) })
	return c
}
