package render

import (
	"strings"
	"testing"
)

func TestAlignUnits(t *testing.T) {
	got := alignUnits([]string{"258 MiB/s", "3.98 GiB/s", "", "12 B/s"})
	want := []string{" 258 MiB/s", "3.98 GiB/s", "", "  12 B/s  "}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, want %q", got, want)
	}
}

// Shortened names are as distinct as the full ones.
func TestCutNamesStayApart(t *testing.T) {
	names := []string{"read 4k env:LEVEL=500 job:count=6", "read 4k job:count=6", "read 4k job:count=6", "seq"}
	short := apart(names, 12)
	if short[0] == short[1] || short[1] != short[2] || short[3] != "seq" {
		t.Errorf("%q", short)
	}
	if got := apart([]string{"a long name", "another long name"}, 9); got[0] != "a … name" || got[1] != "anot…name" {
		t.Errorf("%q, where 9 columns are enough", got)
	}
	targets := []string{"read randread 4k target=here", "read randread 4k target=all"}
	if got := apart(targets, 19); got[0] != "read … target=here" || got[1] != "read … target=all" {
		t.Errorf("%q, where the target tells rows apart", got)
	}
}
