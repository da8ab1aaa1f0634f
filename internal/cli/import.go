package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/importer"
	"github.com/headroom/headroom/internal/recovery"
)

func newImportCommand(a *app.App) *cobra.Command {
	var label, snapshot string
	var g importer.StageArguments
	c := &cobra.Command{
		Use: "import [FILE...]",
		Long: "Makes one run from the given files. A cell that appears again is another repetition.\n\nIt reads:\n" +
			importer.ImportHelp() +
			`  a run that headroom exported (--format run), or its folder

What stands before each line is removed: a quotation, a time, a number, a level, the name of a pod or container. Lines
of several machines (pdsh, kubectl logs --prefix) become results of each machine. JSON of fio and of iperf3 is also found
in Docker's logs, in a string of other JSON, and where Python printed it. If several tools printed into one text, all of
it is read.

The same load in another stage (another transport, two paths instead of one) is not a repetition. --stage NAME=FILE
assigns a file to a stage, --stage NAME=FILE:FIRST-LAST a range of its lines. --stages NAME,NAME splits
one pasted page, in order: a new stage begins at a load that the current stage already has, or at the prompt of
another host. Headings are ignored. If the number of stages differs from the names, nothing is imported. headroom
stages RUN compares them.

--facts names the facts of the machine that was measured: a snapshot as headroom facts --json prints it there, a
report of it (dir:sosreport.tar.xz) or a saved run. Ceilings, headroom doctor RUN and comparisons then use them.`,
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
			s, err := a.OpenStore()
			if err != nil {
				return err
			}
			if err := recovery.RecoverLeftovers(c.Context(), a, s, nil, app.LocalTarget); err != nil {
				return err
			}
			defer a.Footprint.WithRareGC(importer.MemoryFor(sources))()
			return interruptible(c.Context(), &a.UnfinishedWork, func() error {
				known, err := importer.ImportFacts(c.Context(), a, snapshot)
				if err != nil {
					return err
				}
				b, err := importer.ImportFiles(c.Context(), a, s, sources, order, label, known)
				if err != nil {
					return err
				}
				return importer.PrintImported(a, s, b)
			})
		},
	}
	f := flagsOf(a, c)
	f.StringVar(&label, "label", "", "a name for the run")
	f.StringVar(&snapshot, "facts", "",
		"facts of the machine that was measured: a snapshot as headroom facts --json prints it, or a saved run")
	f.StringArrayVar(&g.Named, "stage", nil,
		"a stage and its results: NAME=FILE or NAME=FILE:FIRST-LAST (lines); may be repeated")
	f.StringVar(&g.Order, "stages", "", "the stages of one pasted page, in order: NAME,NAME,…")
	f.json()
	return c
}
