package suite

import (
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/command"
	"github.com/headroom/headroom/internal/unit"
)

// execCell makes a cell of a job with exec with the given values of its axes.
func (s Suite) execCell(j Job, values map[string]string) Cell {
	filled := command.FillAll(j.Exec.Command, values)
	uses := append(command.Uses(j.Exec.Command), command.Placeholders(j.Exec.Takes)...)
	params := maps.Clone(values)
	maps.DeleteFunc(params, func(name, _ string) bool { return !slices.Contains(uses, name) })
	steps := []lab.Step{lab.Load}
	if len(filled.Prepare) > 0 {
		steps = slices.Insert(steps, 0, lab.Prepare)
	}
	if len(filled.CleanUp) > 0 {
		steps = append(steps, lab.CleanUp)
	}
	c := Cell{Job: j.Name, JobTitle: j.Title, Engine: lab.EngineExec, Command: &filled, Metrics: j.Exec.Metrics,
		Params: params, Steps: steps}
	if d, err := unit.ParseDuration(command.Fill(j.Exec.Takes, values)); err == nil {
		c.Runtime = d
		filled.ExpectedSeconds = d.Seconds()
	}
	return c
}

// execCombinations returns the values of the parameters in each cell of a job with exec, the last axis changing
// fastest.
func (s Suite) execCombinations(j Job) []map[string]string {
	values := map[string]string{}
	for _, p := range s.Parameters {
		if p.Given {
			values[p.Name] = p.Value
		}
	}
	return spread(values, j.Matrix)
}

// worksInFolder reports whether the job is a command that works in the place under test.
func (j Job) worksInFolder() bool {
	return j.Exec != nil && slices.Contains(command.Uses(j.Exec.Command), command.Dir)
}

// CommandLines returns the plain command lines of one repetition of a cell that runs a command, in a folder; {cpus}
// becomes CPUS.
func (c Cell) CommandLines(folder string) []string {
	values := map[string]string{}
	for _, name := range command.Uses(*c.Command) {
		values[name] = strings.ToUpper(name) // {cpus}, and parameters without a value yet
	}
	values[command.Dir], values[command.Job] = folder, c.Job
	filled := command.FillAll(*c.Command, values)
	lines := []string{lab.ShellQuote([]string{"mkdir", "-p", folder}), lab.ShellQuote([]string{"cd", folder})}
	if filled.User != "" {
		lines = append(lines, "# as root: chown "+filled.User+" ., and all but the last line as that user")
	}
	for _, folder := range filled.Path {
		lines = append(lines, "for folder in "+folder+`; do PATH="$PATH:$folder"; done`)
	}
	for _, name := range slices.Sorted(maps.Keys(filled.Environment)) {
		lines = append(lines, "export "+lab.ShellQuote([]string{name + "=" + filled.Environment[name]}))
	}
	for _, argv := range filled.Prepare {
		lines = append(lines, lab.ShellQuote(argv))
	}
	lines = append(lines, lab.ShellQuote(filled.Argv)+"  # measured")
	for _, argv := range filled.CleanUp {
		lines = append(lines, lab.ShellQuote(argv))
	}
	return append(lines, "cd .. && "+lab.ShellQuote([]string{"rm", "-r", folder}))
}

// execTitle returns a short description of a command: its name, and the parameters that distinguish it from the job's
// other cells.
func (c Cell) execTitle() string {
	words := []string{c.Job}
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		if strings.Contains(c.ID, fileName(short(name, c.Params[name]))) {
			words = append(words, name+"="+c.Params[name])
		}
	}
	return strings.Join(words, " ")
}
