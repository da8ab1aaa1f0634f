package rule

import (
	"io/fs"
	"testing"
)

// BuiltIn does not check the conditions of the built-in rules, so this test does.
func TestBuiltInConditionsHaveNoFault(t *testing.T) {
	names, err := fs.Glob(builtIn, "rules/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		data, err := builtIn.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(name, data); err != nil {
			t.Error(err)
		}
	}
}
