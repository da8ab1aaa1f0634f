package cli

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxUngroupedFlags is the largest number of flags, --help included, that a command lists under one heading: more are
// hard to take in at a glance.
const maxUngroupedFlags = 8

// flagGroup is a heading of a command's help and the flags below it, in this order.
type flagGroup struct {
	title string
	flags []string
}

// flagGroups returns the headings under which help lists the flags of commands with more than maxUngroupedFlags. All
// commands share the list, so a flag has the same heading everywhere.
func flagGroups() []flagGroup {
	return []flagGroup{
		{"What is measured:", []string{
			"live", "layers", "suite", "as-published", "set", "set-base", "set-new", "set-fio", "size",
			"job", "factor", "setting", "alone", "keep", "reference",
			"good", "bad", "kernel", "tree", "build", "make", "keep-built",
			"group", "direction", "beside", "transport", "nfs-version", "options", "cell", "metric",
		}},
		{"Where:", []string{
			"on", "address", "port", "rdma-port", "export", "path", "mounted", "guest", "guest-place", "reference-on",
			"bring-fio",
		}},
		{"Events:", []string{"event", "event-on", "event-for", "undo", "no-undo", "event-left"}},
		{"How many and how long:", []string{
			"repeat", "precision", "budget", "pairs", "passes", "blocks", "confirm", "max-boots", "round",
			"net-pairs", "at-once",
			"order", "seed", "timeout",
		}},
		{"Decide:", []string{
			"margin", "alpha", "limit", "share", "baseline", "metrics", "all", "anyway", "fail-on", "no-priors",
			"rules", "risks", "unpriced",
		}},
		{"Profiles:", []string{"profile", "loads", "profile-hz", "recorder"}},
		{"Boots:", []string{"boot-on", "boot-way", "boot-limit"}},
		{"Safety:", []string{"dry-run", "wait", "destroy", "sampled", "max-writes", "reboot", "trust"}},
		{"Saved runs:", []string{"label", "resume", "show", "since"}},
		{"Output:", []string{"output", "format", "json", "warnings", "raw-cells", "serials", "redact",
			"for", "published"}},
	}
}

// firstFlags returns the most important flags of each of these commands, by the words of the command. Help lists them
// first, under "Flags:", and not again in their groups.
func firstFlags() map[string][]string {
	return map[string][]string{
		"run":              {"on", "repeat", "precision", "budget", "label"},
		"soak":             {"on", "for", "round", "job", "label"},
		"profile":          {"on", "loads", "job", "output", "label"},
		"net":              {"on", "address", "pairs", "repeat", "label"},
		"net interference": {"on", "group", "passes", "margin", "label"},
		"nfs":              {"on", "address", "export", "mounted", "label"},
		"ladder":           {"on", "guest", "passes", "budget", "label"},
		"compare":          {"margin", "fail-on", "live", "layers", "suite"},
		"sweep":            {"factor", "on", "limit", "budget", "label"},
		"ablate":           {"setting", "on", "alone", "budget", "label"},
		"bisect":           {"resume", "show", "budget", "output"}, // subcommands begin these searches
		"bisect args":      {"good", "bad", "on", "budget", "label"},
		"bisect sysctl":    {"good", "bad", "on", "budget", "label"},
		"bisect kconfig":   {"good", "bad", "tree", "on", "budget"},
		"bisect kernels":   {"kernel", "on", "margin", "budget", "label"},
		"bisect settings":  {"setting", "on", "margin", "budget", "label"},
		"bisect steps":     {"setting", "on", "margin", "budget", "label"},
		"bisect facts":     {"on", "keep", "margin", "budget", "label"},
		"bisect commits":   {"tree", "build", "on", "budget", "label"},
		"doctor":           {"on", "for", "keep", "fail-on", "all"},
		"history":          {"since", "metric", "cell", "margin", "fail-on"},
	}
}

// groupFlags puts the flags in the help of a command under headings if there are many.
func groupFlags(c *cobra.Command, help string) string {
	if len(shownFlags(c)) <= maxUngroupedFlags {
		return help
	}
	plain := "Flags:\n" + strings.TrimRightFunc(c.LocalFlags().FlagUsages(), unicode.IsSpace)
	return strings.Replace(help, plain, flagsUnderHeadings(c), 1)
}

// switchValue wraps the value of a flag that is on or off. It lacks the method IsBoolFlag, by which pflag knows such a
// value.
type switchValue struct{ pflag.Value }

// nameSwitchesAlone makes pflag print "--json" instead of "--json[=true|false]", which would take columns from the
// descriptions.
func nameSwitchesAlone(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if _, done := f.Value.(switchValue); f.Value.Type() == "bool" && !done {
			f.Value = switchValue{f.Value}
		}
	})
}

// beginsFlag returns how a line begins that names a flag, as pflag prints it: "  -o, --output string", "      --json".
func beginsFlag() *regexp.Regexp { return regexp.MustCompile(`(?m)^  (?:-., |    )--`) }

// flagsUnderHeadings lists the flags of a command by group. All descriptions begin in one column.
func flagsUnderHeadings(c *cobra.Command) string {
	groups := groupsOf(c)
	inOrder := pflag.NewFlagSet(c.Name(), pflag.ContinueOnError)
	inOrder.SortFlags = false
	for _, g := range groups {
		for _, name := range g.flags {
			inOrder.AddFlag(c.LocalFlags().Lookup(name))
		}
	}
	usages := inOrder.FlagUsages()
	// It does not split at lines: a description can have several.
	begins := append(beginsFlag().FindAllStringIndex(usages, -1), []int{len(usages)})
	var blocks []string
	for _, g := range groups {
		block := usages[begins[0][0]:begins[len(g.flags)][0]]
		blocks = append(blocks, g.title+"\n"+strings.TrimRightFunc(block, unicode.IsSpace))
		begins = begins[len(g.flags):]
	}
	return strings.Join(blocks, "\n\n")
}

// groupsOf returns the non-empty groups of a command's flags, the most important first. Each flag in help is in one of
// them.
func groupsOf(c *cobra.Command) []flagGroup {
	left := shownFlags(c)
	take := func(g flagGroup) flagGroup {
		taken := flagGroup{title: g.title}
		for _, name := range g.flags {
			if i := slices.Index(left, name); i >= 0 {
				taken.flags = append(taken.flags, name)
				left = slices.Delete(left, i, i+1)
			}
		}
		return taken
	}
	all := []flagGroup{take(flagGroup{"Flags:", append(firstFlags()[calledBy(c)], "help")})}
	for _, g := range flagGroups() {
		all = append(all, take(g))
	}
	all = append(all, flagGroup{"Other:", left}) // a test forbids them, but a flag must not vanish from help
	return slices.DeleteFunc(all, func(g flagGroup) bool { return len(g.flags) == 0 })
}

// shownFlags returns the names of the flags that belong to a command alone and are not hidden.
func shownFlags(c *cobra.Command) []string {
	var shown []string
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			shown = append(shown, f.Name)
		}
	})
	return shown
}

// calledBy returns the words of a command, without the program's name.
func calledBy(c *cobra.Command) string {
	if !c.HasParent() {
		return ""
	}
	return strings.TrimSpace(calledBy(c.Parent()) + " " + c.Name())
}
