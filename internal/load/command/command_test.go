package command

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/headroom/headroom/internal/lab"
)

func TestFill(t *testing.T) {
	values := map[string]string{"dir": "/srv/a b", "n": "{dir}"}
	for text, want := range map[string]string{
		"{dir}/data":     "/srv/a b/data",
		"{n}{n}":         "{dir}{dir}",
		"${dir} {other}": "${dir} {other}",
		"{ dir } {Dir}":  "{ dir } {Dir}",
		"a{2,3}{":        "a{2,3}{",
		"{{dir}}":        "{/srv/a b}",
		"":               "",
	} {
		if got := Fill(text, values); got != want {
			t.Errorf("Fill(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestUsesAndTools(t *testing.T) {
	c := lab.Command{
		Argv: []string{"make", "-j{cpus}", "O={dir}"}, Prepare: [][]string{{"{tool}", "x"}, {"./configure"}},
		CleanUp:     [][]string{{"rm", "{job}"}},
		Environment: map[string]string{"A": "{name}"}, Needs: map[string]string{"make": "make", "cc": "gcc"},
	}
	if got, want := Uses(c), []string{"cpus", "dir", "job", "name", "tool"}; !slices.Equal(got, want) {
		t.Errorf("uses %v, want %v", got, want)
	}
	if got, want := Tools(c), map[string]string{"make": "make", "cc": "gcc", "rm": ""}; !reflect.DeepEqual(got, want) {
		t.Errorf("needs %v, want %v", got, want)
	}
}

// Three lines of pgbench 15; the progress lines before them have the same words.
const pgbenchSaid = `progress: 1.0 s, 700.0 tps, lat 1.4 ms stddev 0.2
latency average = 1.234 ms
tps = 700.000000 (first)
tps = 810.372773 (without initial connection time)
`

func pgbench() lab.Command {
	return lab.Command{Argv: []string{"pgbench"}, Match: map[string]lab.Match{
		"transactions": {Expression: `(?m)^tps = ([0-9.]+)`, Scale: 1},
		"latency":      {Expression: `(?m)^latency average = ([0-9.]+) ms`, Scale: 1e-3},
	}}
}

func TestValues(t *testing.T) {
	got, err := Values(pgbench(), Ended{Took: 2 * time.Second, UserSeconds: 3, SystemSeconds: 1,
		Stdout: []byte(pgbenchSaid)})
	want := map[string]float64{"elapsed": 2, "cpu.user": 1.5, "cpu.system": 0.5, "transactions": 810.372773,
		"latency": 0.001234}
	for name, v := range want {
		if math.Abs(got[name]-v) > 1e-12 {
			t.Errorf("%s = %v, want %v", name, got[name], v)
		}
	}
	if err != nil || len(got) != len(want) {
		t.Errorf("%v, %v", got, err)
	}
	onStderr, err := Values(pgbench(), Ended{Took: time.Second, Stderr: []byte(pgbenchSaid)})
	if err != nil || onStderr["transactions"] != 810.372773 {
		t.Errorf("from standard error: %v, %v", onStderr, err)
	}
}

func TestWhatFailedHasNoValues(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		ended Ended
		want  string
	}{
		"a status": {Ended{ExitCode: 2, Stdout: []byte("begun\n"), Stderr: []byte("a\nb\n\nc\nd: no space\n")},
			"pgbench ended with exit status 2: b / c / d: no space"},
		"a signal": {Ended{ExitCode: -1, Signal: "killed", Stdout: []byte("begun\n")},
			"pgbench ended with signal: killed: begun"},
		"silence":      {Ended{}, "pgbench printed nothing that matches latency, transactions, and printed nothing"},
		"one is there": {Ended{Stdout: []byte("tps = 1\n")}, "pgbench printed nothing that matches latency: tps = 1"},
		"no number": {Ended{Stdout: []byte("latency average = 1 ms\ntps = ..\n")},
			"pgbench printed nothing that matches transactions: latency average = 1 ms / tps = .."},
		"long": {Ended{ExitCode: 1, Stderr: []byte(long)}, "pgbench ended with exit status 1: …" + long[:maxQuoted]},
	} {
		values, err := Values(pgbench(), c.ended)
		if err == nil || err.Error() != c.want || values != nil {
			t.Errorf("%s: %v, %q, want %q", name, values, err, c.want)
		}
	}
}

func TestUnits(t *testing.T) {
	for printed, want := range map[string]struct {
		unit  lab.Unit
		scale float64
	}{"ms": {lab.Seconds, 1e-3}, "MiB/s": {lab.BytesPerSecond, 1 << 20}, "tps": {lab.PerSecond, 1},
		"%": {lab.Share, 0.01}, "joules": {"joules", 1}} {
		if u, scale := Unit(printed); u != want.unit || scale != want.scale {
			t.Errorf("%s: %v times %v", printed, u, scale)
		}
	}
}

func TestCheckExpression(t *testing.T) {
	for text, want := range map[string]string{`a (\d+)`: "", `a`: "it has 0 groups", `(a)(b)`: "it has 2 groups",
		`(`: "missing closing ): `(`"} {
		if got := CheckExpression(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func FuzzValues(f *testing.F) {
	f.Add(`(?m)^tps = ([0-9.]+)`, []byte(pgbenchSaid), []byte("warning\n"), 0)
	f.Add(`(.*)`, []byte("1e999 NaN"), []byte(""), 1)
	f.Add(`(x)?`, []byte("\xff\xfe"), []byte("\x00"), 0)
	f.Fuzz(func(t *testing.T, expression string, stdout, stderr []byte, status int) {
		c := lab.Command{Argv: []string{"tool"}, Match: map[string]lab.Match{"m": {Expression: expression, Scale: 1}}}
		values, err := Values(c, Ended{ExitCode: status, Took: time.Second, Stdout: stdout, Stderr: stderr})
		if (err == nil) != (values != nil) {
			t.Fatalf("%v and %v", values, err)
		}
		for name, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s is %v", name, v)
			}
		}
		if err != nil && (!utf8.ValidString(err.Error()) || strings.Contains(err.Error(), "\n")) &&
			utf8.ValidString(expression) {
			t.Errorf("%q is no line", err)
		}
	})
}

func FuzzFill(f *testing.F) {
	f.Add("{dir}/{cpus} ${dir}", "/srv")
	f.Add("{{dir}}{", "{dir}")
	f.Fuzz(func(t *testing.T, text, value string) {
		filled := Fill(text, map[string]string{"dir": value})
		n := 0
		for _, name := range Placeholders(text) {
			if name == "dir" {
				n++
			}
		}
		if want := len(text) + n*(len(value)-len("{dir}")); len(filled) != want {
			t.Errorf("%q became %q, %d bytes and not %d", text, filled, len(filled), want)
		}
	})
}
