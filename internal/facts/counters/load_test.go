package counters

import (
	"testing"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
)

// FuzzLoadText reads one text as the files that say how busy a machine is.
func FuzzLoadText(f *testing.F) {
	factstest.Seed(f, vmStatPath)
	factstest.Seed(f, statPath)
	kinds := factstest.KindsByKey(catalogue.All())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := factstest.Files(map[string]string{vmStatPath: string(data), statPath: string(data)})
		found := []lab.Fact{swapped(r), steal(r)}
		factstest.CheckLines(t, found)
		factstest.CheckKinds(t, found, kinds)
	})
}
