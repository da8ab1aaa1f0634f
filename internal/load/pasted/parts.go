package pasted

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// Part is the output of one call of a program.
type Part struct {
	// Line is where it begins, Prompt the line of its command, or Line if there is none.
	Line, Prompt int
	// Command as the user typed it; nil if it was not pasted.
	Command []string
	// Lines are the lines from Line on, without colours.
	Lines []string
}

// Parts splits text at the calls of a program and at the lines that begin its output. Results after a command belong to
// it until another prompt follows: it ran in a loop.
func Parts(text string, call, begins *regexp.Regexp) []Part {
	all := []Part{{Line: 1, Prompt: 1}}
	begun := false
	next := func(line, prompt int, command []string) {
		if begun || command != nil || all[len(all)-1].Command != nil {
			all = append(all, Part{Line: line, Prompt: prompt, Command: command})
		}
		begun = false
	}
	open := ""
	for i, line := range strings.Split(text, "\n") {
		line = Plain(line)
		if open != "" {
			line, open = open+" "+strings.TrimSpace(line), ""
		}
		last := &all[len(all)-1]
		if cut, continues := strings.CutSuffix(line, `\`); continues {
			open = strings.TrimRight(cut, " ")
			continue
		}
		if command := Command(line, call); command != nil {
			next(i+2, i+1, command)
			continue
		}
		if Prompt().MatchString(line) {
			next(i+1, i+1, nil)
			continue
		}
		if begins.MatchString(line) {
			if begun {
				next(i+1, last.Prompt, last.Command)
				last = &all[len(all)-1]
				if last.Command == nil {
					last.Prompt = last.Line
				}
			}
			begun = true
		}
		last.Lines = append(last.Lines, line)
	}
	return slices.DeleteFunc(all, func(p Part) bool { return len(p.Lines) == 0 })
}

// Result is a measurement in a part.
type Result struct {
	Part
	// Job names the load, Params are its options.
	Job     string
	Params  map[string]string
	Values  map[string]float64
	Seconds float64
	// Test identifies a test that may be printed in two forms, such as a table and JSON, and Form is the current one;
	// empty if unknown.
	Test, Form string
	// Warnings are the reasons to distrust it.
	Warnings []lab.Warning
}

// Left is a line with a result that was not parsed, and the reason.
type Left struct {
	Line   int
	Reason string
}

// Number parses a number. ok is false for a number that a tool can't have measured: infinite, or negative.
func Number(text string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return 0, false
	}
	return v, true
}
