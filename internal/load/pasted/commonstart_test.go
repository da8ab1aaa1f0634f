package pasted

import (
	"bytes"
	"testing"
)

// TestWithoutCommonStart checks where the common part of lines ends: before the results, and never within the name of a
// machine.
func TestWithoutCommonStart(t *testing.T) {
	for text, want := range map[string]string{
		"I1129 10:00:01.1 1 a.go:12] one\nI1129 10:00:02.1 1 a.go:9] two\nI1129 10:00:03.1 1 a.go:9] three\n": "one\ntwo\nthree\n",
		"x <a>\nx   <b>\nx <c>\n":                       "<a>\n  <b>\n<c>\n",
		"x {\"n\": 1}\nx {\"n\": 2}\nx {\"n\": 3}\n":    "{\"n\": 1}\n{\"n\": 2}\n{\"n\": 3}\n",
		"x /sys/a:1\nx /sys/b:2\nx /sys/c:3\n":          "/sys/a:1\n/sys/b:2\n/sys/c:3\n",
		"l=i msg=\"a\"\nl=i msg=\"b\"\nl=i msg=\"c\"\n": "a\nb\nc\n",
		"n1: a\nn2: b\nn1: c\nn2: d\n":                  "",
		"10.0.0.5: a\n10.0.0.6: b\n10.0.0.5: c\n":       "",
		"fio-0 a\nfio-1 b\nfio-0 c\n":                   "",
		"a\nb\nc\n":                                     "",
		"x a\nx b\n":                                    "",
	} {
		if got := string(WithoutCommonStart([]byte(text))); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func FuzzWithoutCommonStart(f *testing.F) {
	f.Add([]byte("I1129 10:00:01.1 1 a.go:12] one\nI1129 10:00:02.1 1 a.go:9] two\n\nI1129 10:00:03.1 1 a.go:9] three\n"))
	f.Add([]byte("l=i msg=\"a\"\nl=i msg=\"b\"\nl=i msg=\"c\"\n"))
	f.Add([]byte("node1: a\nnode2: b\nnode1: c\nnode2: d\nnode1: e\nnode2: f\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := WithoutCommonStart(text)
		if got != nil && bytes.Count(got, []byte("\n")) != bytes.Count(text, []byte("\n")) || len(got) > len(text) {
			t.Errorf("%q became %q", text, got)
		}
		length := 0
		for _, named := range ByName(text) {
			length += len(named.Text)
		}
		if length > len(text) {
			t.Errorf("%q has lines of %d bytes", text, length)
		}
	})
}
