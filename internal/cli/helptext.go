package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/prose"
)

// helpWidth is the width of help if its output is not a terminal. maxHelpWidth is the largest width of comfortable
// lines.
const (
	helpWidth    = 80
	maxHelpWidth = 100
)

// fitHelp fits the help of all commands to the terminal.
func fitHelp(root *cobra.Command, terminal io.Writer) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		width := helpWidth
		if n := app.Columns(terminal); n > 0 {
			width = min(n, maxHelpWidth)
		}
		var text strings.Builder
		out := c.OutOrStdout()
		c.Long = reflow(c.Long, width)
		c.SetOut(&text)
		nameSwitchesAlone(c.LocalFlags())
		nameSwitchesAlone(c.InheritedFlags())
		help(c, args)
		if !c.HasParent() {
			text.WriteString(exitCodeHelp())
		}
		c.SetOut(out)
		examples := false
		for line := range strings.Lines(groupFlags(c, text.String())) {
			line = strings.TrimRight(line, "\n")
			if line != "" && !strings.HasPrefix(line, " ") {
				examples = line == "Examples:"
			}
			if examples {
				fmt.Fprintln(out, foldCommand(line, width))
			} else {
				fmt.Fprintln(out, fitLine(line, width))
			}
		}
	})
}

// reflow wraps the paragraphs of a text again. Indented lines stay unchanged.
func reflow(text string, width int) string {
	var out, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, prose.Wrap(strings.Join(paragraph, " "), width, 0)...)
		}
		paragraph = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, " ") {
			end()
			out = append(out, line)
			continue
		}
		paragraph = append(paragraph, line)
	}
	end()
	return strings.Join(out, "\n")
}

// fitLine wraps a line of help that is too wide: a description of a flag or a command in its column, other text at its
// indentation.
func fitLine(line string, width int) string {
	if len([]rune(line)) <= width {
		return line
	}
	begins := len(line) - len(strings.TrimLeft(line, " "))
	head := strings.Repeat(" ", begins)
	if m := regexp.MustCompile(`^ +\S.*?  +`).FindString(line); m != "" && len([]rune(m)) <= width/2 {
		head = m
	}
	indent := strings.Repeat(" ", len([]rune(head)))
	lines := prose.Wrap(line[len(head):], width-len(indent), 0)
	return head + strings.Join(lines, "\n"+indent)
}

// foldCommand wraps a command that is too wide at spaces outside of quotes, with a backslash at the end of each line
// except the last, so it can still be pasted.
func foldCommand(line string, width int) string {
	words := shellWords(line)
	if len([]rune(line)) <= width || len(words) == 0 {
		return line
	}
	var folded []string
	current := "  " + words[0]
	for _, word := range words[1:] {
		if len([]rune(current))+1+len([]rune(word)) > width-2 {
			folded = append(folded, current+` \`)
			current = "     "
		}
		current += " " + word
	}
	return strings.Join(append(folded, current), "\n")
}

// shellWords returns the words of a command as typed, with quotes.
func shellWords(line string) []string {
	var words []string
	var quote rune
	begin := -1
	for i, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		}
		switch {
		case r == ' ' && quote == 0:
			if begin >= 0 {
				words, begin = append(words, line[begin:i]), -1
			}
		case begin < 0:
			begin = i
		}
	}
	if begin >= 0 {
		words = append(words, line[begin:])
	}
	return words
}
