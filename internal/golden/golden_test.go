package golden

import "testing"

func TestFirstDifference(t *testing.T) {
	for _, c := range []struct {
		got, want string
		n         int
		g, w      string
	}{
		{"a\nb\n", "a\nb\n", 0, "", ""},
		{"a\nb\n", "a\nc\n", 2, "b", "c"},
		{"a\nb", "a", 2, "b", "(no line)"},
		{"a\n", "a", 2, "", "(no line)"},
		{"", "a", 1, "", "a"},
	} {
		if n, g, w := firstDifference(c.got, c.want); n != c.n || g != c.g || w != c.w {
			t.Errorf("%q, %q: %d %q %q", c.got, c.want, n, g, w)
		}
	}
}
