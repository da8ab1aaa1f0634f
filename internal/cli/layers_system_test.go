//go:build system

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/layers"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/store"
)

// layersFixture is a stack of real layers: a loop device of a file in memory, one on top of it, and an ext4 in that.
type layersFixture struct {
	comparisonFixture
	lower, upper, files string
}

func newLayersFixture(t *testing.T) layersFixture {
	t.Helper()
	p := layersFixture{comparisonFixture: newComparisonFixture(t), lower: attachLoop(t, "")}
	p.upper = loopOver(t, p.lower)
	p.files = filepath.Join(t.TempDir(), "files")
	if err := os.Mkdir(p.files, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{{"mkfs.ext4", "-q", p.upper}, {"mount", p.upper, p.files}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%v: %s", argv, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", p.files).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	return p
}

// loopOver attaches a loop device to a file or to another device.
func loopOver(t *testing.T, below string) string {
	t.Helper()
	out, err := exec.Command("losetup", "--find", "--show", below).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device over %s: %s", below, out)
	}
	upper := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", upper).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	return upper
}

// layers runs compare --layers with --json.
func (p layersFixture) layers(args ...string) layers.Document {
	p.t.Helper()
	return p.layersOfCommand(exec.Command("headroom", p.layersOf(args)...))
}

func (p layersFixture) layersOf(args []string) []string {
	return append([]string{"compare", "--layers", "--json", "--store", p.store}, args...)
}

func (p layersFixture) layersOfCommand(cmd *exec.Cmd) layers.Document {
	p.t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%v\n%s", err, stderr.String())
	}
	var d layers.Document
	if err := json.Unmarshal(out, &d); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	return d
}

func added(t *testing.T, d layers.Document, cell, metric string, layer int) stat.Estimate {
	t.Helper()
	for _, s := range d.Steps {
		if s.Cell == cell && s.Metric == metric && s.Layer == layer && s.Added != nil && s.Added.Lo != nil {
			return *s.Added
		}
	}
	t.Fatalf("nothing is said of %s of %s at layer %d: %+v", metric, cell, layer, d.Steps)
	return stat.Estimate{}
}

// layersDelay are the metric that a delay of a layer is seen in, and that delay in seconds.
const layersMetric, layersDelay = "read.latency.mean", 50e-3

// delayedLayer is a survey of three layers, of which a control group lets the load have 20 reads a second from the
// second, the upper loop device: 50 ms for each of reads that come one at a time.
func delayedLayer(t *testing.T) (layersFixture, layers.Document) {
	t.Helper()
	p := newLayersFixture(t)
	group := newThrottled(t)
	group.reads(p.upper, 20)
	suite := p.suiteOf("version: 1\nname: reads\nsize: 8m\ndefaults: {ioengine: libaio, direct: 1, runtime: 1s, " +
		"time_based: 1, randrepeat: 0}\njobs:\n  - {name: randread, fio: {rw: randread, bs: 4k}, matrix: {iodepth: " +
		"[1]}}\n")
	args := p.layersOf([]string{suite, p.lower, p.upper, p.files, "--pairs", "4"})
	return p, p.layersOfCommand(group.command(append([]string{"headroom"}, args...)...))
}

// waited fails the test where no mean latency of an arm is what its reads have to wait for. Where a machine stands
// still between two reads the second need not wait, so one repetition has to do.
func (p layersFixture) waited(arm string, least float64) {
	p.t.Helper()
	b, err := store.Open(p.store).Find("last:" + arm)
	if err != nil {
		p.t.Fatal(err)
	}
	longest := 0.0
	for r, err := range b.Repetitions() {
		if err != nil {
			p.t.Fatal(err)
		}
		if r.Cell == "randread-q1" {
			longest = max(longest, r.Values[layersMetric])
		}
	}
	if longest < least {
		p.t.Errorf("reads of layer %s take %g s at most, and wait for %g s each", arm, longest, least)
	}
}

// A delay at one layer shows in the latency of that layer and of the layer above, and the document has what each of
// them adds. TestLayersFindHowLongADelayIs (bench) and TestScriptedLayersFindADelayWhereItIs check which layer is
// charged and how much.
func TestLayersWithADelay(t *testing.T) {
	t.Parallel()
	p, d := delayedLayer(t)
	for i, arm := range []string{"2", "3"} {
		added(t, d, "randread-q1", layersMetric, i+1)
		p.waited(arm, layersDelay/2) // the first do not wait
	}
	if len(d.Sums) != 1 || len(d.Layers) != 3 || d.Schema != layers.Schema {
		t.Errorf("%+v", d)
	}
	if notes := strings.Join(d.Notes, "\n"); !d.Stacked() || strings.Contains(notes, "does not say") {
		t.Errorf("the stack is doubted: %s %+v", notes, d.Warnings)
	}
}

// Devices that hold something are only read, layers in the wrong order are reported, and what was saved can be shown
// again.
func TestLayersLeaveDevicesAlone(t *testing.T) {
	t.Parallel()
	p := layersFixture{comparisonFixture: newComparisonFixture(t), lower: attachLoopOf(t, 32<<20, "ext4")}
	p.upper = loopOver(t, p.lower)
	before := contents(t, p.lower)
	d := p.layers(p.upper, p.lower, "--set", "runtime=200ms", "--pairs", "2")
	if after := contents(t, p.lower); before != after {
		t.Error("the device was written to")
	}
	if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, "that write were left out") {
		t.Errorf("notes: %s", notes)
	}
	if d.Stacked() {
		t.Errorf("layers in the wrong order are not told: %+v", d.Warnings)
	}
	for _, s := range d.Steps {
		if strings.Contains(s.Params["rw"], "write") {
			t.Errorf("a device was measured with %s", s.Params["rw"])
		}
	}
	again := p.layers("--resume", d.Layers[1].Run)
	a, _ := json.Marshal([]any{d.Steps, d.Warnings})
	b, _ := json.Marshal([]any{again.Steps, again.Warnings})
	if string(a) != string(b) {
		t.Errorf("shown again it says something else:\n%s\n%s", a, b)
	}
	rows, err := store.Open(p.store).List()
	if err != nil || len(rows) != 1 || rows[0].Status != lab.Complete {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestLayersInterruptedAndResumed(t *testing.T) {
	t.Parallel()
	a := newComparisonFixture(t)
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	code, stderr := a.interrupt(syscall.SIGINT, "compare", "--layers", a.base, a.place, other, "--pairs", "3")
	if code != 130 || !strings.Contains(stderr, "compare --layers --resume") {
		t.Errorf("exit code %d, want 130\n%s", code, stderr)
	}
	a.mustRun("compare", "--layers", "--resume", "last")
	base, next := a.arms("1", "2")
	if of := a.pairsOf(base, next); of["read"] != 3 || of["write"] != 3 { // directories are written to as well
		t.Errorf("passes %v, want 3 of each", of)
	}
	for _, dir := range []string{a.place, other} {
		if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
			t.Errorf("left in %s: %v, %v", dir, files, err)
		}
	}
}

func contents(t *testing.T, device string) string {
	t.Helper()
	out, err := exec.Command("sha256sum", device).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Layers that device mapper makes are tested where the kernel has it.
func TestLayersOfDeviceMapper(t *testing.T) {
	t.Parallel()
	p, _ := mappedDelay(t)
	p.waited("2", 100e-3)
}

// mappedDelay is what is found of a delay of 100 ms by device mapper.
func mappedDelay(t *testing.T) (layersFixture, stat.Estimate) {
	t.Helper()
	if out, err := exec.Command("dmsetup", "targets").CombinedOutput(); err != nil {
		t.Skip("this kernel has no device mapper: " + strings.SplitN(string(out), "\n", 2)[0])
	}
	p := layersFixture{comparisonFixture: newComparisonFixture(t), lower: attachLoopOf(t, 64<<20, "")}
	name := "headroom-test-" + p.mark
	out, err := exec.Command("dmsetup", "create", name, "--table", "0 131072 delay "+p.lower+" 0 100").CombinedOutput()
	if err != nil {
		t.Skipf("this kernel has no dm-delay: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("dmsetup", "remove", name).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	d := p.layers(p.lower, "/dev/mapper/"+name, "--set", "runtime=1s", "--pairs", "3")
	return p, added(t, d, "randread-q1", layersMetric, 1)
}
