package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// Fixtures returns the contents of the files that match a pattern, by their paths. It fails the test if fewer than
// least match, because a test over no files proves nothing.
func Fixtures(t testing.TB, pattern string, least int) map[string]string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) < least {
		t.Fatalf("%d files fit %s, want %d or more: %v", len(names), pattern, least, err)
	}
	all := make(map[string]string, len(names))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	return all
}
