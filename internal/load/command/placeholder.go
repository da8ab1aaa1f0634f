// Package command handles the jobs of the engine "exec": argument vectors with placeholders go in, values parsed from
// the output of a command come out. It is pure; the runner runs the commands.
package command

import (
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// Placeholders that only the target can fill in.
const (
	Dir  = "dir"  // the job's folder, below the place under test
	CPUs = "cpus" // the number of CPUs
	Job  = "job"  // the job's name
)

// Tree is the placeholder of the folder in which the program under test was built. If a suite has a parameter of that
// name, it means the parameter.
const Tree = "tree"

// OfTarget are the placeholders that only the target can fill in.
func OfTarget() []string { return []string{Dir, CPUs, Job} }

// placeholder is a word of lower-case letters in braces. "${name}" of a shell, "{ print }" and "{2}" are not
// placeholders.
var placeholder = prose.Pattern(`\{([a-z][a-z0-9_]*)\}`)

// Placeholders returns the names in a text, each as often as it occurs.
func Placeholders(text string) []string {
	var names []string
	for _, at := range placeholder().FindAllStringSubmatchIndex(text, -1) {
		if !shells(text, at[0]) {
			names = append(names, text[at[2]:at[3]])
		}
	}
	return names
}

// shells reports whether the brace belongs to a variable of a shell.
func shells(text string, brace int) bool { return brace > 0 && text[brace-1] == '$' }

// Fill replaces the placeholders that have a value; the others stay. Values are not searched for placeholders.
func Fill(text string, values map[string]string) string {
	var b strings.Builder
	end := 0
	for _, at := range placeholder().FindAllStringSubmatchIndex(text, -1) {
		value, known := values[text[at[2]:at[3]]]
		if !known || shells(text, at[0]) {
			continue
		}
		b.WriteString(text[end:at[0]] + value)
		end = at[1]
	}
	return b.String() + text[end:]
}

// FillAll is Fill for every part of a command that can contain a placeholder.
func FillAll(c lab.Command, values map[string]string) lab.Command {
	c.Argv = fillEach(c.Argv, values)
	c.Prepare, c.CleanUp = fillLists(c.Prepare, values), fillLists(c.CleanUp, values)
	environment := maps.Clone(c.Environment)
	for name, value := range environment {
		environment[name] = Fill(value, values)
	}
	c.Environment = environment
	return c
}

func fillEach(argv []string, values map[string]string) []string {
	filled := make([]string, len(argv))
	for i, argument := range argv {
		filled[i] = Fill(argument, values)
	}
	return filled
}

func fillLists(lists [][]string, values map[string]string) [][]string {
	var filled [][]string
	for _, argv := range lists {
		filled = append(filled, fillEach(argv, values))
	}
	return filled
}

// Uses returns the names of all placeholders of a command, sorted, without duplicates.
func Uses(c lab.Command) []string {
	var names []string
	for _, argv := range slices.Concat([][]string{c.Argv}, c.Prepare, c.CleanUp,
		[][]string{slices.Collect(maps.Values(c.Environment))}) {
		for _, argument := range argv {
			names = append(names, Placeholders(argument)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Tools returns the programs that a command needs, each with its package if the suite names it. A program whose path
// contains a placeholder can't be searched for beforehand.
func Tools(c lab.Command) map[string]string {
	tools := maps.Clone(c.Needs)
	if tools == nil {
		tools = map[string]string{}
	}
	for _, argv := range slices.Concat([][]string{c.Argv}, c.Prepare, c.CleanUp) {
		if _, known := tools[argv[0]]; !known && len(Placeholders(argv[0])) == 0 && !strings.HasPrefix(argv[0], ".") {
			tools[argv[0]] = ""
		}
	}
	return tools
}
