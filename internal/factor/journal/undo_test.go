package journal

import "testing"

func TestThreadsOfTheKernelRunNoProgram(t *testing.T) {
	for stat, want := range map[string]bool{
		"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0":            true,
		"77 (kworker/0:1 (x) R) I 2 0 0 0 -1 69238880 0 0 0 0 0":   true,
		"4711 (sh) Z 1 4711 4711 0 -1 4194564 0 0 0 0 0 0 0 0 20":  true,
		"4712 (dd) R 4711 4711 4711 0 -1 4194304 0 0 0 0 0 0 0 0":  false,
		"4713 (a) b) S 1 4713 4713 0 -1 4194304 120 0 0 0 0 0 0 0": false,
		"": false, "garbage": false,
	} {
		if got := noProgram(stat); got != want {
			t.Errorf("%q: %v", stat, got)
		}
	}
}
