package reference

import (
	"strings"
	"testing"
)

func TestParseScores(t *testing.T) {
	m, err := ParseScores("mine.csv",
		strings.NewReader("# a remark\nbs,rw,iodepth,gain %,smallest guest:iothreads for 90%\n4k,randread,16,-3,0\n"))
	if err != nil {
		t.Fatal(err)
	}
	if r := m.Rows[0]; m.Factor != "guest:iothreads" || m.Share != 0.9 || len(m.Rows) != 1 || r.Gain != -0.03 ||
		r.Smallest != "0" || r.Params["bs"] != "4k" || r.Params["iodepth"] != "16" {
		t.Errorf("%+v", m)
	}
	for want, text := range map[string]string{
		"mine.csv:1: expected a line that names the columns": "",
		`mine.csv:1: expected rw, bs, numjobs, iodepth`:      "rw,threads,gain %,smallest x for 90%\n",
		"mine.csv:1: expected the columns rw, gain %":        "rw,bs,gain %\n",
		`mine.csv:1: "many" is no share`:                     "rw,gain %,smallest x for many\n",
		`mine.csv:2: expected a gain in percent, found "a lot"`: "rw,gain %,smallest x for 90%\n" +
			"read,a lot,4\n",
		"mine.csv:1: expected rows below the names of the columns, found none": "rw,gain %,smallest x for 90%\n",
		"wrong number of fields": "rw,gain %,smallest x for 90%\nread,4\n",
	} {
		if _, err := ParseScores("mine.csv", strings.NewReader(text)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseScores(f *testing.F) {
	data, err := builtInScores.ReadFile("merits/iothreads-report.csv")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add("rw,gain %,smallest x for 90%\nread,4,\"4\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseScores("f", strings.NewReader(text))
		if err == nil && (m.Factor == "" && m.Share == 0 || len(m.Rows) > maxTableRows) {
			t.Errorf("%+v", m)
		}
	})
}
