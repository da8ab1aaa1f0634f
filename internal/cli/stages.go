package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"headroom/internal/ceiling"
	"headroom/internal/document"
	"headroom/internal/lab"
	"headroom/internal/reference"
	"headroom/internal/report"
	"headroom/internal/stages"
	"headroom/internal/store"
)

type stagesOptions struct {
	of, links []string
	published string
	result    documentOutput
}

func (p *program) stagesCommand() *cobra.Command {
	var o stagesOptions
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
			if _, _, err := o.result.formats(p.json); err != nil {
				return err
			}
			bundles, err := findAll(p, args)
			if err != nil {
				return err
			}
			d, runs, err := stagesDocument(p, bundles[0], o)
			if err != nil {
				return err
			}
			s, err := p.openStore()
			if err != nil {
				return err
			}
			return showResult(p, s, stagesResult(d, runs), o.result)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.of, "of", nil, "hold a stage against another: STAGE/OTHER; may be repeated (default: each "+
		"against the one before it; of NFS more paths\nagainst one, and RDMA against TCP)")
	f.StringArrayVar(&o.links, "link", nil, "links that a stage goes through: STAGE=[Nx]RATE, like 'two "+
		"paths=2x32Gbit/s', rdma=2xQDR or 'rdma=PCIe 3.0 x8'; without STAGE, of all others;\nRATE none for none")
	documentFlags(&o.result, c)
	f.StringVar(&o.published, "published", "", "published table to hold against it: FILE or reference:NAME")
	p.jsonFlag(c)
	completeFlag(c, "published", func() []string { return publishedNames(reference.TableNames) })
	return c
}

// stagesResult is what is shown of stages, of one run or of several.
func stagesResult(d stages.Document, runs []lab.Run) resultDocument {
	return resultDocument{published: d, runs: runs, document: func(o report.Options) document.Document {
		return report.StagesDocument(d, o)
	}}
}

// stages makes the document of a run, and names the runs that it is of.
func stagesDocument(p *program, b *store.Bundle, o stagesOptions) (stages.Document, []lab.Run, error) {
	run, err := stagedRunOf(p, b)
	if err != nil {
		return stages.Document{}, nil, err
	}
	options := stages.Options{Warnings: run.warnings}
	for _, text := range o.of {
		a, err := stages.Of(run.Run, text)
		if err != nil {
			return stages.Document{}, nil, err
		}
		options.Against = append(options.Against, a)
	}
	if len(o.of) == 0 {
		options.Against = againstFewer(stageNames(run.Run))
	}
	if options.Links, err = stageLinks(run.Run, o.links); err != nil {
		return stages.Document{}, nil, err
	}
	if options.Published, err = readPublished(o.published, reference.BuiltInTables, reference.ParseTables); err != nil {
		return stages.Document{}, nil, err
	}
	d, err := stages.Make(run.Run, run.measured, options)
	return d, run.parts, err
}

// stageLinks reads --link: of a stage, or of all that have none of their own.
func stageLinks(run lab.Run, given []string) (map[string]ceiling.Links, error) {
	const none = "none"
	links := map[string]ceiling.Links{}
	printed := map[string]bool{}
	rest := ""
	for _, text := range given {
		// The rate has no sign of equality, and a stage may.
		name, rate := "", text
		if i := strings.LastIndexByte(text, '='); i >= 0 {
			name, rate = strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:])
		}
		l, err := ceiling.ParseLinks(rate)
		if err != nil && rate != none {
			return nil, usage("--link "+text+": "+err.Error(), "for example --link 'two paths=2x32Gbit/s'")
		}
		if printed[name] {
			return nil, usage(fmt.Sprintf("--link %s: links of %q were given before", text, name))
		}
		printed[name] = true
		switch {
		case name == "":
			rest = rate
		case rate != none:
			links[name] = l
		}
	}
	names := stageNames(run)
	for name := range printed {
		if name != "" && !slices.Contains(names, name) {
			return nil, usage(fmt.Sprintf("--link: this run has no stage %q", name),
				"it has "+strings.Join(names, ", "))
		}
	}
	if rest == "" || rest == none {
		return links, nil
	}
	for _, name := range names {
		if !printed[name] {
			l, err := ceiling.ParseLinks(rest)
			if err != nil {
				return nil, err
			}
			links[name] = l
		}
	}
	return links, nil
}

func stageNames(run lab.Run) []string {
	var names []string
	for _, a := range run.Arms {
		if name := a.Levels[lab.StageLevel]; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
