package cli

import (
	"github.com/spf13/cobra"

	"headroom/internal/app"
	"headroom/internal/importer"
	"headroom/internal/recovery"
)

func (p *program) importCommand() *cobra.Command {
	var label, snapshot string
	var g importer.StageArguments
	c := &cobra.Command{
		Use:   "import [FILE...]",
		Short: "Make a run of other tools' results, or take back an exported run",
		Long: "Makes one run of the files given. Where a cell appears again, it is the next repetition.\n\nIt reads:\n" + importer.ImportHelp() +
			`  a run that headroom exported (--format run), or the folder of one

The same load in another stage (another transport, two paths rather than one) is no
repetition. --stage NAME=FILE says which file, or with :FIRST-LAST which of its lines,
belong to which stage. --stages NAME,NAME does that for one page, in its order: a stage
begins with a load that the one before has already, or at the prompt of another host.
Headings are not read. Where it finds another number of stages, nothing is imported.
headroom stages RUN sets them beside each other.

--facts says what the machine was like that the results are of: a snapshot as headroom facts --json
prints it there, or a saved run of it. Ceilings, headroom doctor RUN and comparisons then know it.`,
		Example: `  headroom import --label before results/*.json
  headroom import pasted.txt
  headroom import --stage 'one path=a.txt' --stage 'two paths=b.txt' --stage rdma=page.txt:120-160
  headroom import --stages 'ram,one path,two paths,rdma' page.txt
  headroom import results/*.json --facts nas1.json
  headroom import from-a-colleague.headroom`,
		Args: argumentCount(0, unlimited, "files"),
		RunE: func(c *cobra.Command, args []string) error {
			sources, order, err := g.Sources(args)
			if err != nil {
				return err
			}
			s, err := p.OpenStore()
			if err != nil {
				return err
			}
			if err := recovery.RecoverLeftovers(c.Context(), p.App, s, app.LocalTarget); err != nil {
				return err
			}
			defer p.Footprint.WithRareGC(importer.MemoryFor(sources))()
			return p.interruptible(c.Context(), func() error {
				known, err := importer.ImportFacts(c.Context(), p.App, snapshot)
				if err != nil {
					return err
				}
				b, err := importer.ImportFiles(c.Context(), p.App, s, sources, order, label, known)
				if err != nil {
					return err
				}
				return importer.PrintImported(p.App, s, b)
			})
		},
	}
	c.Flags().StringVar(&label, "label", "", "text to find the run by")
	c.Flags().StringVar(&snapshot, "facts", "", "what the machine was like that the results are of: a snapshot, as "+
		"headroom facts --json prints it, or a saved run")
	c.Flags().StringArrayVar(&g.Named, "stage", nil,
		"a stage and what belongs to it: NAME=FILE or NAME=FILE:FIRST-LAST; may be repeated")
	c.Flags().StringVar(&g.Order, "stages", "", "the stages of one page, in its order: NAME,NAME,…")
	p.jsonFlag(c)
	return c
}
