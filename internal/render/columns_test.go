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
