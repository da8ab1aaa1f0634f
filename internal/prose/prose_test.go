package prose

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 repetition": Count(1, "repetition"), "0 cells": Count(0, "cell"), "2 processes": Count(2, "process"),
		"3 switches": Count(3, "switch"), "-1 boxes": Count(-1, "box"), "10000 NICs": Count(10_000, "NIC"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAbout(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 1: "1", 99: "99", 100: "about 100", 101: "about 110", 999: "about 1,000", 1437: "about 1,500",
		1_000_000: "about 1,000,000",
	} {
		if got := About(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestLists(t *testing.T) {
	words := strings.Fields("a b c d e f")
	for _, c := range []struct {
		n         int
		list, few string
	}{
		{0, "", ""}, {1, "a", "a"}, {2, "a and b", "a and b"}, {3, "a, b and c", "a, b and c"},
		{4, "a, b, c and d", "a, b, c and d"}, {5, "a, b, c, d and e", "a, b, c and 2 more"},
		{6, "a, b, c, d, e and f", "a, b, c and 3 more"},
	} {
		if got := List(words[:c.n]); got != c.list {
			t.Errorf("List of %d: %q, want %q", c.n, got, c.list)
		}
		if got := Few(words[:c.n], 3); got != c.few {
			t.Errorf("Few of %d: %q, want %q", c.n, got, c.few)
		}
	}
	if Capital("") != "" || Capital("reads 4k") != "Reads 4k" {
		t.Error("Capital")
	}
}

func TestLastLines(t *testing.T) {
	none := func(string) bool { return false }
	for printed, want := range map[string]string{
		"": "", "\n \n": "", "one\n\n  two\n": "one / two", "1\n2\n3\n4\n5\n6\n7": "3 / 4 / 5 / 6 / 7",
		"\xff": "?", strings.Repeat("é", 600): "…" + strings.Repeat("é", 500),
	} {
		if got := LastLines(printed, none); got != want {
			t.Errorf("%q: %q, want %q", printed, got, want)
		}
	}
	if got := LastLines("a\nmake: b\n", func(l string) bool { return strings.HasPrefix(l, "make") }); got != "a" {
		t.Errorf("%q", got)
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text          string
		width, indent int
		want          []string
	}{
		{"", 10, 2, []string{""}}, {"   ", 10, 2, []string{""}}, {"a b", 10, 2, []string{"a b"}},
		{"one two three", 8, 0, []string{"one two", "three"}},
		{"  one two three", 9, 4, []string{"  one two", "    three"}},
		{"see /dev/disk/by-id/nvme-1 there", 10, 2, []string{"see", "  /dev/disk/by-id/nvme-1", "  there"}},
		{"é é é", 3, 0, []string{"é é", "é"}}, {"a\x1b[1mb\nc", 80, 0, []string{`a\u001b[1mb c`}},
	} {
		if got := Wrap(c.text, c.width, c.indent); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("Each number is the median of 3 repetitions; ± covers it", 40, 3)
	f.Add("   !1 /dev/disk/by-id/nvme-a-name-that-is-far-longer-than-the-line-is-wide", 20, 4)
	f.Add("", 10, 0)
	f.Fuzz(func(t *testing.T, text string, width, indent int) {
		if width < 10 || width > 300 || indent < 0 || indent > width/2 || !utf8.ValidString(text) {
			return
		}
		if lead := len(text) - len(strings.TrimLeft(text, " ")); lead > width/2 {
			return // no caller indents by more than that
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		lines := Wrap(text, width, indent)
		for _, line := range lines {
			if Columns(line) > width && len(strings.Fields(line)) > 1 {
				t.Errorf("%d columns: %q", Columns(line), line)
			}
		}
		if got := squeeze(strings.Join(lines, "")); got != squeeze(Visible(text)) {
			t.Errorf("text was lost or added: %q became %q", text, got)
		}
	})
}
