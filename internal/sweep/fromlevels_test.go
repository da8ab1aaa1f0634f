package sweep

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// importedLevels is a run as an importer makes it: virtual machines with I/O threads and pods, two loads each.
func importedLevels() (lab.Run, []lab.Repetition) {
	run := lab.Run{ID: "7KQ4M2X9TD", Source: lab.Imported}
	var reps []lab.Repetition
	add := func(id string, rates [2]float64, levels map[string]string) {
		run.Arms = append(run.Arms, lab.Arm{ID: id, Role: "storage", Levels: levels})
		for i, bs := range []string{"4096", "32768"} {
			cell := lab.Cell{ID: "randread-" + bs + "." + id, Arm: id, Engine: "fio", Job: "randread",
				Params: map[string]string{"rw": "randread", "bs": bs, "iodepth": "1"}}
			run.Cells = append(run.Cells, cell)
			reps = append(reps,
				lab.Repetition{Cell: cell.ID, Number: 1, Values: map[string]float64{"read.iops": rates[i]}})
		}
	}
	vm := func(threads string) map[string]string {
		return map[string]string{"guest:iothreads": threads, "kube:runtime_class": "vm", "kube:workers": "2"}
	}
	add("vm-16", [2]float64{190, 101}, vm("16"))
	add("vm-0", [2]float64{100, 100}, vm("0"))
	add("vm-4", [2]float64{185, 102}, vm("4"))
	add("pod", [2]float64{240, 110}, map[string]string{"kube:runtime_class": "runc", "kube:workers": "2"})
	return run, reps
}

func TestFromLevels(t *testing.T) {
	run, reps := importedLevels()
	if got := Factors(run.Arms); !slices.Equal(got, []string{"guest:iothreads", "kube:runtime_class"}) {
		t.Fatalf("factors %q", got)
	}
	in, err := FromLevels(run, sequence(reps, nil), By{Factor: "guest:iothreads", Reference: "kube:runtime_class=runc"},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	d := Analyze(in)
	if !d.MeansOnly || d.Baseline != "0" || d.Reference != "runc" || len(d.Levels) != 3 || d.Levels[1].Name != "4" ||
		len(d.Cells) != 2 || len(d.Notes) != 0 {
		t.Fatalf("%+v", d)
	}
	c := d.Cells[0]
	if c.Title != "randread 4k q1" || c.Top != "16" || c.SmallestForShare != "4" || !near(c.Gain.Ratio, 1.9) ||
		!near(c.ToReference.Ratio, 190.0/240) {
		t.Errorf("%+v", c)
	}
	if c := d.Cells[1]; c.Top != "4" || c.SmallestForShare != "0" {
		t.Errorf("%+v", c)
	}
	for _, c := range d.Cells {
		if c.Distinguishable || c.Verdict != Undecided || len(c.Harm) > 0 || c.Gain.Known() ||
			c.Gain.Verdict != Undecided {
			t.Errorf("%s: something is proved of levels that were not visited by turns: %+v", c.Title, c)
		}
	}
}

// However many repetitions a level has, they are of one session: they are one value, and prove nothing.
func TestRepetitionsOfALevelProveNothing(t *testing.T) {
	run, reps := importedLevels()
	for range 20 {
		reps = append(reps, reps[:8]...)
	}
	in, err := FromLevels(run, sequence(reps, nil), By{Factor: "guest:iothreads"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := Analyze(in)
	for _, c := range d.Cells {
		if c.Distinguishable || c.Verdict != Undecided || c.Levels[0].N != 1 {
			t.Errorf("%s: %+v", c.Title, c)
		}
	}
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "have no guest:iothreads are left out: 2") {
		t.Errorf("notes %q", d.Notes)
	}
}

// A load that differs between levels in more than the factor is no load of both, and is reported as left out.
func TestLoadsOfOneLevelAreLeftOut(t *testing.T) {
	run, reps := importedLevels()
	run.Cells[0].Params["ioengine"], run.Cells[2].Params["ioengine"], run.Cells[4].Params["ioengine"] = "libaio",
		"io_uring", "psync"
	in, err := FromLevels(run, sequence(reps, nil), By{Factor: "guest:iothreads"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := Analyze(in); len(d.Cells) != 1 || len(d.Notes) != 2 ||
		!strings.Contains(d.Notes[1], "loads of one guest:iothreads alone are left out: 3") {
		t.Errorf("%d cells, notes %q", len(d.Cells), d.Notes)
	}
}

// A factor that has one level at each level of another is no load of its own, and can't be distinguished from it.
func TestLevelsThatGoAlong(t *testing.T) {
	run, reps := importedLevels()
	run.Arms, run.Cells, reps = run.Arms[2:], run.Cells[4:], reps[4:]
	in, err := FromLevels(run, sequence(reps, nil), By{}, nil) // the only factor that has two levels
	if err != nil {
		t.Fatal(err)
	}
	d := Analyze(in)
	if d.Factor != "kube:runtime_class" || len(d.Cells) != 2 || !near(d.Cells[0].Gain.Ratio, 240.0/185) {
		t.Errorf("%+v", d)
	}
	if len(d.Notes) != 1 ||
		!strings.Contains(d.Notes[0],
			"can't be separated from guest:iothreads, which differs with it: 4 at vm, none at runc") {
		t.Errorf("notes %q", d.Notes)
	}
}

func TestFromLevelsRefuses(t *testing.T) {
	run, reps := importedLevels()
	for want, by := range map[string]By{
		"differ in several factors":  {},
		`has no factor "guest:cpus"`: {Factor: "guest:cpus"},
		"has no guest:iothreads=3":   {Factor: "guest:iothreads", Baseline: "3"},
		"has no loads at kube:runtime_class=kata": {Factor: "guest:iothreads",
			Reference: "kube:runtime_class=kata"},
		"has no loads at kube:runtime_class=vm without a guest:io": {Factor: "guest:iothreads",
			Reference: "kube:runtime_class=vm"},
	} {
		if _, err := FromLevels(run, sequence(reps, nil), by, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", by, err, want)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a/b-1) < 1e-9 }
