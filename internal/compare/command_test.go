package compare

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// commandSide is a run of one command, with values of a metric of its own beside its time.
func commandSide(id, metric string, info lab.MetricInfo, argv []string, load string, values []float64) Run {
	c := Cell{Job: "job", Engine: lab.EngineExec, Runs: &lab.Command{Argv: argv},
		Own: map[string]lab.MetricInfo{metric: info}, Params: params(load),
		N: len(values), Values: map[string][]Value{}}
	for i, v := range values {
		at := Value{Repetition: i + 1, Boot: "b", Block: i + 1}
		at.Value = v
		c.Values[metric] = append(c.Values[metric], at)
		at.Value = 5
		c.Values["elapsed"] = append(c.Values["elapsed"], at)
	}
	return Run{Run: lab.Run{ID: id, Source: lab.Measured, Status: lab.Complete}, Name: id, Cells: []Cell{c}}
}

func TestCommandsAreComparedByTheirOwnMetrics(t *testing.T) {
	know, r := knowledge(t), rand.New(rand.NewPCG(1, 2))
	low, high := noisy(r, 12, 100, 0.01), noisy(r, 12, 150, 0.01)
	argv := []string{"db"}
	for _, c := range []struct {
		name string
		info lab.MetricInfo
		want Verdict
	}{
		{"a rate", lab.MetricInfo{Unit: lab.PerSecond, Better: lab.Higher, Decides: true}, Faster},
		{"a rate of errors", lab.MetricInfo{Unit: lab.PerSecond, Better: lab.Lower, Decides: true}, Slower},
		{"joules", lab.MetricInfo{Unit: "joules", Better: lab.Lower, Decides: true}, Worse},
		{"points", lab.MetricInfo{Unit: lab.Count, Better: lab.Higher, Decides: true}, Better},
	} {
		d := Compare(know, commandSide("a", "own", c.info, argv, "", low),
			[]Run{commandSide("b", "own", c.info, argv, "", high)}, steady())
		if got := only(t, d); got.Metric != "own" || got.Verdict != c.want || got.Unit != c.info.Unit {
			t.Errorf("%s: %s of %s in %s, want %s", c.name, got.Verdict, got.Metric, got.Unit, c.want)
		}
	}
	plain := lab.MetricInfo{Unit: lab.PerSecond, Better: lab.Higher}
	if got := only(t, Compare(know, commandSide("a", "own", plain, argv, "", low),
		[]Run{commandSide("b", "own", plain, argv, "", high)}, Options{})); got.Metric != "elapsed" {
		t.Errorf("where no metric is marked %s decides", got.Metric)
	}
}

func TestCommandsThatDifferAreIncomparable(t *testing.T) {
	know, r := knowledge(t), rand.New(rand.NewPCG(1, 2))
	info, values := lab.MetricInfo{Unit: lab.PerSecond, Better: lab.Higher, Decides: true}, noisy(r, 6, 100, 0.01)
	base := commandSide("a", "own", info, []string{"make", "vmlinux"}, "seconds=0.1", values)
	for says, next := range map[string]Run{
		"exec make vmlinux -> make modules": commandSide("b", "own", info, []string{"make", "modules"}, "seconds=0.1",
			values),
		// As amounts of bytes both would be none, and timeout is the other name of a fio parameter that does not count.
		"seconds 0.1 -> 0.13": commandSide("b", "own", info, []string{"make", "vmlinux"}, "seconds=0.13", values),
		"timeout": commandSide("b", "own", info, []string{"make", "vmlinux"}, "seconds=0.1 timeout=3",
			values),
	} {
		if got := only(t, Compare(know, base, []Run{next}, Options{})); got.Verdict != Incomparable ||
			!strings.Contains(got.Why, says) {
			t.Errorf("%s, %q; want %q", got.Verdict, got.Why, says)
		}
	}
	fio := run("c", "seconds=0.1", 1, 2, 3)
	fio.Cells[0].Job = "job"
	if d := Compare(know, base, []Run{fio}, Options{Metrics: []string{"*"}}); len(d.Cells) != 0 {
		t.Errorf("a command was paired with a fio job: %+v", d.Cells)
	}
}
