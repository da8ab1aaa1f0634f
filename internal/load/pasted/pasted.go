// Package pasted parses text that people copy from a terminal: prompts, commands and colours, and the output of
// netperf and neper, which headroom does not run. A value that is not printed is absent, never zero.
package pasted

import (
	"regexp"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// Plain removes additions of terminals and web pages from a line: colours, carriage returns (the text after the last
// one was visible), non-breaking spaces.
func Plain(line string) string {
	line = colours().ReplaceAllString(line, "")
	line = strings.TrimRight(strings.ReplaceAll(line, "\u00a0", " "), " \t\r")
	return line[strings.LastIndexByte(line, '\r')+1:]
}

var colours = prose.Pattern("\x1b\\[[0-9;?]*[A-Za-z]")

// Prompt begins with user and host, or is PowerShell's, and a command follows. A lone # also begins a heading.
var Prompt = prose.Pattern(
	`^\s*(?:\[?[\w.-]+@[\w.-]+[: ][^#$%>]{0,200}[#$%>]|\$|PS [A-Z]:[^>]{0,200}>)\s+\S`)

// Before matches text that can directly precede the name of a program that a line calls, in regular expressions. A
// quotation mark that begins a JSON value calls nothing.
const Before = "(?:^|[\\s/\\\\(;&|#$%>❯➜'`*]|(?:^|[^:,\\[{\\s]|[^\"]:)\\s*\")"

// From returns the call that begins at a position of a line, up to the mark that closes a quotation opened before it.
//
//	ssh db1 'sudo fio --name=x --rw=read'
//	kubectl exec fio-0 -- sh -c "fio --name=x --rw=read"
//	**`fio --name=x --rw=read`**
func From(line string, at int) string {
	var open byte // the quotation that contains the call
	for i := range at {
		switch c := line[i]; {
		case open != 0 && c == open:
			open = 0
		case open == 0 && strings.IndexByte("'\"`", c) >= 0 && (i == 0 || !isLetter(line[i-1])): // else an apostrophe
			open = c
		}
	}
	call := line[at:]
	switch before := strings.TrimRight(line[:at], " "); {
	case open != 0:
	case strings.HasSuffix(before, "$("):
		open = ')'
	case strings.HasSuffix(before, "**"):
		open = '*'
	}
	if end := strings.LastIndexByte(call, open); open != 0 && end >= 0 {
		return strings.TrimRight(call[:end], "*")
	}
	return call
}

// Command returns the call of a program in a line, split like a shell; nil if there is none. Call finds it: its group
// is the program's name.
func Command(line string, call *regexp.Regexp) []string {
	m := call.FindStringSubmatchIndex(line)
	if m == nil {
		return nil
	}
	return Words(From(line, m[2]))
}

// Words splits a command line like a POSIX shell, including quotes and backslashes, up to the first operator (a pipe, a
// redirection, another command). Variables are not replaced.
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
