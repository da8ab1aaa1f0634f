package storage

import "testing"

func TestSerialPage(t *testing.T) {
	for page, want := range map[string]string{
		"\x00\x80\x00\x06path-a":               "path-a",
		"\x00\x80\x00\x14     WD-WCC4E1012345": "WD-WCC4E1012345",
		"\x00\x80\x00\x04ab\x00\x00":           "ab",
		"\x00\x80\x00\xffcut off":              "cut off",
		"\x00\x83\x00\x04abcd":                 "",
		"\x00\x80":                             "",
		"\x00\x80\x00\x02\xff\xfe":             "",
		"":                                     "",
	} {
		if got := parseSerialPage([]byte(page)); got != want {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	}
}

func FuzzSerialPage(f *testing.F) {
	f.Add([]byte("\x00\x80\x00\x06path-a"))
	f.Add([]byte("\x00\x80\x00\x03a\x00b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, c := range parseSerialPage(data) {
			if c < 0x20 || c > 0x7e {
				t.Errorf("%q holds %q", data, c)
			}
		}
	})
}
