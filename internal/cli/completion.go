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

// completion offers words to the shell, as arguments and as the values of flags.
type completion struct{ app *app.App }

// runs offers the runs of the store by their IDs and labels.
func (o completion) runs(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	s, err := o.app.OpenStore()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if i := strings.LastIndexByte(word, ':'); i > 0 {
		return armNames(s, word[:i]), cobra.ShellCompDirectiveNoFileComp
	}
	rows, _ := s.List() // a damaged run does not prevent completion of the others
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

// armNames returns the arms of a run in the notation of a command line.
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

// comparable offers the runs of the store, then published results; targets for comparisons that measure.
func (o completion) comparable(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if c.Flags().Changed("live") || c.Flags().Changed("layers") {
		return o.targetNames(), cobra.ShellCompDirectiveDefault
	}
	names, directive := o.runs(c, args, word)
	published, _ := completeReferences(c, args, word)
	for _, name := range published {
		names = append(names, reference.Prefix+name)
	}
	return names, directive
}

// subjects offers this machine, the runs of the store and files, for a number of arguments.
func (o completion) subjects(most int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		runs, _ := o.runs(c, args, word)
		return append(o.targetNames(), runs...), cobra.ShellCompDirectiveDefault
	}
}

// targets offers targets, also after a role.
func (o completion) targets(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	names := o.targetNames()
	if role, _ := app.RoleOf(word); role != "" {
		for i := range names {
			names[i] = role + "=" + names[i]
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// targetNames returns the names of targets in the configuration, and the beginnings of others.
func (o completion) targetNames() []string {
	var names []string
	settings, _, _ := o.app.Config() // a file that can't be read has no settings
	for _, name := range settings.TargetNames() {
		names = append(names, name+"\t"+settings.Targets[name].Text)
	}
	for _, k := range o.app.AllKinds() {
		names = append(names, k.Completions...)
	}
	return names
}

// completes reports whether the shell asks for completions of a command line.
func completes(e app.Environment) bool {
	if len(e.Args) == 0 {
		return false
	}
	words := commandWords(e)
	return len(words) > 0 && strings.HasPrefix(words[0], cobra.ShellCompRequestCmd)
}

// sharedFlags offers values for the flags that several commands have, unless a command offers others.
func (o completion) sharedFlags(c *cobra.Command) {
	factors := func(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return completeFactors(c, nil, word)
	}
	words := func(w ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(w, cobra.ShellCompDirectiveNoFileComp)
	}
	for flag, complete := range map[string]cobra.CompletionFunc{
		"factor": factors, "setting": factors, "keep": factors,
		"resume": o.runs, "show": o.runs,
		"order":     words(string(suite.Interleaved), string(suite.Shuffled), string(suite.Sequential)),
		"transport": words("tcp", "rdma"), "direction": words("send", "receive", "both"),
	} {
		if _, has := c.GetFlagCompletionFunc(flag); !has && c.Flags().Lookup(flag) != nil {
			flagsOf(o.app, c).offer(flag, complete)
		}
	}
	for _, below := range c.Commands() {
		o.sharedFlags(below)
	}
}

// factAreas returns the first words of the catalogue's keys.
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

// suites offers suites for the argument at a position, then files.
func (o completion) suites(position int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) < position:
			return nil, cobra.ShellCompDirectiveNoFileComp
		case len(args) > position:
			return nil, cobra.ShellCompDirectiveDefault
		}
		return suiteNames(o.app), cobra.ShellCompDirectiveDefault
	}
}

// suiteNames returns the built-in suites, then the suites of the configured folder.
func suiteNames(a *app.App) []string { return append(suite.Builtin(), a.ConfiguredSuites()...) }
