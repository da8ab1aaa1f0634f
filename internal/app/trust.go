package app

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
)

// OpenStoreFor opens the store for a command that may resume a run. Resuming executes the contents of the run's header:
// commands, settings, loads. So the header must be the user's own. For an imported run, it is only shown until the user
// passes --trust.
func (p *App) OpenStoreFor(resume string) (*store.Store, error) {
	s, err := p.OpenStore()
	switch {
	case err != nil:
		return nil, err
	case resume == "" && p.Trust:
		return nil, Usage("--trust means nothing without --resume")
	case resume == "":
		return s, nil
	}
	b, err := s.FindWhole(resume)
	if err != nil {
		return nil, err
	}
	if b.Run.Concurrent != nil && b.Run.Status != lab.Interrupted {
		return s, nil // it is shown
	}
	all := []*store.Bundle{b}
	if b.Run.Pair != "" {
		if all, err = s.OlderArms(b); err != nil {
			return nil, err
		}
	}
	for _, b := range all {
		if err := p.accept(s, b); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// accept shows what an imported run would have carried out, and refuses to without --trust.
func (p *App) accept(s *store.Store, b *store.Bundle) error {
	if !b.Imported() {
		return s.Resumable(b)
	}
	for _, c := range b.Run.Cells {
		if c.Command != nil || !lab.ByFio(c.Engine) {
			continue
		}
		if complaint := suite.CheckParams(c.Params); complaint != "" {
			return &lab.Error{Kind: lab.Refused,
				What: fmt.Sprintf("run %s was imported, and no suite may have what is in its load %s: %s",
					b.Run.ID, c.Job, complaint)}
		}
	}
	lines, err := executedCommands(b.Run)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "run %s was imported; resuming it executes what came with it:\n",
		s.ShortID(b.Run.ID))
	for _, line := range lines {
		fmt.Fprintln(p.Stderr, "  "+line)
	}
	if p.Trust {
		s.Accept(b)
	}
	err = s.Resumable(b)
	if e, ok := errors.AsType[*lab.Error](err); ok && !p.Trust {
		e.Hints = append(e.Hints, "where all of the above may be done here: add --trust")
	}
	return err
}

// executedCommands is all that the header of a run has headroom do, a line each, commands as one would type them.
func executedCommands(run lab.Run) ([]string, error) {
	var lines []string
	add := func(what string, argv []string) {
		if line := what + " " + lab.ShellQuote(argv); len(argv) > 0 && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	command := func(c lab.Command) {
		for _, argv := range c.Prepare {
			add("prepare:", argv)
		}
		as := ""
		if c.User != "" {
			as = " as " + c.User
		}
		add("command"+as+":", c.Argv)
		for _, argv := range c.CleanUp {
			add("clean up:", argv)
		}
		add("environment:", assigned(c.Environment))
		add("search for programs in:", c.Path)
	}
	for _, t := range run.Targets {
		add("on:", nonEmptyWords(t.Target, t.Place.Path))
	}
	for _, pair := range run.Network {
		add("traffic from "+pair.Client+" to "+pair.Server+":",
			[]string{pair.Address, fmt.Sprintf("port %d", pair.Port)})
	}
	for _, c := range run.Cells {
		add("load "+c.Job+":", append([]string{c.Engine}, assigned(c.Params)...))
		if c.Command != nil {
			command(*c.Command)
		}
		add("environment:", c.Environment)
		for _, end := range slices.Sorted(maps.Keys(c.Placement)) {
			add("command that starts the load generator of the "+end+":", c.Placement[end])
		}
	}
	if n := run.NFS; n != nil {
		su, err := suite.Decode(run.Suite, []byte(run.SuiteText))
		if err != nil {
			return nil, err
		}
		for _, job := range su.Jobs {
			if job.Exec != nil {
				command(job.Exec.Command)
			} else {
				add("load "+job.Name+":", append([]string{lab.EngineFio}, assigned(job.Fio)...))
			}
		}
		add("NFS, client and server:", nonEmptyWords(n.Client, n.Server, n.Export, n.Path, n.Mounted,
			n.Guest, n.GuestPlace))
		add("NFS, addresses of the server:", n.Addresses)
		add("NFS, transports:", n.Transports)
		add("NFS, mount options:", n.Options)
		add("NFS, parameters of every load:", n.Set)
		add("NFS, size of the scratch file:", nonEmptyWords(n.Size))
		addEventCommands(n.Events, add)
	}
	addEventCommands(run.Events, add)
	if e := run.Experiment; e != nil {
		for _, f := range e.Factors {
			add("setting:", append([]string{f.Factor}, f.Levels...))
		}
		for _, name := range slices.Sorted(maps.Keys(e.Commands)) {
			c := e.Commands[name]
			add(name+", apply:", c.Apply)
			add(name+", verify:", c.Verify)
			add(name+", undo:", c.Undo)
		}
		if e.BootOn != "" {
			add("boots of:", []string{e.BootOn})
		}
		if e.Commits != nil {
			add("commits of "+e.Commits.Tree+":", nonEmptyWords(e.Commits.Good, e.Commits.Bad))
			add("build in a tree of "+e.Commits.Tree+":", e.Commits.Build)
		}
		if e.Kernels != nil {
			add("build kernels of:", append([]string{e.Kernels.Tree}, e.Kernels.Make...))
			add("between the configurations:", nonEmptyWords(e.Kernels.Good, e.Kernels.Bad))
		}
	}
	for _, a := range run.Arms {
		add("levels:", assigned(a.Levels))
	}
	for i := range lines {
		lines[i] = prose.Inline(lines[i])
	}
	return lines, nil
}

func addEventCommands(all []lab.Event, add func(what string, argv []string)) {
	for _, u := range all {
		add("event on "+u.Target+":", u.Command)
		add("event on "+u.Target+", undo:", u.Undo)
		if u.Factor != "" {
			add("event on "+u.Target+", setting:", []string{u.Factor, u.Level})
		}
	}
}

// nonEmptyWords leaves out what is empty.
func nonEmptyWords(words ...string) []string {
	return slices.DeleteFunc(words, func(s string) bool { return s == "" })
}

func assigned(values map[string]string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, name+"="+values[name])
	}
	return list
}
