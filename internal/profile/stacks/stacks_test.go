package stacks

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/headroom/headroom/internal/profile"
)

// twoLoads returns loads of one cell, of which the second took twice the time of the first per I/O; another one failed.
func twoLoads() []profile.Load {
	load := func(read, interrupt uint64) profile.Load {
		return profile.Load{Cell: "randread", Arm: "strict", Recording: profile.Recording{Sampled: &profile.Sampled{
			Hz: 100, Stacks: []profile.Stack{
				{Task: "fio/1", Context: profile.InLoad, Frames: []string{"fio:main", "do_syscall_64", "vfs_read"},
					Count: read},
				{Task: "fio-2", Context: profile.InLoad, Frames: []string{"fio:main", "do_syscall_64"}, Count: 10},
				{Task: "fio", Context: profile.InHardirq, Frames: []string{"nvme_irq"}, Count: interrupt},
				{Task: "swapper/0", Context: profile.InIdle, Frames: []string{"default_idle"}, Count: 900}}}}}
	}
	return []profile.Load{load(60, 30), {Cell: "randread", Failed: "no such device"}, load(70, 20)}
}

func set() Set { return Of(twoLoads(), []float64{1000, 2000}) }

// Stacks divide the CPU time per I/O of their loads; idling has none of it.
func TestTimePerStack(t *testing.T) {
	s := set()
	if s.Loads != 2 || s.Cell != "randread" || s.Arm != "strict" || math.Abs(s.Total()-1500) > 1e-9 ||
		len(s.Stacks) != 3 {
		t.Fatalf("%+v", s)
	}
	want := Stack{Frames: []string{"fio", "fio:main", "do_syscall_64", "vfs_read"}, NS: []float64{600, 1400},
		Samples: 130}
	if got := s.Stacks[0]; !slices.Equal(got.Frames, want.Frames) || !slices.Equal(got.NS, want.NS) ||
		got.Samples != want.Samples {
		t.Errorf("%+v, not %+v", got, want)
	}
	if got := s.Stacks[1].Frames; got[0] != "(interrupt)" {
		t.Errorf("%v", got)
	}
	counted := Of(twoLoads(), nil)
	if counted.Total() != 0 || counted.Stacks[0].Samples != 130 {
		t.Errorf("%+v", counted)
	}
}

// A tree has each function at its place in the call tree; a difference has the functions of both sides, with the larger
// width.
func TestTrees(t *testing.T) {
	root := set().Tree()
	if math.Abs(root.Mean()-1500) > 1e-9 || root.Width != root.Mean() || len(root.Children) != 2 {
		t.Fatalf("%+v", root)
	}
	fio := root.Children[0]
	if fio.Name != "fio" || math.Abs(fio.Mean()-1150) > 1e-9 || fio.Children[0].Children[0].Name != "do_syscall_64" {
		t.Errorf("%+v", fio)
	}
	before := twoLoads()
	for i := range before {
		if before[i].Sampled != nil {
			before[i].Sampled.Stacks = before[i].Sampled.Stacks[:2]
			before[i].Sampled.Stacks[0].Frames[2] = "vfs_read_old"
		}
	}
	d := Difference(Of(before, []float64{700, 700}), set(), map[string]string{"vfs_read_old": "vfs_read"})
	interrupt := d.Children[slices.IndexFunc(d.Children, func(n *Node) bool { return n.Name == "(interrupt)" })]
	if !slices.Equal(interrupt.NSBefore, []float64{0, 0}) || !slices.Equal(interrupt.NS, []float64{300, 400}) {
		t.Errorf("%+v", interrupt)
	}
	if len(d.Children) != 2 || len(d.Children[0].Children[0].Children[0].Children) != 1 {
		t.Errorf("a renamed function is two: %+v", d)
	}
	if math.Abs(d.MeanBefore()-700) > 1e-9 || d.Width < max(d.Mean(), d.MeanBefore()) {
		t.Errorf("%v wide: %v before, %v after", d.Width, d.MeanBefore(), d.Mean())
	}
}

// Folded stacks are parsed back unchanged; of several sets, names are the outermost frames.
func TestFolded(t *testing.T) {
	var b strings.Builder
	if err := Folded(&b, []Set{set()}); err != nil {
		t.Fatal(err)
	}
	want := set()
	for i, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		at := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(line[at+1:], 10, 64)
		if frames := strings.Split(line[:at], ";"); err != nil || !slices.Equal(frames, want.Stacks[i].Frames) ||
			math.Abs(float64(n)-1000*want.Stacks[i].Mean()) > 0.5 {
			t.Errorf("%q is not %+v", line, want.Stacks[i])
		}
	}
	b.Reset()
	odd := Of([]profile.Load{{Cell: "a;b", Recording: profile.Recording{Sampled: &profile.Sampled{
		Stacks: []profile.Stack{{Frames: []string{"line\nend"}, Count: 3}}}}}}, nil)
	if err := Folded(&b, []Set{odd, set()}); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(b.String(), "\n"); first != "a,b;(thread);line end 3" ||
		!strings.Contains(b.String(), "\nrandread, strict;fio;fio:main;do_syscall_64;vfs_read 1000000\n") {
		t.Error(b.String())
	}
}

// pprof's own reader accepts the file, and finds the values, the labels and the programs.
func TestPprof(t *testing.T) {
	var b bytes.Buffer
	if err := Pprof(&b, []Set{set()}); err != nil {
		t.Fatal(err)
	}
	p, err := pprof.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Error(err)
	}
	s := p.Sample[0]
	if p.DefaultSampleType != PerThousand || s.Value[0] != 130 || s.Value[1] != 1_000_000 ||
		s.Label["cell"][0] != "randread" || s.Label["arm"][0] != "strict" ||
		s.Location[0].Line[0].Function.Name != "vfs_read" || s.Location[2].Mapping.File != "fio" {
		t.Errorf("%v in\n%v", s, p)
	}
}

// The file has the fields that speedscope's schema requires, and weights that add up.
func TestSpeedscope(t *testing.T) {
	var b bytes.Buffer
	if err := Speedscope(&b, "7KQ4", []Set{set(), Of(twoLoads(), nil)}); err != nil {
		t.Fatal(err)
	}
	var file struct {
		Schema string `json:"$schema"`
		Shared struct{ Frames []struct{ Name string } }
		Active int `json:"activeProfileIndex"`

		Profiles []struct {
			Type, Name, Unit     string
			StartValue, EndValue float64
			Samples              [][]int
			Weights              []float64
		}
	}
	decoder := json.NewDecoder(&b)
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	if file.Schema != "https://www.speedscope.app/file-format-schema.json" || len(file.Profiles) != 2 {
		t.Fatalf("%+v", file)
	}
	for i, p := range file.Profiles {
		sum := 0.0
		for j, sample := range p.Samples {
			sum += p.Weights[j]
			for k, frame := range sample {
				if got := file.Shared.Frames[frame].Name; got != set().Stacks[j].Frames[k] {
					t.Errorf("frame %d of sample %d is %s", k, j, got)
				}
			}
		}
		if want := []string{"nanoseconds", "none"}[i]; p.Type != "sampled" || p.Unit != want || p.StartValue != 0 ||
			math.Abs(sum-p.EndValue) > 1e-6 || len(p.Samples) != 3 {
			t.Errorf("%+v", p)
		}
	}
}
