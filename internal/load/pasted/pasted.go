// Package pasted reads what stands around results in text that people copy from a terminal: prompts, commands, colours.
package pasted

import (
	"regexp"
	"strings"
)

// Plain takes away what terminals and web pages put into a line: colours, carriage returns (of which the text behind
// the last one was seen), spaces that do not break.
func Plain(line string) string {
	line = colours.ReplaceAllString(line, "")
	line = strings.TrimRight(strings.ReplaceAll(line, "\u00a0", " "), " \t\r")
	return line[strings.LastIndexByte(line, '\r')+1:]
}

var colours = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// Prompt begins with user and host, or is PowerShell's, and a command follows. A lone # begins a heading as well.
var Prompt = regexp.MustCompile(
	`^\s*(?:\[?[\w.-]+@[\w.-]+[: ][^#$%>]{0,200}[#$%>]|\$|PS [A-Z]:[^>]{0,200}>)\s+\S`)

// Command returns the call of a program in a line, taken apart as a shell would; nil if there is none. Call finds it:
// its group is the program's name.
func Command(line string, call *regexp.Regexp) []string {
	m := call.FindStringSubmatchIndex(line)
	if m == nil {
		return nil
	}
	return Words(line[m[2]:])
}

// Words splits a command line as a POSIX shell does, quotes and backslashes included, up to the first operator
// (a pipe, a redirection, another command). Variables stay as they are written.
func Words(line string) []string {
	var words []string
	var word strings.Builder
	started := false
	quote := byte(0)
	end := func() {
		if started {
			words = append(words, word.String())
		}
		word.Reset()
		started = false
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			started = true
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				word.WriteByte(c)
			}
		case c == '\'' || c == '"':
			quote, started = c, true
		case c == ' ' || c == '\t':
			end()
		case c == '|' || c == '&' || c == ';' || c == '<' || c == '>':
			// 2>&1: the number belongs to the operator.
			if (c == '<' || c == '>') && (word.String() == "1" || word.String() == "2") {
				started = false
			}
			end()
			return words
		case c == '#' && !started:
			return words
		default:
			word.WriteByte(c)
			started = true
		}
	}
	end()
	return words
}
