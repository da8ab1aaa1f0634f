package spot

import (
	"slices"
	"strings"
	"testing"
)

func disciplineExamples() map[string]string {
	return map[string]string{
		`[{"kind":"noqueue","handle":"0:","root":true,"refcnt":2,"options":{}}]`: "noqueue",
		`[{"kind":"mq","handle":"0:","root":true,"options":{}},{"kind":"fq_codel","handle":"0:","parent":":1","options":{"limit":10240}},` +
			`{"kind":"fq_codel","handle":"0:","parent":":2","options":{}},{"kind":"clsact","handle":"ffff:","parent":"ffff:fff1","options":{}}]`: "mq fq_codel",
		`[{"kind":"htb","handle":"1:","root":true,"refcnt":3,"options":{"r2q":10}},{"kind":"pfifo","handle":"10:","parent":"1:10","options":{"limit":100}},` +
			`{"kind":"sfq","handle":"11:","parent":"1:11","options":{}}]`: "htb pfifo sfq",
	}
}

func TestParseDisciplines(t *testing.T) {
	for text, want := range disciplineExamples() {
		d, err := parseDisciplines([]byte(text))
		if err != nil || d.Text != want {
			t.Errorf("%s: %q, %v", text, d.Text, err)
		}
		if strings.HasPrefix(want, "mq") && !slices.Equal(d.leaves, []string{":1", ":2"}) {
			t.Errorf("leaves %q", d.leaves)
		}
	}
	for _, text := range []string{"", "[]", `[{"kind":"clsact","parent":"ffff:fff1"}]`, "qdisc noqueue 0: root"} {
		if d, err := parseDisciplines([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, d)
		}
	}
}

func FuzzParseDisciplines(f *testing.F) {
	for text := range disciplineExamples() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if d, err := parseDisciplines(text); err == nil && (d.Kind == "" || !strings.HasPrefix(d.Text, d.Kind)) {
			t.Errorf("%q: %+v", text, d)
		}
	})
}
