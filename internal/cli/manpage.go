package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headroom/headroom/internal/app"
)

// manual collects a page in the macros of man(7), which groff and mandoc read.
type manual struct {
	strings.Builder
	begins bool // the section is still empty
}

// roff escapes text. A hyphen becomes a minus, which can be copied.
func roff(text string) string { return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text) }

// text writes a line of text, which is never read as a request.
func (m *manual) text(line string) {
	escaped := roff(line)
	if strings.HasPrefix(escaped, ".") || strings.HasPrefix(escaped, "'") {
		escaped = `\&` + escaped
	}
	m.WriteString(escaped + "\n")
}

// heading begins a section.
func (m *manual) heading(title string) {
	m.macro("SH", title)
	m.begins = true
}

// paragraph begins a paragraph, except the first of a section, which needs no macro.
func (m *manual) paragraph() {
	if !m.begins {
		m.macro("PP")
	}
	m.begins = false
}

// macro writes a request with its arguments.
func (m *manual) macro(name string, arguments ...string) {
	m.WriteString("." + name)
	for _, a := range arguments {
		m.WriteString(` "` + strings.ReplaceAll(roff(a), `"`, `\(dq`) + `"`)
	}
	m.WriteString("\n")
}

// synopsis writes the syntax of a command.
func (m *manual) synopsis(c *cobra.Command) {
	m.macro("B", c.CommandPath())
	rest := strings.TrimPrefix(c.UseLine(), c.CommandPath())
	if !c.Runnable() || !c.HasParent() {
		rest = " COMMAND"
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		m.text(rest)
	}
}

// prose writes paragraphs; indented lines stay unchanged.
func (m *manual) prose(text string) {
	var indented []string
	end := func() {
		if len(indented) > 0 {
			m.literal(strings.Join(indented, "\n"))
		}
		indented = nil
	}
	begins := true
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "":
			begins = true
		case strings.HasPrefix(line, " "), strings.HasPrefix(line, "\t"):
			indented = append(indented, line)
			begins = true
		default:
			end()
			if begins {
				m.paragraph()
			}
			m.text(line)
			begins = false
		}
	}
	end()
}

// literal writes lines unchanged.
func (m *manual) literal(text string) {
	m.paragraph()
	m.macro("nf")
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		m.text(strings.TrimRight(line, "\n"))
	}
	m.macro("fi")
}

// item writes a word and its meaning.
func (m *manual) item(word, meaning string) {
	m.macro("TP")
	m.macro("B", word)
	m.text(meaning)
}

// commands lists the subcommands of a command, under the headings of help.
func (m *manual) commands(c *cobra.Command) {
	below := manualCommands(c)
	if len(below) == 0 {
		return
	}
	m.heading("COMMANDS")
	for _, g := range append(c.Groups(), &cobra.Group{Title: "Others:"}) {
		titled := false
		for _, sub := range below {
			if sub.GroupID != g.ID {
				continue
			}
			if !titled && len(c.Groups()) > 0 {
				m.macro("SS", strings.TrimSuffix(g.Title, ":"))
			}
			titled = true
			m.item(sub.Name(), sub.Short)
		}
	}
}

// options lists the flags of a command under the headings of help, then the flags of all commands.
func (m *manual) options(c *cobra.Command) {
	local := c.LocalFlags()
	if groups := groupsOf(c); len(shownFlags(c)) > 0 {
		m.heading("OPTIONS")
		for i, g := range groups {
			if i > 0 && len(shownFlags(c)) > maxUngroupedFlags {
				m.macro("SS", strings.TrimSuffix(g.title, ":"))
			}
			for _, name := range g.flags {
				m.flag(local.Lookup(name))
			}
		}
	}
	if inherited := c.InheritedFlags(); inherited.HasAvailableFlags() {
		m.heading("OPTIONS OF ALL COMMANDS")
		inherited.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				m.flag(f)
			}
		})
	}
}

// flagUsage matches a flag as pflag prints it: "  -o, --output FILE   write it to a file".
func flagUsage() *regexp.Regexp { return regexp.MustCompile(`(?s)^ *(-.*?)   +(.*)$`) }

// flag writes a flag with its value, its description and its default, like help.
func (m *manual) flag(f *pflag.Flag) {
	alone := pflag.NewFlagSet(f.Name, pflag.ContinueOnError)
	alone.AddFlag(f)
	nameSwitchesAlone(alone)
	usage := strings.TrimSpace(alone.FlagUsages())
	if parts := flagUsage().FindStringSubmatch(usage); parts != nil {
		m.item(parts[1], strings.Join(strings.Fields(parts[2]), " "))
		return
	}
	m.item(usage, "")
}

// exitStatus writes the table of exit codes on the page of the program; other pages refer to it.
func (m *manual) exitStatus(c *cobra.Command) {
	m.heading("EXIT STATUS")
	if c.HasParent() {
		m.text("See " + pageName(c.Root()) + "(1).")
		return
	}
	m.item("0", "done")
	for _, e := range app.ExitCodes() {
		m.item(fmt.Sprint(e.Code), e.Meaning)
	}
}

// surroundings writes the environment variables and the folder of runs.
func (m *manual) surroundings() {
	m.heading("ENVIRONMENT")
	m.item("HEADROOM_STORE", "folder of saved runs, where --store does not name one")
	m.item("NO_COLOR", "set to anything: the terminal shows no colours")
	m.heading("FILES")
	m.item("$XDG_DATA_HOME/headroom", "saved runs; ~/.local/share/headroom where the variable is not set")
}

// seeAlso names the pages of the parent command and of the subcommands.
func (m *manual) seeAlso(c *cobra.Command) {
	var pages []string
	if c.HasParent() {
		pages = append(pages, pageName(c.Parent())+"(1)")
	}
	for _, sub := range manualCommands(c) {
		pages = append(pages, pageName(sub)+"(1)")
	}
	if !c.HasParent() {
		pages = append(pages, "fio(1)", "iperf3(1)")
	}
	m.heading("SEE ALSO")
	m.text(strings.Join(pages, ", "))
}
