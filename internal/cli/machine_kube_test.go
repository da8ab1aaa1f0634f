//go:build system && kube

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host/kube"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/kubetest"
	"github.com/headroom/headroom/internal/testing/standin"
)

// machineRun is a headroom that measures in machines of the stand-in for KubeVirt, which is no KubeVirt: what differs
// is said in package standin.
type machineRun struct {
	podRun
	virt *standin.KubeVirt
}

func newMachineRun(t *testing.T) machineRun {
	t.Helper()
	if !figure.Whole {
		t.Skip("it takes twenty minutes; scripts/bench runs it")
	}
	r := machineRun{podRun: newPodRun(t)}
	kernel := kernelOfGuests(t)
	out, err := exec.Command("../../scripts/guest-qemu").Output()
	if err != nil {
		t.Skip("no QEMU that maps queues to IOThreads is to be had here: scripts/guest-qemu")
	}
	root := strings.TrimSpace(string(out))
	kubetest.KubeVirt(t, os.Getenv("KUBECONFIG"))
	r.virt = standin.Start(t, standin.Options{Kubeconfig: os.Getenv("KUBECONFIG"), Namespace: r.namespace,
		Image: os.Getenv(kube.ImageVariable), Kernel: kernel, Port: 10022,
		QEMU:     root + "/usr/bin/qemu-system-x86_64",
		Firmware: []string{root + "/usr/share/qemu", root + "/usr/share/seabios"}})
	return r
}

// machine is the name of one with a disk of the class fast.
func (r machineRun) machine() string {
	return "kube:vm?boot=" + os.Getenv(kube.ImageVariable) +
		"&pull=never&class=fast&size=1Gi&cores=2&memory=512Mi&multiqueue&port=10022&namespace=" + r.namespace
}

// reference is the name of a pod with a file system of the same class, as the report has it.
func (r machineRun) reference() string {
	return "kube:pod?class=fast&size=1Gi&cpu=1&memory=512Mi&namespace=" + r.namespace
}

// loads writes a suite, and returns its file.
func (r machineRun) loads(jobs string) string {
	r.t.Helper()
	text := "version: 1\nname: iothreads-small\ntitle: a part of the IOThreads report's matrix\ndefaults: {ioengine: " +
		"libaio, direct: 1, runtime: 4s, time_based: 1, randrepeat: 0, group_reporting: 1}\njobs:\n" + jobs
	if err := os.WriteFile(r.suite, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
	return r.suite
}

// giveBack makes the volumes of deleted claims empty and available again: those of the cluster are few.
func (r machineRun) giveBack() {
	r.t.Helper()
	for line := range strings.Lines(r.kubectl("get", "pv", "-o",
		`jsonpath={range .items[?(@.status.phase=="Released")]}{.metadata.name} {.spec.volumeMode} {.spec.local.path}{"\n"}{end}`)) {
		f := strings.Fields(line)
		if len(f) == 3 && f[1] == "Block" {
			if out, err := exec.Command("blkdiscard", "-z", f[2]).CombinedOutput(); err != nil {
				r.t.Errorf("blkdiscard %s: %s", f[2], out)
			}
		}
		r.kubectl("patch", "pv", f[0], "--patch", `{"spec": {"claimRef": null}}`)
	}
}

// clocked keeps what is said, and after how many seconds.
type clocked struct {
	listened
	begun time.Time
}

func (c *clocked) Write(p []byte) (int, error) {
	_, err := fmt.Fprintf(&c.listened, "%5.0f s  %s", time.Since(c.begun).Seconds(), p)
	return len(p), err
}

// sweepOf carries out a sweep, prints its tables, and returns what it says.
func (r machineRun) sweepOf(args ...string) sweep.Document {
	r.t.Helper()
	cmd := r.command(append([]string{"sweep"}, args...)...)
	printed := clocked{begun: time.Now()}
	cmd.Stderr = &printed
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%v\n%s", err, &printed)
	}
	r.t.Logf("%s\n%s", &printed, out)
	out, err = r.command("sweep", "--show", "last", "--json").Output()
	if err != nil {
		r.t.Fatal(err)
	}
	var d sweep.Document
	if err := json.Unmarshal(out, &d); err != nil {
		r.t.Fatal(err)
	}
	return d
}

// iothreadsOf are the numbers of IOThreads of the guests that came up, each once.
func iothreadsOf(argvs [][]string) []int {
	var all []int
	for _, argv := range argvs {
		if n := strings.Count(strings.Join(argv, " "), "-object iothread,"); !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

func (r machineRun) warned(d sweep.Document, code string) int {
	n := 0
	for _, w := range d.Warnings {
		if w.Code == code {
			n++
		}
	}
	return n
}

// The IOThreads report from end to end on a cluster: one machine with each number of IOThreads that the report has, and
// then two at once, each compared with as many pods. KubeVirt is a stand-in, guests are emulated: the numbers are those
// of no hardware. What takes the time is to start emulated guests and to ask them for their facts, so that each level
// is visited once; and to write their disks full, which are small.
func TestTheIOThreadsReportOfMachines(t *testing.T) {
	r := newMachineRun(t)
	t.Cleanup(r.giveBack)
	suite := r.loads("  - {name: randread, fio: {rw: randread, bs: 4k}, matrix: {iodepth: [1, 16]}}\n")
	machine := strings.Replace(r.machine(), "class=fast&size=1Gi", "emptydisk&size=128Mi", 1)
	for n, machines := range []string{"one machine", "two machines at once"} {
		t.Run(machines, func(t *testing.T) {
			r := r
			r.t = t
			r.report(suite, machines, 2, 1, slices.Repeat([]string{"--on", machine}, n+1))
			r.giveBack()
		})
	}
	if left := r.left(); left != "" {
		t.Errorf("%s is left", left)
	}
}

// What that report leaves out: loads that write, each level visited twice, on a disk of a StorageClass that is used
// again.
func TestIOThreadsOfAMachineThatWrites(t *testing.T) {
	r := newMachineRun(t)
	t.Cleanup(r.giveBack)
	suite := r.loads("  - {name: randread, fio: {rw: randread, bs: 4k}, matrix: {iodepth: [1, 16]}}\n  - {name: " +
		"randwrite, fio: {rw: randwrite, bs: 4k}, matrix: {iodepth: [1, 16]}}\n")
	r.report(suite, "one machine that writes", 4, 2, []string{"--on", r.machine()})
	if left := r.left(); left != "" {
		t.Errorf("%s is left", left)
	}
}

// report carries out a sweep of some loads over all levels, and checks that all of them were measured in each block,
// and in effect.
func (r machineRun) report(suite, machines string, loads, blocks int, on []string) {
	t := r.t
	t.Helper()
	levels := []int{0, 1, 2, 3, 4, 6, 8, 12, 16}
	before := len(r.virt.Argvs())
	d := r.sweepOf(append([]string{suite, "--factor", "guest:iothreads=0,1,2,3,4,6,8,12,16", "--reference",
		r.reference(), "--blocks", strconv.Itoa(blocks), "--size", "64m"}, on...)...)
	if len(d.Cells) != loads || d.Blocks != blocks || d.Reference == "" {
		t.Fatalf("%d cells in %d blocks, the reference is %q", len(d.Cells), d.Blocks, d.Reference)
	}
	for _, c := range d.Cells {
		if len(c.Levels) != len(levels) || c.Reference == nil || c.Reference.N != blocks || c.ToReference == nil ||
			c.Gain == nil {
			t.Fatalf("%s: %d levels, reference %+v", c.Title, len(c.Levels), c.Reference)
		}
		for _, p := range c.Levels {
			if p.N != blocks || p.Value == nil || *p.Value <= 0 {
				t.Errorf("%s with %s IOThreads: %+v", c.Title, p.Level, p)
			}
		}
		if *c.Reference.Value <= *c.Levels[0].Value {
			t.Errorf("%s: the pod reaches %v, an emulated machine %v", c.Title, *c.Reference.Value, *c.Levels[0].Value)
		}
		name, printed := figure.Name("iothreads", machines, c.Title),
			fmt.Sprintf("stand-in for KubeVirt, %s, %s: IOPS ", machines, c.Title)
		for _, p := range c.Levels {
			figure.Record(t, figure.Figure{Name: figure.Name(name, "with", p.Level), Unit: "1/s", Center: *p.Value,
				N: p.N, Text: printed + "with so many IOThreads"})
		}
		figure.Record(t, figure.Figure{Name: name + "/pods", Unit: "1/s", Center: *c.Reference.Value, N: blocks,
			Text: printed + "in as many pods"})
	}
	argvs := r.virt.Argvs()[before:]
	if got := iothreadsOf(argvs); !slices.Equal(got, levels) {
		t.Errorf("guests had %v IOThreads", got)
	}
	many := len(on) / 2
	if len(argvs) < many*(1+len(levels)) { // each is made, and started again at each level
		t.Errorf("%d guests were started", len(argvs))
	}
	if printed := r.warned(d, "sum-of-targets") > 0; printed != (many > 1) {
		t.Errorf("that %s are several is said: %v", machines, printed)
	}
}

// left is all of machines that is left in the namespace.
func (r machineRun) left() string {
	r.t.Helper()
	return r.kubectl("get", "vm,vmi,pods,pvc,secret,job", "-n", r.namespace, "-l",
		"app.kubernetes.io/managed-by=headroom", "-o", "name")
}

// A sweep that is killed leaves a machine, which carries the run's ID; restore removes it, and the run goes on with
// another.
func TestASweepOfMachinesThatIsKilled(t *testing.T) {
	r := newMachineRun(t)
	t.Cleanup(r.giveBack)
	suite := r.loads("  - {name: randread, fio: {rw: randread, bs: 4k, iodepth: 16}}\n")
	args := []string{"sweep", suite, "--on", r.machine(), "--factor", "guest:iothreads=0,2", "--blocks",
		"1", "--size", "64m"}
	run := r.command(args...)
	var printed listened
	run.Stderr = &printed
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Minute); !strings.Contains(r.kubectl("get", "vm", "-n", r.namespace, "-o",
		"jsonpath={.items[*].metadata.labels}"), "headroom.dev/run"); time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatalf("no run begins\n%s", &printed)
		}
	}
	printed.await(t, "boot with iothreads=")
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // it was killed
	if left := r.left(); strings.Count(left, "\n") < 4 {
		t.Errorf("a kill leaves %q", left)
	}
	out, err := r.command("restore").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "removed from namespace "+r.namespace+": vm headroom-") {
		t.Errorf("%v\n%s", err, out)
	}
	if left := r.left(); left != "" {
		t.Fatalf("restore leaves %s", left)
	}
	r.giveBack()
	out, err = r.command("sweep", "--resume", "last").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "saved as") {
		t.Errorf("resumed: %v\n%s", err, out)
	}
}
