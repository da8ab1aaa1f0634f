package figure

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// noted is a test that records its messages.
type noted struct {
	testing.TB
	logs, errors []string
}

func (n *noted) Helper()        {}
func (n *noted) Log(a ...any)   { n.logs = append(n.logs, fmt.Sprint(a...)) }
func (n *noted) Error(a ...any) { n.errors = append(n.errors, fmt.Sprint(a...)) }
func (n *noted) Errorf(format string, a ...any) {
	n.errors = append(n.errors, fmt.Sprintf(format, a...))
}

func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures")
	t.Setenv(Environment, "")
	n := &noted{TB: t}
	speed := Figure{Name: "import/speed", Unit: "B/s", Center: 278912345.6, N: 21, Better: Higher,
		Text: "documents in a second of CPU time"}
	Record(n, speed)
	if len(n.logs) != 0 || len(n.errors) != 0 {
		t.Errorf("an ordinary test says %q, %q", n.logs, n.errors)
	}

	t.Setenv(Environment, file)
	Record(n, speed)
	Record(n, Figure{Name: "stat/wrong", Unit: "share", Center: 0, Lo: 0, Hi: 0.02, Confidence: 0.95,
		N: 180, Better: Lower})
	want := []string{
		"figure: import/speed: 278912346 B/s n=21; documents in a second of CPU time",
		"figure: stat/wrong: 0 share [0, 0.02] n=180",
	}
	if !slices.Equal(n.logs, want) || len(n.errors) != 0 {
		t.Errorf("printed %q, %q", n.logs, n.errors)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wantFile := `{"name":"import/speed","unit":"B/s","center":278912345.6,"n":21,"better":"higher","text":"documents in a second of CPU time"}
{"name":"stat/wrong","unit":"share","center":0,"lo":0,"hi":0.02,"confidence":0.95,"n":180,"better":"lower"}
`
	if string(text) != wantFile {
		t.Errorf("written\n%s", text)
	}
	var read Figure
	if err := json.Unmarshal([]byte(strings.SplitAfter(wantFile, "\n")[1]), &read); err != nil || !read.Known() ||
		read.Hi != 0.02 {
		t.Errorf("read %+v: %v", read, err)
	}
}

func TestRecordRefuses(t *testing.T) {
	t.Setenv(Environment, filepath.Join(t.TempDir(), "figures"))
	for _, f := range []Figure{
		{Name: ""}, {Name: "Speed"}, {Name: "two words"}, {Name: "a//b"}, {Name: "a/"},
		{Name: "nothing", Center: math.NaN()}, {Name: "endless", Center: math.Inf(1)},
	} {
		n := &noted{TB: t}
		Record(n, f)
		if len(n.errors) != 1 {
			t.Errorf("%+v: %q", f, n.errors)
		}
	}
}

func TestName(t *testing.T) {
	for want, parts := range map[string][]any{
		"wrong":                       {"wrong"},
		"wrong/two-levels-15/3-v-3":   {"wrong", "two levels, 15%", "3 v 3"},
		"stat/wrong/0.05":             {"stat/wrong", 0.05},
		"disk/dev-vda":                {"disk", "dev-vda-"},
		"ladder/one-of-2-half":        {"ladder", "one of 2. (half)"},
		"sweep/12/normal-1/student-t": {"sweep", 12, "Normal 1%/Student t"},
	} {
		if got := Name(parts...); got != want {
			t.Errorf("%v: %s, want %s", parts, got, want)
		}
	}
}

// The interval of Clopper and Pearson, as R's binom.test prints it.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		hits, n int
		lo, hi  float64
	}{
		{0, 100, 0, 0.03621669},
		{5, 100, 0.01643188, 0.11283491},
		{50, 100, 0.39832113, 0.60167887},
		{100, 100, 0.96378331, 1},
		{1, 1, 0.025, 1},
	} {
		f := Share("x", c.hits, c.n, Lower)
		if math.Abs(f.Lo-c.lo) > 1e-6 || math.Abs(f.Hi-c.hi) > 1e-6 || f.Center != float64(c.hits)/float64(c.n) ||
			f.Confidence != 0.95 {
			t.Errorf("%d of %d: %+v", c.hits, c.n, f)
		}
	}
}

// The deviation is the root of 12.5, and 2.776445 the 97.5th percentile of Student's t with four degrees of freedom.
func TestMean(t *testing.T) {
	f := Mean("x", "s", []float64{1, 2, 3, 4, 10}, Lower)
	if math.Abs(f.Center-4) > 1e-12 || math.Abs(f.Hi-4-2.776445*math.Sqrt(12.5/5)) > 1e-5 ||
		math.Abs(f.Lo+f.Hi-8) > 1e-9 || f.N != 5 {
		t.Errorf("%+v", f)
	}
	if one := Mean("x", "s", []float64{1}, Lower); one.Known() || one.Center != 1 {
		t.Errorf("%+v", one)
	}
}
