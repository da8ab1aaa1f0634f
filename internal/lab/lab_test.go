package lab

import (
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTainted(t *testing.T) {
	w := Warning{Taints: []string{"read.*", "write.iops"}}
	for metric, want := range map[string]bool{"read.iops": true, "read.latency.p99": true, "write.iops": true,
		"write.bandwidth": false, "readahead": false, "cpu.user": false} {
		if w.Tainted(metric) != want {
			t.Errorf("Tainted(%q) = %v", metric, !want)
		}
	}
	if all := (Warning{Taints: []string{"*"}}); !all.Tainted("cpu.user") {
		t.Error("* does not taint all")
	}
	if none := (Warning{}); none.Tainted("read.iops") {
		t.Error("nothing taints something")
	}
}

// What ShellQuote prints must be read back by a real shell as the arguments it was made of.
func TestShellQuoteIsReadBack(t *testing.T) {
	for _, arg := range []string{"plain", "two words", "it's", `"`, "$HOME", "`id`", "a\nb", "", "*", "ü", `\`, "-n",
		"a=b", "!x", "#c", "~"} {
		out, err := exec.Command("sh", "-c", "printf %s "+ShellQuote([]string{arg})).Output()
		if err != nil || string(out) != arg {
			t.Errorf("%q came back as %q, %v", arg, out, err)
		}
	}
	if got := ShellQuote([]string{"fio", "--name=x", "--filename=/dev/nvme0n1"}); strings.Contains(got, "'") {
		t.Errorf("needless quotes: %s", got)
	}
}

func TestKindOfFindsTheKindAnywhere(t *testing.T) {
	refused := &Error{Kind: Refused, What: "no"}
	for _, c := range []struct {
		err  error
		want Kind
	}{
		{refused, Refused},
		{fmt.Errorf("starting: %w", refused), Refused},
		{errors.Join(errors.New("other"), refused), Refused},
		{errors.New("plain"), Failure},
		{nil, Failure},
	} {
		if got := KindOf(c.err); got != c.want {
			t.Errorf("KindOf(%v) = %v, want %v", c.err, got, c.want)
		}
	}
}

func TestErrorsSayWhatWhereAndTheWayOut(t *testing.T) {
	e := &Error{What: "can't discard /dev/sdb", Target: "ssh://db1", Command: []string{"blkdiscard", "/dev/sd b"},
		Output: "Invalid argument\n", Hints: []string{"try -z"}, Err: errors.New("exit status 1")}
	if got := e.Error(); got != "can't discard /dev/sdb on ssh://db1: exit status 1" {
		t.Errorf("%q", got)
	}
	want := "command: blkdiscard '/dev/sd b'\noutput:  Invalid argument\nhint:    try -z"
	if got := strings.Join(e.Details(), "\n"); got != want {
		t.Errorf("%q", got)
	}
}

func TestMetricsKnowTheirUnit(t *testing.T) {
	for name, want := range map[string]MetricInfo{
		IOPS(Read): {Unit: PerSecond, Better: Higher}, Bandwidth(Write): {Unit: BytesPerSecond, Better: Higher},
		Latency(Sync, "p99"):       {Unit: Seconds, Better: Lower},
		"read.submit_latency.mean": {Unit: Seconds, Better: Lower}, "cpu.user": {Unit: Share, Better: Lower},
		"cpu.per_io": {Unit: PerOperation, Better: Lower}, "elapsed": {Unit: Seconds, Better: Lower},
	} {
		if got := Metric(name); got != want {
			t.Errorf("Metric(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestLeftoversOfSeveralTargets(t *testing.T) {
	var l Leftovers
	for _, part := range []Leftovers{
		{Jobs: "R"},
		{Target: "ssh://a", Jobs: "R"},
		{Target: "ssh://b", Jobs: "R"},
		{Target: "ssh://b", Jobs: "R", Scratch: []string{"/b"}}, // known more of
		{Target: "ssh://b", Jobs: "S"},                          // twice on one target
		{Jobs: "R", Scratch: []string{"/first"}},
	} {
		l = l.With(part)
	}
	want := []Leftovers{
		{Target: "local", Jobs: "R", Scratch: []string{"/first"}},
		{Target: "ssh://a", Jobs: "R"},
		{Target: "ssh://b", Jobs: "R", Scratch: []string{"/b"}},
		{Target: "ssh://b", Jobs: "S"},
	}
	if got := l.Parts("local"); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// A warning is a line of a sentence, whatever it quotes; what it quotes is in the raw files.
func TestAWarningIsASentence(t *testing.T) {
	short := Warning{Code: "c", Text: "fio said: no space\n  left\ton it", Taints: []string{"*"}}
	if got := short.Brief(); got.Text != "fio said: no space left on it" || got.Code != "c" || len(got.Taints) != 1 {
		t.Errorf("%+v", got)
	}
	for _, unit := range []string{"x", "ä\x1b[31m\n", "\n"} {
		long := []Warning{{Text: "fio said: " + strings.Repeat(unit, 5<<20/len(unit)) + " the end"}}
		Brief(long)
		text := long[0].Text
		if len(text) > maxWarningText+100 || strings.ContainsAny(text, "\n") || !strings.HasPrefix(text, "fio said:") ||
			!strings.HasSuffix(text, "the end") || !utf8.ValidString(text) {
			t.Errorf("%d bytes: %.100q", len(text), text)
		}
	}
}
