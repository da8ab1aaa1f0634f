package served

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// For every generator, timeout ends the server, it listens on the address under test, and both ends are the same
// program.
func TestGenerators(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range Generators() {
		if seen[g.Engine] || seen[g.Key] && g.Key != g.Engine {
			t.Errorf("%s is there twice", g.Engine)
		}
		seen[g.Engine], seen[g.Key] = true, true
		if got, ok := Of(g.Engine); !ok || got.Key != g.Key {
			t.Errorf("%s is not found by its name", g.Engine)
		}
		at := End{Address: "192.0.2.7", Port: 5301}
		server, client := g.Server(nil, at, 90*time.Second), g.Client(nil, at)
		if !slices.Equal(server[:4], []string{"timeout", "-k", "5", "90"}) || server[4] != g.Program(nil) ||
			client[0] != g.Program(nil) {
			t.Errorf("%s: %v, %v", g.Engine, server, client)
		}
		for _, argv := range [][]string{server, client} {
			if !slices.Contains(argv, "192.0.2.7") || !slices.Contains(argv, "5301") {
				t.Errorf("%s: %v", g.Engine, argv)
			}
		}
		if g.TestTime(nil) < time.Second || g.Title(nil) == "" || g.Install == "" || len(g.Options()) == 0 ||
			g.ErrorText(nil) != "" {
			t.Errorf("%s lacks something", g.Engine)
		}
		if message, _ := g.Fault(nil); message != "" {
			t.Errorf("%s by itself: %s", g.Engine, message)
		}
		if at.Unbound = true; g.Engine == "perftest" &&
			strings.Contains(strings.Join(g.Server(nil, at, time.Minute), " "), "192.0.2.7") {
			t.Error("a program that does not know the option is given it")
		}
	}
	if _, ok := Of("fio"); ok || len(seen) < 3 {
		t.Errorf("%v", seen)
	}
}
