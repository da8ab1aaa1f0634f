package linux

import (
	"slices"
	"testing"
)

func TestCPUSets(t *testing.T) {
	for text, want := range map[string]string{"0-7": "0-7", "0,1,2": "0-2", "3,5,9-11": "3,5,9-11", "8,0-3\n": "0-3,8",
		"1,1": "1"} {
		if cpus, err := ParseCPUs(text); err != nil || FormatCPUs(cpus) != want {
			t.Errorf("%q: %q, %v", text, FormatCPUs(cpus), err)
		}
	}
	for _, text := range []string{"", "a", "1-", "-1", "0-9999999", "3-2", "0;1"} {
		if cpus, err := ParseCPUs(text); err == nil {
			t.Errorf("%q: %v", text, cpus)
		}
	}
}

func FuzzCPUSets(f *testing.F) {
	for _, s := range []string{"0-7", "0-15,32-47", "3,5,9-11"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cpus, err := ParseCPUs(text)
		if err != nil {
			return
		}
		if again, err := ParseCPUs(FormatCPUs(cpus)); err != nil || !slices.Equal(again, cpus) {
			t.Errorf("%q: %v, then %v, %v", text, cpus, again, err)
		}
	})
}
