package option

import "testing"

func TestCanonical(t *testing.T) {
	for _, c := range []struct {
		option      Option
		value, want string
		taken       bool
	}{
		{Option{Kind: Toggle}, "true", "1", true},
		{Option{Kind: Toggle}, "yes", "", false},
		{Option{Kind: Number}, "12", "12", true},
		{Option{Kind: Number}, "0", "0", false},
		{Option{Kind: Number, Words: []string{"max"}}, "max", "max", true},
		{Option{Kind: Number, Words: []string{"max"}}, "most", "most", false},
		{Option{Kind: Size}, "128k", "128k", true},
		{Option{Kind: Size}, "much", "much", false},
		{Option{Kind: Duration}, "10s", "10s", true},
		{Option{Kind: Duration}, "0", "0", false},
		{Option{Kind: Duration, Zero: true}, "0", "0", true},
		{Option{Kind: Duration}, "1500ms", "1500ms", false},
		{Option{Kind: Text}, "cubic", "cubic", true},
		{Option{Kind: Text}, "-c", "-c", false},
		{Option{Kind: Text}, "two words", "two words", false},
		{Option{Kind: Text, Words: []string{"tcp", "udp"}}, "udp", "udp", true},
		{Option{Kind: Text, Words: []string{"tcp", "udp"}}, "sctp", "sctp", false},
	} {
		got, ok, hint := c.option.Canonical(c.value)
		if ok != c.taken || ok && got != c.want || hint == "" {
			t.Errorf("%+v: %q is %q, %v, %q", c.option, c.value, got, ok, hint)
		}
	}
}
