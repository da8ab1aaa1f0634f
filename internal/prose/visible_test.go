package prose

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWhatATerminalWouldObeyIsShown(t *testing.T) {
	for _, c := range []struct{ in, text, line string }{
		{"4k randread, größer 日本 ±5% ▕██▏ 👍", "4k randread, größer 日本 ±5% ▕██▏ 👍", "4k randread, größer 日本 ±5% ▕██▏ 👍"},
		{"a\n\tb", "a\n\tb", `a\u000a\u0009b`},
		{"\x1b]0;title\a", `\u001b]0;title\u0007`, `\u001b]0;title\u0007`},
		{"all is well\r\x1b[2K", `all is well\u000d\u001b[2K`, `all is well\u000d\u001b[2K`},
		{"\x00\x7f\u0080\u009b31m\u009f\u00a0", `\u0000\u007f\u0080\u009b31m\u009f` + "\u00a0",
			`\u0000\u007f\u0080\u009b31m\u009f` + "\u00a0"},
		{"\u202egnp.exe\u202c \u2066x\u2069 \u200e\u200f\u061c\u2028\u2029",
			`\u202egnp.exe\u202c \u2066x\u2069 \u200e\u200f\u061c\u2028\u2029`,
			`\u202egnp.exe\u202c \u2066x\u2069 \u200e\u200f\u061c\u2028\u2029`},
		{"\x9b31m \xff\xc3", `\x9b31m \xff\xc3`, `\x9b31m \xff\xc3`},
		{"\xe2\x80", `\xe2\x80`, `\xe2\x80`},
		{"", "", ""},
	} {
		if got := Visible(c.in); got != c.text {
			t.Errorf("the text %q: %q", c.in, got)
		}
		if got := Inline(c.in); got != c.line {
			t.Errorf("the line %q: %q", c.in, got)
		}
	}
}

// Only code with the key can send a sequence; a sequence in a name stays visible, whatever it guesses.
func TestOwnSequencesGoThrough(t *testing.T) {
	var out bytes.Buffer
	key := NewKey()
	w := key.Writer(&out)
	name := "evil\x1b[0m" + string(NewKey()) + "\x1b[31m"
	if _, err := w.Write([]byte(key.Own("\r\x1b[K") + key.Own("\x1b[1m") + name + key.Own("\x1b[0m") + "\n")); err !=
		nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "\r\x1b[K\x1b[1m"+Visible(name)+"\x1b[0m\n"; got != want {
		t.Errorf("got %q, not %q", got, want)
	}
	if got := Key("").Own("\x1b[1m"); got != "\x1b[1m" {
		t.Errorf("without a key: %q", got)
	}
	if another := NewKey(); another == key {
		t.Error("a key that can be guessed")
	}
}

// FuzzVisible checks that no control character passes, that harmless text and the meaning of JSON are preserved, and
// that the result does not depend on how the data is split.
func FuzzVisible(f *testing.F) {
	for _, seed := range []string{"plain", "\x1b[31m", "\u009b\x9b\xc2", "a\nb\tc\r", "\u202e\u2066\xe2\x80",
		"größer 日本 👍", "\x1bKEY\x1b[0m", "\x1bKE"} {
		f.Add(seed, uint(3))
	}
	f.Fuzz(func(t *testing.T, s string, at uint) {
		text, line := Visible(s), Inline(s)
		for name, got := range map[string]string{"text": text, "line": line} {
			if !utf8.ValidString(got) {
				t.Errorf("%s: %q is no UTF-8", name, got)
			}
			for _, r := range got {
				if isControl(r) && (name == "line" || r != '\n' && r != '\t') {
					t.Errorf("%s: %q of %q has %U", name, got, s, r)
				}
			}
		}
		if strings.IndexFunc(s, isControl) < 0 && utf8.ValidString(s) && (text != s || line != s) {
			t.Errorf("%q became %q and %q", s, text, line)
		}
		if Visible(text) != text || Inline(line) != line {
			t.Errorf("twice is not as once: %q", s)
		}
		document, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		shown := []byte(Visible(string(document)))
		if json.Unmarshal(document, &before) != nil || json.Unmarshal(shown, &after) != nil || before != after {
			t.Errorf("the JSON %s means %q after it", document, after)
		}
		var out bytes.Buffer
		w := Key("\x1bKEY").Writer(&out)
		cutAt := int(at % uint(len(s)+1))
		for _, piece := range []string{s[:cutAt], s[cutAt:]} {
			if n, err := w.Write([]byte(piece)); err != nil || n != len(piece) {
				t.Fatal(n, err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(s, "\x1bKEY") && out.String() != text {
			t.Errorf("in pieces of %d: %q, whole %q", cutAt, out.String(), text)
		}
	})
}
