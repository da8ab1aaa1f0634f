package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
)

func emptyTree() *commandTree {
	return newCommandTree(app.New(app.Environment{Env: func(string) string { return "" }}))
}

// builtIn are the commands below another that are no outlines any more, by the words that they are called with.
func builtIn(t *commandTree, above *cobra.Command) []string {
	var built []string
	for _, c := range above.Commands() {
		if _, isOutline := t.outlines[c]; !isOutline {
			built = append(append(built, calledBy(c)), builtIn(t, c)...)
		}
	}
	return built
}

func TestOnlyNamedCommandsAreBuilt(t *testing.T) {
	for line, want := range map[string][]string{
		"":                                nil,
		"--help":                          nil,
		"nosuch":                          nil,
		"completion bash":                 nil,
		"version --help":                  {"version"},
		"ls":                              {"list"},
		"--store run --config=x report a": {"report"},
		"run quick help":                  {"run"},
		"bisect":                          {"bisect"},
		"net --on help interference":      {"net", "net interference"},
		"rules --rules show show x":       {"rules", "rules show"},
	} {
		tree := emptyTree()
		tree.buildNamed(strings.Fields(line))
		if got := builtIn(tree, tree.root); !slices.Equal(got, want) {
			t.Errorf("%q builds %q, not %q", line, got, want)
		}
	}
}

func TestCommandsThatReadOthersGetAll(t *testing.T) {
	for _, line := range []string{"help run", "--store x help", "__complete run --", "__completeNoDesc r", "man x"} {
		tree := emptyTree()
		tree.buildNamed(strings.Fields(line))
		if len(tree.outlines) > 0 {
			t.Errorf("%q leaves %d commands that are not built", line, len(tree.outlines))
		}
	}
}

// A command is found by the same name before and after it is built.
func TestCommandsAreCalledAsListed(t *testing.T) {
	tree := emptyTree()
	seen := 0
	var look func(above *cobra.Command, all []listed)
	look = func(above *cobra.Command, all []listed) {
		for _, l := range all {
			seen++
			i := slices.IndexFunc(above.Commands(), func(c *cobra.Command) bool { return c.Name() == l.name })
			c := tree.build(above.Commands()[i])
			if c.Name() != l.name || l.short == "" || c.HasSubCommands() != (len(l.below) > 0) {
				t.Errorf("%q is listed, and built as %q", l.name, c.UseLine())
			}
			look(c, l.below)
		}
	}
	look(tree.root, commands())
	if seen < 40 {
		t.Errorf("%d commands", seen)
	}
}
