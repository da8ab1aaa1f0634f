package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// docCommand is a command line of the docs, and the mark of its block.
type docCommand struct {
	line string
	mark *docMark
}

// docMark is a comment before a block, or before the heading of a page, about commands that scripted machines can't
// carry out:
//
//	<!-- needs: a cluster -->    for want of that
//	<!-- tested: TestName -->    another test carries them out, or such as differ in names alone
type docMark struct {
	needs, tested string
	used          bool // a command there could not be carried out
}

// docCommands are the command lines of a page's blocks, without the remarks beside them and without what a shell does
// with the output.
func docCommands(page string) (found []docCommand) {
	marked := regexp.MustCompile(`^<!-- (needs|tested): (.*) -->$`)
	command := regexp.MustCompile(`^ *(?:\$ )?((?:headroom|make) [a-z-](?:'[^']*'|"[^"]*"|[^'"])*)$`)
	remark := regexp.MustCompile(` (?: |[|>#&]).*$`)
	var ofPage, next *docMark
	heading, fenced, begun := false, false, ""
	for _, line := range strings.Split(page, "\n") {
		m := marked.FindStringSubmatch(line)
		if begun != "" {
			line = begun + " " + strings.TrimSpace(line)
		}
		begun = ""
		switch {
		case m != nil:
			if next = (&docMark{needs: m[2]}); m[1] == "tested" {
				next = &docMark{tested: m[2]}
			}
			if !heading {
				ofPage = next
			}
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			if fenced {
				next = ofPage
			}
			fenced = !fenced
		case !fenced && strings.HasPrefix(line, "#"):
			heading, next = true, ofPage
		case (fenced || strings.HasPrefix(line, "    ")) && strings.HasSuffix(line, `\`):
			begun = strings.TrimRight(line, `\ `)
		case fenced || strings.HasPrefix(line, "    "):
			if m := command.FindStringSubmatch(line); m != nil {
				found = append(found, docCommand{remark.ReplaceAllString(m[1], ""), next})
			}
		case strings.TrimSpace(line) != "":
			next = ofPage
		}
	}
	return found
}

// Every command of the docs is carried out on scripted machines, or a mark says why it is not: another test does it, or
// it needs what no test has.
func TestCommandsOfTheDocs(t *testing.T) {
	var mu sync.Mutex
	count := map[string]int{}
	pages := append(docPages(t), "../../README.md")
	tests := testNames(t)
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("pages", func(t *testing.T) {
		for _, name := range pages {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			commands := docCommands(string(text))
			if len(commands) == 0 || filepath.Base(name) == "commands.md" { // which has how they are called
				continue
			}
			t.Run(strings.TrimPrefix(name, "../../"), func(t *testing.T) {
				inDocLab(t, func(l *docLab) {
					for i, c := range commands {
						how := l.look(c, commands[i+1:], tests, string(makefile))
						mu.Lock()
						count[how]++
						mu.Unlock()
					}
					for _, c := range commands {
						if c.mark != nil && !c.mark.used {
							l.Errorf("%s: the mark of its block isn't needed: all commands there are carried out",
								c.line)
						}
					}
				})
			})
		}
	})
	t.Logf("commands of the docs: %v", count)
	if count["run"] < 50 {
		t.Errorf("%d commands were carried out", count["run"])
	}
}

// look carries a command out, if it can be, and says how it was looked at.
func (l *docLab) look(c docCommand, later []docCommand, tests, makefile string) (how string) {
	l.Helper()
	if goal, isMake := strings.CutPrefix(c.line, "make "); isMake {
		goal, _, _ = strings.Cut(goal, " ")
		if !strings.Contains(makefile, "\n"+goal+":") {
			l.Errorf("%s: there is no such goal", c.line)
		}
		return "of make"
	}
	if fault := parsed(c.line); fault != "" {
		l.Errorf("%s: %s", c.line, fault)
		return "wrong"
	}
	if strings.Contains(c.line, "…") {
		return "parsed"
	}
	fault := "it goes on until it is interrupted"
	if argumentsOf(c.line)[1] != "serve" {
		fault = l.carryOut(c.line, later)
	}
	switch {
	case fault == "":
		return "run"
	case c.mark == nil:
		l.Errorf("%s: %s\nIf the command is right, say before its block who carries it out, <!-- tested: TestName "+
			"-->, or what it needs, <!-- needs: a cluster -->", c.line, fault)
		return "failed"
	}
	c.mark.used = true
	if c.mark.needs != "" {
		return "marked"
	}
	if !strings.Contains(tests, " "+c.mark.tested+" ") {
		l.Errorf("%s: there is no test %s", c.line, c.mark.tested)
	}
	return "run by a test of their own"
}

// parsed says what is wrong with the flags of a command.
func parsed(line string) (fault string) {
	args := argumentsOf(line)[1:]
	c, rest, err := documentedRoot().Find(args)
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// Commands in the middle of a sentence have flags that are there.
func TestCommandsInSentencesOfTheDocs(t *testing.T) {
	n := 0
	for _, name := range docPages(t) {
		n += len(checkInlineCommands(t, name))
	}
	if n < 50 {
		t.Errorf("%d commands", n)
	}
}

// The forms for reports on GitHub ask for the output of commands that are there.
func TestCommandsOfIssueForms(t *testing.T) {
	forms, err := filepath.Glob("../../.github/ISSUE_TEMPLATE/*.yml")
	if err != nil || len(forms) == 0 {
		t.Fatalf("%d forms: %v", len(forms), err)
	}
	for _, name := range forms {
		asked := strings.Join(checkInlineCommands(t, name), "\n")
		if base := filepath.Base(name); base != "bug.yml" && base != "verdict.yml" {
			continue
		}
		for _, want := range []string{"headroom version", "headroom export RUN --format run -o run.headroom",
			"headroom facts --json --redact > facts.json"} {
			if !strings.Contains(asked, want) {
				t.Errorf("%s does not ask for what %s prints or writes", name, want)
			}
		}
		if strings.Contains(asked, "--serials") {
			t.Errorf("%s asks for names of machines", name)
		}
	}
}

// checkInlineCommands returns the commands between backquotes in a file, and fails for each that is not there or has
// a flag that is not there.
func checkInlineCommands(t *testing.T, name string) (commands []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	flag := regexp.MustCompile(`--[a-z][a-z-]*`)
	for _, m := range regexp.MustCompile("`(headroom [a-z][^`]*)`").FindAllStringSubmatch(string(text), -1) {
		commands = append(commands, m[1])
		c, _, err := documentedRoot().Find(strings.Fields(m[1])[1:])
		if err != nil || !c.HasParent() {
			t.Errorf("%s: %s: there is no such command", name, m[1])
			continue
		}
		for _, f := range flag.FindAllString(m[1], -1) {
			if f = f[2:]; f != "help" && c.Flags().Lookup(f) == nil && c.InheritedFlags().Lookup(f) == nil {
				t.Errorf("%s: %s: there is no flag --%s", name, m[1], f)
			}
		}
	}
	return commands
}

func docPages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*/*.md")
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	return pages
}

// testNames are the names of this package's tests, each between spaces.
func testNames(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of tests: %v", len(files), err)
	}
	names := " "
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			names += m[1] + " "
		}
	}
	return names
}
