package compare

import (
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// measuredBy is a run as the command made it, a minute for three repetitions.
func measuredBy(r Run, command ...string) Run {
	r.Command, r.Repetitions = command, 3
	r.Created = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	r.Finished = r.Created.Add(time.Minute)
	return r
}

// others are so many other sessions of a load around a level, of which one is 2% faster than another.
func others(level float64, n int) Options {
	return Options{Others: func(Run, Cell, string) (sessions [][]float64) {
		for i := range n {
			at := level * (1 + 0.02*float64(i%2))
			sessions = append(sessions, []float64{at, at * 1.01, at * 0.99})
		}
		return sessions
	}}
}

// Three repetitions against three prove nothing: a fivefold loss is probable where four other sessions are known, with
// an interval of use and the command that would decide it.
func TestWhatIsProbable(t *testing.T) {
	base := measuredBy(run("BASE", reads, 41400, 39000, 43000), "/usr/bin/headroom", "run", "quick", "/srv", "--repeat",
		"3")
	slow := measuredBy(run("NEXT", reads, 8600, 8900, 8300), "/usr/bin/headroom", "run", "quick", "/srv", "--repeat",
		"3")
	few := Compare(knowledge(t), base, []Run{slow}, others(41000, 3))
	if c := only(t, few); c.Suggests != nil || c.Verdict != Differs {
		t.Fatalf("with three other sessions: %s, suggests %+v", c.Verdict, c.Suggests)
	}
	d := Compare(knowledge(t), base, []Run{slow}, others(41000, 4))
	c, n := only(t, d), d.New[0]
	s := c.Suggests
	if s == nil || s.Verdict != Slower || c.Verdict != Undecided && c.Verdict != Differs || n.Probably[Slower] != 1 {
		t.Fatalf("%s, suggests %+v", c.Verdict, s)
	}
	if s.Ratio != c.New.Center/c.Base.Center || *s.Lo > 0.2 || *s.Lo < 0.1 || *s.Hi < 0.22 ||
		*s.Hi > 0.4 || s.Sessions != 4 {
		t.Errorf("%+v", s)
	}
	if n.Decide == nil || n.Decide.Seconds < 60 || !strings.Contains(n.Decide.Command, "headroom run quick /srv") ||
		strings.Contains(n.Decide.Command, "/usr/bin") {
		t.Errorf("%+v", n.Decide)
	}
	if c.Verdict == Differs && !strings.HasPrefix(n.Decide.Command,
		"for i in $(seq 10); do headroom run quick /srv --repeat 3; done") {
		t.Errorf("%+v", n.Decide)
	}
}

// What is undecided for its spread takes more repetitions of the same command.
func TestHowManyRepetitionsDecide(t *testing.T) {
	values := func(level float64) []float64 {
		return []float64{level, level * 1.04, level * 0.97, level * 1.01, level * 0.99, level * 1.02}
	}
	base := measuredBy(run("BASE", reads, values(100)...), "headroom", "run", "quick", "/srv", "--repeat=6",
		"--label", "before")
	next := measuredBy(run("NEXT", reads, values(101)...), "headroom", "run", "quick", "/srv", "--repeat=6",
		"--label", "before")
	d := Compare(knowledge(t), base, []Run{next}, Options{})
	c := only(t, d)
	if c.Verdict != Undecided || c.Suggests != nil || c.More == 0 {
		t.Fatalf("%s: %s, %+v", c.Verdict, c.Why, c.Suggests)
	}
	if got := d.New[0].Decide; got == nil ||
		!strings.HasPrefix(got.Command, "headroom run quick /srv --label before --repeat ") {
		t.Errorf("%+v", got)
	}
}

// Nothing is suggested within the margin, of what is decided, nor where others could explain it; nobody knows what to
// type where the sides were measured by two commands.
func TestWhatSuggestsNothing(t *testing.T) {
	base := measuredBy(run("BASE", reads, 100, 101, 99), "headroom", "run", "quick", "/srv")
	for name, next := range map[string]Run{
		"within the margin": run("NEXT", reads, 98, 98.2, 97.8),
		"noise":             run("NEXT", reads, 80, 120, 95),
	} {
		if c := only(t, Compare(knowledge(t), base, []Run{next}, others(100, 4))); c.Suggests != nil {
			t.Errorf("%s: %s suggests %+v", name, c.Verdict, c.Suggests)
		}
	}
	disturbed := run("NEXT", reads, 70, 75, 65)
	if c := only(t, Compare(knowledge(t), base, []Run{disturbed}, others(100, 4))); c.Suggests == nil {
		t.Fatalf("%s suggests nothing", c.Verdict)
	}
	disturbed.Cells[0].Warnings = []lab.RepeatedWarning{
		{Warning: lab.Warning{Code: "other-load", Text: "others", Taints: []string{"*"}, MostError: 0.4}}}
	if c := only(t, Compare(knowledge(t), base, []Run{disturbed}, others(100, 4))); c.Suggests != nil {
		t.Errorf("others could explain it: %s suggests %+v", c.Verdict, c.Suggests)
	}
	elsewhere := measuredBy(run("NEXT", reads, 70, 71, 69), "headroom", "run", "quick", "/mnt")
	if d := Compare(knowledge(t), base, []Run{elsewhere}, Options{}); d.New[0].Decide != nil {
		t.Errorf("%+v", d.New[0].Decide)
	}
}
