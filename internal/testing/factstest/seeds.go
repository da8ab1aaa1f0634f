package factstest

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts/collect"
)

// Seed adds one file of every saved machine that has it; a parser without a real example fails.
func Seed(f *testing.F, name string) {
	f.Helper()
	n := 0
	for _, m := range Machines(f) {
		if file := m.Files[collect.PathInFS(name)]; file != nil && len(file.Data) > 0 {
			f.Add(file.Data)
			n++
		}
	}
	if n == 0 {
		f.Fatalf("no saved machine has %s", name)
	}
}

// SeedCommands adds the output of commands whose name begins with a prefix; a parser without a real example fails.
func SeedCommands(f *testing.F, prefix string) {
	f.Helper()
	n := 0
	for _, m := range Machines(f) {
		for command, text := range m.Printed {
			if strings.HasPrefix(command, prefix) {
				f.Add(text)
				n++
			}
		}
	}
	if n == 0 {
		f.Fatalf("no saved machine shows what %q prints", prefix)
	}
}
