package facts

import (
	"regexp"
	"testing"
	"unicode/utf8"
)

func FuzzRedact(f *testing.F) {
	f.Add("root=UUID=0b1f2c3d-8a4e-4b57-9c11-aa55d2e3f401 S6CKNN0T000002 02:42:ac:11:00:02")
	r := Redactor{secrets: []string{"S6CKNN0T000002", "storage-17"}}
	f.Fuzz(func(t *testing.T, text string) {
		got := r.Text(text)
		for _, s := range r.secrets {
			if regexp.MustCompile(`(^|[^0-9A-Za-z])` + s + `($|[^0-9A-Za-z])`).MatchString(got) {
				t.Errorf("%q still names %s", got, s)
			}
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q became broken text %q", text, got)
		}
	})
}
