//go:build system && kube

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/diagnosis"
)

// document is what is looked at of a run.
type nodesDocument struct {
	Status  string
	Targets []struct {
		Role, Target string
		Facts        []struct{ Fact, Value string }
	}
	Cells []struct {
		ID, Role string
		N        int
		Metrics  map[string]struct{ Center float64 }
	}
	Outliers *struct {
		Targets int
		Found   []struct{ Role, Metric, Text string }
	}
}

func (r podRun) document(args ...string) nodesDocument {
	r.t.Helper()
	cmd := r.command(append(args, "--json")...)
	var printed listened
	cmd.Stderr = &printed
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%v\n%s", err, &printed)
	}
	var d nodesDocument
	if err := json.Unmarshal(out, &d); err != nil {
		r.t.Fatal(err)
	}
	return d
}

// exported is the document of the last run, with all names.
func (r podRun) exported() nodesDocument {
	r.t.Helper()
	out, err := r.command("export", "last", "--serials").Output()
	var d nodesDocument
	if err == nil {
		err = json.Unmarshal(out, &d)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// Pods alike are loaded together, and in turn; nothing of them is left.
func TestSeveralPodsAlike(t *testing.T) {
	t.Parallel()
	r := newPodRun(t)
	d := r.alike()
	if d.Status != "complete" || len(d.Targets) != 3 || len(d.Cells) != 2*4 || d.Targets[2].Role != "pod-3" {
		t.Fatalf("%+v", d)
	}
	for _, c := range d.Cells {
		if c.N != 1 {
			t.Errorf("%s was measured %d times", c.ID, c.N)
		}
		_, sums := c.Metrics["together.seconds"]
		if sums != (c.Role == "all") {
			t.Errorf("%s: %v", c.ID, c.Metrics)
		}
		if c.ID == "read@all" && (c.Metrics["read.iops"].Center <= 0 || c.Metrics["together.last_done"].Center < 3) {
			t.Errorf("three loads of 3 s come to %v", c.Metrics)
		}
	}
	d = r.alike("--at-once", "1")
	if d.Status != "complete" || len(d.Cells) != 2*3 || slices.ContainsFunc(d.Cells, func(c struct {
		ID, Role string
		N        int
		Metrics  map[string]struct{ Center float64 }
	}) bool {
		return c.N != 1 || c.Metrics[strings.TrimSuffix(c.ID, "@"+c.Role)+".iops"].Center <= 0
	}) {
		t.Errorf("by turns: %+v", d)
	}
	if left := r.made(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// alike measures in three pods alike.
func (r podRun) alike(args ...string) nodesDocument {
	r.t.Helper()
	return r.document(append([]string{"run", r.suite, "--on", r.pod("&count=3")}, args...)...)
}

// What can't start in full is removed in full.
func TestSeveralPodsOfWhichSomeDoNotStart(t *testing.T) {
	r := newPodRun(t)
	most := fmt.Sprintf("&cpu=%dm", 400*runtime.NumCPU()) // of the node, which is this machine, two have room
	out, err := r.command("run", r.suite, "--on",
		"kube:pod?emptydir&count=3&wait=5s&namespace="+r.namespace+most).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "did not start") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = r.command("run", r.suite, "--on",
		"kube:pod?class=fast&size=1Gi&count=9&namespace="+r.namespace).CombinedOutput()
	if code := exitOf(err); code != 4 ||
		!regexp.MustCompile(`StorageClass fast makes no volumes .* there are \d free for 9 pods`).Match(out) ||
		strings.Contains(string(out), "making 9 pods") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if left := r.made(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// A pod on each node sees the node itself.
func TestNodes(t *testing.T) {
	t.Parallel()
	r := newPodRun(t)
	folder := t.TempDir()
	d := r.document("run", r.suite, "--on",
		"kube:nodes?selector=kubernetes.io/hostname=node1&namespace="+r.namespace+"&hostpath="+folder)
	// What a node is called is hidden in documents, as the name of any host is.
	if d.Status != "complete" || len(d.Targets) != 1 || !strings.Contains(d.Targets[0].Target, "&node=hidden-") {
		t.Fatalf("%+v", d.Targets)
	}
	out, err := r.command("facts", "--json", "kube:nodes?node=node1&namespace="+r.namespace).Output()
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("/etc/os-release")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?m)^PRETTY_NAME="?([^"\n]+)`).FindSubmatch(own)
	if name == nil || !strings.Contains(string(out), string(name[1])) {
		t.Errorf("nothing of %s, which the node is, in its facts", name)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
		t.Errorf("%v, %v are left in the folder", files, err)
	}
	out, err = r.command("run", r.suite, "--on", "kube:nodes?selector=no=such&namespace="+r.namespace).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no node matches") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A headroom that is killed leaves what restore removes, and what it has measured can be gone on with.
func TestSeveralPodsOfAHeadroomThatIsKilled(t *testing.T) {
	t.Parallel()
	newPodRun(t).killed("kube:pod?emptydir&count=3&namespace=")
}

func TestNodesOfAHeadroomThatIsKilled(t *testing.T) {
	t.Parallel()
	newPodRun(t).killed("kube:nodes?emptydir&selector=kubernetes.io/hostname=node1&namespace=")
}

func (r podRun) killed(on string) {
	r.t.Helper()
	run := r.command("run", r.suite, "--on", on+r.namespace)
	var printed listened
	run.Stderr = &printed
	if err := run.Start(); err != nil {
		r.t.Fatal(err)
	}
	printed.await(r.t, "1/2  ")
	if err := run.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	_ = run.Wait() // it was killed
	if left := r.made(); len(left) == 0 {
		r.t.Fatal("nothing is left by a kill")
	}
	out, err := r.command("restore").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "removed from namespace "+r.namespace) {
		r.t.Errorf("%v\n%s", err, out)
	}
	if left := r.made(); len(left) > 0 {
		r.t.Errorf("%q are left by restore", left)
	}
	if d := r.document("run", "--resume", "last"); d.Status != "complete" {
		r.t.Errorf("resumed: %+v", d)
	}
}

// nodesSuite is what simulated nodes print the result of.
const nodesSuite = `version: 1
name: nodes
title: one load on each node
place: directory
repetitions: 2
size: 4m
defaults: {ioengine: psync, bs: 4k, runtime: 30s, time_based: 1}
jobs:
  - {name: read, fio: {rw: randread}, steps: [load]}
`

// Many nodes at once, simulated: no storage is measured, and fio's results are recorded ones. What is real is headroom
// and the API.
func TestManySimulatedNodes(t *testing.T) {
	newPodRun(t).manyNodes()
}

// manyNodes measures on as many simulated nodes as HEADROOM_SIMULATED_NODES says, 60 unless it does, and returns how
// many that were, how much memory headroom took at most, how long it was, and its requests of the API.
func (r podRun) manyNodes() (nodes int, most int64, took time.Duration, calls map[string]int) {
	t := r.t
	t.Helper()
	nodes = 60
	if n, err := strconv.Atoi(os.Getenv("HEADROOM_SIMULATED_NODES")); err == nil {
		nodes = n
	}
	dir := t.TempDir()
	suite, stdout := filepath.Join(dir, "nodes.yaml"), filepath.Join(dir, "stdout")
	if err := os.WriteFile(suite, []byte(nodesSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	own := r.command("run", suite, "--json", "--on",
		"kube:nodes?selector=headroom.dev/simulated=true&tolerate&emptydir&at=/mnt&wait=10m&namespace="+r.namespace)
	// The shell takes the kubeconfig whose requests are counted.
	script := `export KUBECONFIG="$HEADROOM_COUNTED"; out=$1; shift; exec "$@" >"$out"`
	cmd := exec.Command("../../scripts/kube-simulated",
		append([]string{strconv.Itoa(nodes), "sh", "-c", script, "sh", stdout}, own.Args...)...)
	var printed listened
	cmd.Stdout, cmd.Stderr = &printed, &printed
	begun := time.Now()
	peak := watchPeak(t, "run "+suite)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%.5000s", err, printed.String())
	}
	took = time.Since(begun)
	data, err := os.ReadFile(stdout)
	if err != nil {
		t.Fatal(err)
	}
	var d nodesDocument
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if d.Status != "complete" || len(d.Targets) != nodes || len(d.Cells) != nodes+1 {
		t.Errorf("%s, %d targets, %d cells", d.Status, len(d.Targets), len(d.Cells))
	}
	// What nodes are called is hidden in documents, but for those who ask for it.
	if o := d.Outliers; o == nil || len(o.Found) != 1 || !strings.HasPrefix(o.Found[0].Role, "hidden-") ||
		strings.Contains(string(data), "simulated-7") {
		t.Errorf("not like the others: %+v", o)
	}
	if o := r.exported().Outliers; o == nil || len(o.Found) != 1 || o.Found[0].Role != "simulated-7" {
		t.Errorf("not like the others: %+v", o)
	}
	calls, most = requests(t), peak()
	if most == 0 || calls["exec"] == 0 || calls["all"] <= calls["exec"] {
		t.Errorf("headroom took %d bytes, and made %v requests", most, calls)
	}
	return nodes, most, took, calls
}

// Several targets of all kinds are diagnosed at once, and one that can't be reached ends nothing.
func TestDoctorOfNodes(t *testing.T) {
	t.Parallel()
	r := newPodRun(t)
	nobody := "ssh://nobody@nobody.invalid"
	cmd := r.command("doctor", "kube:nodes?selector=kubernetes.io/hostname=node1&namespace="+r.namespace,
		"pod="+r.pod(""), nobody, "--json")
	var printed listened
	cmd.Stderr = &printed
	out, err := cmd.Output()
	var d diagnosis.Several
	if json.Unmarshal(out, &d) != nil || err == nil || cmd.ProcessState.ExitCode() != 1 ||
		!strings.Contains(printed.String(), "1 of 3 machines could not be diagnosed: "+nobody) {
		t.Fatalf("%v\n%s\n%s", err, &printed, out)
	}
	var names []string
	for _, m := range d.Machines {
		names = append(names, m.Name)
		if (m.Diagnosis == nil) != (m.Name == nobody) || strings.Contains(m.Error, "ssh: ") != (m.Name == nobody) {
			t.Errorf("%s: %s", m.Name, m.Error)
		}
	}
	if !slices.Equal(names, []string{"node1", "pod", nobody}) || len(d.Findings) == 0 || len(d.Deviations) > 0 {
		t.Errorf("%q, %d findings, %+v", names, len(d.Findings), d.Deviations)
	}
	if left := r.made(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// Many nodes, simulated as in TestManySimulatedNodes: the kubelet of one is of another version, as the API says.
func TestDoctorOfSimulatedNodes(t *testing.T) {
	r := newPodRun(t)
	own := r.command("doctor", "--json",
		"kube:nodes?selector=headroom.dev/simulated=true&tolerate&wait=10m&namespace="+r.namespace)
	script := `kubectl patch node simulated-7 --subresource status --patch '{"status":{"nodeInfo":{"kubeletVersion":"v1.30.1"}}}' >/dev/null; exec "$@"`
	cmd := exec.Command("../../scripts/kube-simulated",
		append([]string{"20", "sh", "-c", script, "sh"}, own.Args...)...)
	var printed listened
	cmd.Stderr = &printed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &printed)
	}
	var d diagnosis.Several
	if err := json.Unmarshal(out, &d); err != nil || len(d.Machines) != 20 || d.Machines[6].Name != "simulated-7" {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	for _, m := range d.Machines {
		if m.Diagnosis == nil {
			t.Errorf("%s: %s", m.Name, m.Error)
		}
	}
	if len(d.Deviations) != 1 || d.Deviations[0].Fact != "cluster.kubelet" ||
		!slices.Equal(d.Deviations[0].On, []string{"simulated-7"}) || d.Deviations[0].Value != "v1.30.1" ||
		d.Deviations[0].SameCount != 19 {
		t.Errorf("%+v", d.Deviations)
	}
	for _, f := range d.Findings {
		if f.Verdict == "finding" && len(f.On) != 20 {
			t.Errorf("%s is on %q alone", f.Rule, f.On)
		}
	}
	if left := r.made(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// watchPeak looks at how much memory the headroom with some arguments takes, as the kernel keeps it (VmHWM in
// /proc/PID/status), until the result is asked for.
func watchPeak(t *testing.T, arguments string) func() int64 {
	t.Helper()
	stop, most := make(chan struct{}), make(chan int64)
	go func() {
		var peak int64
		for {
			select {
			case <-stop:
				most <- peak
				return
			case <-time.After(500 * time.Millisecond):
			}
			processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
			if err != nil || len(processes) == 0 {
				t.Errorf("no process is to be seen: %v", err)
			}
			for _, name := range processes {
				line, err := os.ReadFile(name)
				if err != nil || !strings.HasPrefix(strings.ReplaceAll(string(line), "\x00", " "),
					"headroom "+arguments) {
					continue
				}
				// one that has ended meanwhile has none
				status, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "status"))
				var kb int64
				if m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status); m != nil {
					kb, _ = strconv.ParseInt(string(m[1]), 10, 64)
				}
				peak = max(peak, kb*1024)
			}
		}
	}()
	return func() int64 { close(stop); return <-most }
}

// requests are those of the user who is counted, by the log of the API server: a line for the beginning of the answer
// of a stream, and one for its end.
func requests(t *testing.T) map[string]int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(os.Getenv("HEADROOM_KUBE_DIR"), "log", "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	calls := map[string]int{}
	for line := range strings.SplitSeq(string(data), "\n") {
		var e struct {
			AuditID    string
			RequestURI string
		}
		if json.Unmarshal([]byte(line), &e) != nil || seen[e.AuditID] || e.AuditID == "" {
			continue
		}
		seen[e.AuditID] = true
		calls["all"]++
		if strings.Contains(e.RequestURI, "/exec?") {
			calls["exec"]++
		}
	}
	return calls
}
