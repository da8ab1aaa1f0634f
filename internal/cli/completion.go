package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
)

// completeRuns offers the runs of the store to the shell: by their ids and by their labels.
func (p *program) completeRuns(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	s, err := p.App.OpenStore()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if i := strings.LastIndexByte(word, ':'); i > 0 {
		return armNames(s, word[:i]), cobra.ShellCompDirectiveNoFileComp
	}
	rows, _ := s.List() // a damaged run is no reason to offer none
	names, shortID := []string{"last"}, s.ShortIDs()
	for _, r := range rows {
		names = append(names, shortID(r.ID)+"\t"+strings.TrimSpace(results.ListedRun(r).Suite+" "+r.Label))
	}
	offered := map[string]bool{"": true}
	for _, r := range rows {
		if !offered[r.Label] {
			offered[r.Label] = true
			names = append(names, r.Label+"\t"+strings.TrimSpace(results.ListedRun(r).Suite+" "+shortID(r.ID)))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// armNames are the arms of a run as they are named on a command line.
func armNames(s *store.Store, run string) []string {
	b, err := s.Find(run)
	if err != nil {
		return nil
	}
	var names []string
	for _, arm := range b.Run.PartNames() {
		names = append(names, run+":"+arm)
	}
	return names
}

// completeComparable offers the runs of the store, then published results; targets where they are measured now.
func (p *program) completeComparable(c *cobra.Command, args []string, word string) ([]string,
	cobra.ShellCompDirective) {
	if c.Flags().Changed("live") || c.Flags().Changed("layers") {
		return p.targetNames(), cobra.ShellCompDirectiveDefault
	}
	names, directive := p.completeRuns(c, args, word)
	published, _ := completeReferences(c, args, word)
	for _, name := range published {
		names = append(names, reference.Prefix+name)
	}
	return names, directive
}

// completeSubjects offers this machine, the runs of the store and files, for a number of arguments.
func (p *program) completeSubjects(most int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		runs, _ := p.completeRuns(c, args, word)
		return append(p.targetNames(), runs...), cobra.ShellCompDirectiveDefault
	}
}

// completeTargets offers targets for the values of flags, also behind a role.
func (p *program) completeTargets(c *cobra.Command, flags ...string) {
	offer := func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		names := p.targetNames()
		if role, _ := app.RoleOf(word); role != "" {
			for i := range names {
				names[i] = role + "=" + names[i]
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	for _, flag := range flags {
		p.complete(c, flag, offer)
	}
}

// completeFlag offers the values of a flag.
func (p *program) completeFlag(c *cobra.Command, flag string, values func() []string) {
	p.complete(c, flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
}

// complete has the shell ask for the values of a flag. cobra keeps what is registered in a table of the process, with
// the whole command line behind it: in tests, of thousands of commands.
func (p *program) complete(c *cobra.Command, flag string, values cobra.CompletionFunc) {
	if !p.completes() {
		return
	}
	if err := c.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // the flag is not there: an error of the program
	}
}

// completes says whether the shell asks how a command line goes on.
func (p *program) completes() bool {
	if len(p.App.Args) == 0 {
		return false
	}
	words := commandWords(p.App.Environment)
	return len(words) > 0 && strings.HasPrefix(words[0], cobra.ShellCompRequestCmd)
}

// completeSharedFlags offers values for the flags that several commands have, where a command does not say otherwise.
func (p *program) completeSharedFlags(c *cobra.Command) {
	factors := func(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return completeFactors(c, nil, word)
	}
	words := func(w ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(w, cobra.ShellCompDirectiveNoFileComp)
	}
	for flag, complete := range map[string]cobra.CompletionFunc{
		"factor": factors, "setting": factors, "keep": factors,
		"resume": p.completeRuns, "show": p.completeRuns,
		"order":     words(string(suite.Interleaved), string(suite.Shuffled), string(suite.Sequential)),
		"transport": words("tcp", "rdma"), "direction": words("send", "receive", "both"),
	} {
		if _, has := c.GetFlagCompletionFunc(flag); !has && c.Flags().Lookup(flag) != nil {
			p.complete(c, flag, complete)
		}
	}
	for _, below := range c.Commands() {
		p.completeSharedFlags(below)
	}
}

// factAreas are the first words of the catalogue's keys.
func factAreas() []string {
	var areas []string
	seen := map[string]bool{}
	for _, d := range catalogue.All() {
		area, _, _ := strings.Cut(d.Key, ".")
		if !seen[area] {
			seen[area] = true
			areas = append(areas, area)
		}
	}
	return areas
}

// completeSuites offers suites for the argument at a position, then files.
func (p *program) completeSuites(position int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) < position:
			return nil, cobra.ShellCompDirectiveNoFileComp
		case len(args) > position:
			return nil, cobra.ShellCompDirectiveDefault
		}
		return p.suiteNames(), cobra.ShellCompDirectiveDefault
	}
}

// suiteNames are built-in suites, then those of the configured folder.
func (p *program) suiteNames() []string { return append(suite.Builtin(), p.App.ConfiguredSuites()...) }
