package ladder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/figure"
)

// machine is a simulated one: what each rung really does, in B/s.
type machine struct {
	steps []Step
	rates []float64
}

func (m *machine) add(kind Kind, name string, rate float64, places, disks []string) *machine {
	s := Step{Rung: Rung{Name: name, Kind: kind, Places: places, Disks: disks, Jobs: max(1, len(disks))}}
	s.Below = -1
	switch kind {
	case Drive:
		s.Like = "model"
	case Volume, Files:
		s.Below = len(m.steps) - 1
	}
	m.steps, m.rates = append(m.steps, s), append(m.rates, rate)
	return m
}

// fourDrives are drives of 1 GB/s each, what two and all four of them do, and an array and a file system over them.
func fourDrives(together, array, files float64) *machine {
	m := &machine{}
	m.add(Memory, "/dev/shm", 9e9, []string{"/dev/shm"}, nil).add(Null, "null", 50e9, nil, nil)
	all := []string{"a", "b", "c", "d"}
	for _, d := range all {
		m.add(Drive, d, 1e9, []string{"/dev/" + d}, []string{d})
	}
	m.add(DriveGroup, "a and b", 2e9, []string{"/dev/a", "/dev/b"}, all[:2])
	m.add(DriveGroup, "all", together, []string{"/dev/a", "/dev/b", "/dev/c", "/dev/d"}, all)
	m.add(Volume, "/dev/md0", array, []string{"/dev/md0"}, all)
	return m.add(Files, "/srv", files, []string{"/srv"}, all)
}

func read1m() Load {
	return Load{Title: "read 1m q8",
		Cell: lab.Cell{ID: "read", Params: map[string]string{"rw": "read", "bs": "1m", "iodepth": "8"}}}
}

// analyze measures so many passes: a pass is up to 10% faster or slower as a whole, a load 1% by itself.
func (m *machine) analyze(r *rand.Rand, passes int) Document {
	var measured []Measured
	for block := 1; block <= passes; block++ {
		pass := math.Exp(0.1 * (2*r.Float64() - 1))
		for i, rate := range m.rates {
			v := rate * pass * math.Exp(0.01*r.NormFloat64())
			measured = append(measured, Measured{Rung: i, Cell: "read", Block: block,
				Values: map[string]float64{"read.bandwidth": v, "read.iops": v / (1 << 20), "cpu.user": 0.1,
					"cpu.system": 0.2}})
		}
	}
	return Analyze(m.steps, []Load{read1m()}, measured, nil, nil,
		Terms{Margin: DefaultMargin, Alpha: DefaultAlpha, Passes: passes, CPUs: 8})
}

// What is reached is the ratio of the rates beside it, though rungs lack passes.
func TestWhatIsReachedAgreesWithTheRatesBesideIt(t *testing.T) {
	m, r := fourDrives(2.4e9, 2.4e9, 2e9), rand.New(rand.NewPCG(6, 6))
	var measured []Measured
	for block := 1; block <= 6; block++ {
		pass := math.Exp(0.1 * r.NormFloat64())
		for i, rate := range m.rates {
			if (i+block)%7 > 0 {
				measured = append(measured, Measured{Rung: i, Cell: "read", Block: block,
					Values: map[string]float64{"read.bandwidth": rate * pass}})
			}
		}
	}
	d := Analyze(m.steps, []Load{read1m()}, measured, nil, nil,
		Terms{Margin: DefaultMargin, Alpha: DefaultAlpha, Passes: 6, CPUs: 8})
	seen := 0
	for _, rung := range d.Rungs {
		c := rung.Cells[0]
		if c.Expected == nil {
			continue
		}
		seen++
		if math.Abs(c.Reached.Value*c.Expected.Value / *c.Center - 1) > 1e-9 || *c.Reached.Lo > c.Reached.Value ||
			*c.Reached.Hi < c.Reached.Value {
			t.Errorf("%s: %g of %g, called %g", rung.Name, *c.Center, c.Expected.Value, c.Reached.Value)
		}
	}
	if seen < 5 {
		t.Errorf("%d rungs are compared", seen)
	}
}

func TestTheFirstRungThatFallsShortIsNamed(t *testing.T) {
	for _, c := range []struct {
		name string
		m    *machine
		rung string
		want []string
	}{
		{"the drives share something", fourDrives(2.4e9, 2.4e9, 2.4e9), "all",
			[]string{"all together reach ", "of the sum of each alone", "no ceiling is known"}},
		{"the array takes something", fourDrives(4e9, 3e9, 2e9), "/dev/md0",
			[]string{"/dev/md0 reaches 7", "of all ("}},
		{"the file system takes something", fourDrives(4e9, 4e9, 3.2e9), "/srv",
			[]string{"/srv reaches ", "of /dev/md0 ("}},
		{"one drive is slow", func() *machine {
			m := fourDrives(3.4e9, 3.4e9, 3.4e9)
			m.rates[4] = 0.4e9
			return m
		}(), "c", []string{"c reaches ", "of drives like it"}},
	} {
		d := c.m.analyze(rand.New(rand.NewPCG(1, 2)), 6)
		if d.Answer.Rung == nil || d.Rungs[*d.Answer.Rung].Name != c.rung || d.Answer.Verdict != Short {
			t.Errorf("%s: %+v", c.name, d.Answer)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(d.Answer.Text, w) {
				t.Errorf("%s: nothing of %q in %q", c.name, w, d.Answer.Text)
			}
		}
	}
}

func TestACeilingExplainsWhatIsMissing(t *testing.T) {
	m := fourDrives(2.4e9, 2.4e9, 2.4e9)
	bound := map[string][]ceiling.Ceiling{
		"read": {{Metric: "read.bandwidth", Value: 2.5e9, Limiter: "PCIe 3.0 x4 uplink 0000:17:00.0"}}}
	for i := 7; i < len(m.steps); i++ {
		m.steps[i].Ceilings = bound
	}
	d := m.analyze(rand.New(rand.NewPCG(3, 4)), 6)
	if d.Answer.Verdict != AtCeiling || d.Answer.Rung == nil || *d.Answer.Rung != 7 ||
		!strings.Contains(d.Answer.Text, "uplink 0000:17:00.0") ||
		!strings.Contains(d.Answer.Text, "which they share") {
		t.Errorf("%+v", d.Answer)
	}
}

// The null device bounds the operations of as many jobs as it was measured with. It moves no bytes, so that it bounds
// none.
func TestTheNullDeviceBoundsOperations(t *testing.T) {
	m := fourDrives(4e9, 4e9, 4e9)
	load := read1m()
	load.Params = map[string]string{"rw": "randread", "bs": "4k", "iodepth": "32"}
	var measured []Measured
	for i, rate := range m.rates {
		measured = append(measured, Measured{Rung: i, Cell: "read", Block: 1,
			Values: map[string]float64{"read.iops": rate / 4096, "read.bandwidth": rate}})
	}
	for _, bs := range []string{"4k", "1m"} {
		load.Params["bs"] = bs
		for i, r := range Analyze(m.steps, []Load{load}, measured, nil, nil,
			Terms{Margin: 0.05, Alpha: 0.05, Passes: 1}).Rungs {
			limited := r.Cells[0].Ceiling != nil && r.Cells[0].Ceiling.Limiter == "null"
			if want := r.Kind == Drive && bs == "4k"; limited != want {
				t.Errorf("%s at rung %d (%s): ceiling %+v", bs, i, r.Name, r.Cells[0].Ceiling)
			}
		}
	}
}

func TestNothingFallsShort(t *testing.T) {
	d := fourDrives(4e9, 4e9, 4e9).analyze(rand.New(rand.NewPCG(5, 6)), 8)
	if d.Answer.Rung != nil || d.Answer.Verdict != Reaches || !strings.Contains(d.Answer.Text, "no rung falls short") {
		t.Errorf("%+v", d.Answer)
	}
	if d.Claims != 8 { // four drives, two groups, the array, the file system
		t.Errorf("%d claims", d.Claims)
	}
}

func TestWhatCantBeTold(t *testing.T) {
	d := fourDrives(4e9, 4e9, 3.7e9).analyze(rand.New(rand.NewPCG(7, 8)), 3)
	if d.Answer.Rung != nil || d.Answer.Verdict != Undecided ||
		!strings.Contains(d.Answer.Text, "some are undecided") ||
		!strings.Contains(d.Answer.Text, "--passes") {
		t.Errorf("%+v", d.Answer)
	}
	if one := fourDrives(1e9, 1e9, 1e9).analyze(rand.New(rand.NewPCG(7, 8)), 1); one.Answer.Verdict != Undecided ||
		one.Rungs[3].Cells[0].Lo != nil {
		t.Errorf("of one pass it is told: %+v", one.Answer)
	}
}

// A ladder without a fault is accused in few of many.
func TestFewAreAccusedWrongly(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	const ladders = 400
	wrong, missed := 0, 0
	for range ladders {
		// Right at the margin: the hardest case that is no fault.
		if d := fourDrives(4e9, 4e9, 4e9*(1-DefaultMargin)).analyze(r, 6); d.Answer.Rung != nil {
			wrong++
		}
		if d := fourDrives(3.4e9, 3.4e9, 3.4e9).analyze(r, 6); d.Answer.Rung == nil ||
			d.Rungs[*d.Answer.Rung].Name != "all" {
			missed++
		}
	}
	figure.Record(t, figure.Share("ladder/accused", wrong, ladders,
		figure.Lower).Saying("simulated ladders without a fault that are accused"))
	figure.Record(t, figure.Share("ladder/missed", missed, ladders,
		figure.Lower).Saying("simulated ladders with 15%% missing that are not named"))
	if wrong > ladders/20 || missed > ladders/20 {
		t.Errorf("%d of %d accused wrongly, %d missed", wrong, ladders, missed)
	}
}

// A rung whose load stands still is short of all that was expected.
func TestARungThatStandsStill(t *testing.T) {
	for _, rung := range []int{3, 8} { // one drive, and the array
		m := fourDrives(4e9, 4e9, 4e9)
		for _, passes := range []int{1, 4} {
			var measured []Measured
			for block := 1; block <= passes; block++ {
				for i, rate := range m.rates {
					if i == rung {
						rate = 0
					}
					measured = append(measured, Measured{Rung: i, Cell: "read", Block: block,
						Values: map[string]float64{"read.bandwidth": rate}})
				}
			}
			d := Analyze(m.steps, []Load{read1m()}, measured, nil, nil, Terms{Margin: DefaultMargin, Alpha: 0.05,
				Passes: passes})
			name := m.steps[rung].Name
			if told := d.Answer.Rung != nil && d.Rungs[*d.Answer.Rung].Name == name; told != (passes > 1) {
				t.Errorf("%s stands still in %d passes: %+v, %+v", name, passes, d.Answer, d.Rungs[rung].Cells[0])
			}
		}
	}
}

func TestLoadsThatFailedPromiseNothing(t *testing.T) {
	m := fourDrives(4e9, 4e9, 4e9)
	var measured []Measured
	for block := 1; block <= 4; block++ {
		for i, rate := range m.rates {
			if i != 3 && i != 8 { // one drive, and the array
				measured = append(measured,
					Measured{Rung: i, Cell: "read", Block: block, Values: map[string]float64{"read.bandwidth": rate}})
			}
		}
	}
	d := Analyze(m.steps, []Load{read1m()}, measured,
		[]RungWarning{{9, lab.Warning{Code: "page-cache", Taints: []string{"read.*"}}.In("", 0, 0)}}, nil,
		Terms{Margin: 0.05, Alpha: 0.05, Passes: 4})
	for i, want := range map[int]bool{3: false, 6: false, 7: false, 8: false, 9: false} {
		if got := d.Rungs[i].Cells[0].Expected != nil; got != want {
			t.Errorf("%s: expected %+v", d.Rungs[i].Name, d.Rungs[i].Cells[0].Expected)
		}
	}
	if !slices.Equal(d.Rungs[9].Cells[0].Warnings, []string{"page-cache"}) || d.Rungs[8].Cells[0].Center != nil {
		t.Errorf("%+v", d.Rungs[8:])
	}
}

func TestFullProcessorsAreSaid(t *testing.T) {
	for cpus, want := range map[int]string{2: "the machine's 2 processors",
		64: "each of its 4 processes takes a whole processor"} {
		m := fourDrives(2e9, 2e9, 2e9)
		var measured []Measured
		for block := 1; block <= 6; block++ {
			for i, rate := range m.rates {
				cpu := 0.5 * float64(m.steps[i].Jobs)
				if m.steps[i].Name == "all" {
					cpu = 4
				}
				measured = append(measured, Measured{Rung: i, Cell: "read", Block: block,
					Values: map[string]float64{"read.bandwidth": rate * (1 + 0.001*float64(block%2)),
						"cpu.user": cpu / 2, "cpu.system": cpu / 2}})
			}
		}
		d := Analyze(m.steps, []Load{read1m()}, measured, nil, nil,
			Terms{Margin: 0.05, Alpha: 0.05, Passes: 6, CPUs: cpus})
		if !strings.Contains(d.Answer.Text, want) {
			t.Errorf("%d processors: %s", cpus, fmt.Sprint(d.Answer))
		}
	}
}
