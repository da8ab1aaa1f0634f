//go:build system && kube

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/testing/kubetest"
)

// result is what of a run's document the tests here look at.
type result struct {
	Status   string
	Warnings []struct{ Code, Text string }
	Cells    []struct {
		ID       string
		N        int
		Metrics  map[string]struct{ Center float64 }
		Warnings []struct{ Code string }
	}
}

// runningCommand is a headroom that goes on beside the test.
type runningCommand struct {
	r         podRun
	cmd       *exec.Cmd
	said, out listened
}

func (r podRun) start(args ...string) *runningCommand {
	r.t.Helper()
	g := &runningCommand{r: r, cmd: r.command(args...)}
	g.cmd.Stderr, g.cmd.Stdout = &g.said, &g.out
	if err := g.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	return g
}

// whole is the document of a run that has come to its end with some repetitions of each of some cells.
func (g *runningCommand) whole(cells, repetitions int) result {
	g.r.t.Helper()
	if err := g.cmd.Wait(); err != nil {
		g.r.t.Fatalf("%v\n%s", err, &g.said)
	}
	var d result
	if err := json.Unmarshal([]byte(g.out.String()), &d); err != nil {
		g.r.t.Fatalf("%v\n%s", err, &g.out)
	}
	if d.Status != "complete" || len(d.Cells) != cells {
		g.r.t.Errorf("%s, %d cells\n%s", d.Status, len(d.Cells), &g.out)
	}
	for _, c := range d.Cells {
		if c.N != repetitions {
			g.r.t.Errorf("%s has %d repetitions", c.ID, c.N)
		}
	}
	return d
}

// lost are the texts of the losses that a run tells of.
func (d result) lost() []string {
	var texts []string
	for _, w := range d.Warnings {
		if w.Code == "target-lost" {
			texts = append(texts, w.Text)
		}
	}
	return texts
}

// One pod of two that is taken away costs the repetition of both, which is carried out again.
func TestARunOnTwoPodsOneOfWhichIsDeleted(t *testing.T) {
	t.Parallel()
	r := newPodRun(t)
	g := r.start("run", r.suite, "--on", "a="+r.pod(""), "--on", "b="+r.pod(""), "--json")
	g.said.await(t, "1/2  ")
	if n := len(strings.Fields(r.kubectl("get", "pods", "-n", r.namespace, "-l", "headroom.dev/run",
		"-o", "name"))); n != 2 {
		t.Errorf("%d of two pods carry the run's ID", n)
	}
	r.kubectl("delete", "-n", r.namespace, r.made()[0], "--grace-period=0", "--force")
	d := g.whole(6, 1) // two jobs on a, b and both
	if lost := d.lost(); len(lost) != 1 || !strings.Contains(lost[0], "it was deleted") ||
		!strings.HasPrefix(lost[0], "a: ") && !strings.HasPrefix(lost[0], "b: ") {
		t.Errorf("%q", lost)
	}
}

// One pod of two in a sweep that is taken away costs the repetition of both. What takes its place has the limit of the
// level in effect.
func TestASweepOfTwoPodsOneOfWhichIsDeleted(t *testing.T) {
	t.Parallel()
	for _, c := range newPodRun(t).sweptWithoutOne().Cells {
		for _, name := range []string{"read.iops", "write.iops"} {
			if m, has := c.Metrics[name]; has && m.Center <= 0 {
				t.Errorf("%s: %v", c.ID, m)
			}
		}
	}
}

// sweptWithoutOne is a sweep of two pods of which one is deleted.
func (r podRun) sweptWithoutOne() result {
	t := r.t
	t.Helper()
	g := r.start("sweep", r.suite, "--on", r.pod("&memory=128Mi"), "--on", r.pod("&memory=128Mi"), "--factor",
		"pod:cpu=200m,300m", "--blocks", "1", "--set", "runtime=8s")
	g.said.await(t, "3 loads left")
	level := regexp.MustCompile(`boot with cpu=(\w+)`).FindStringSubmatch(g.said.String())
	old := r.made()
	r.kubectl("delete", "-n", r.namespace, old[1], "--grace-period=0", "--force")
	g.said.await(t, "waiting for another target")
	var limits []string
	for end := time.Now().Add(time.Minute); len(limits) != 2 &&
		time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		limits = strings.Fields(r.kubectl("get", "pods", "-n", r.namespace, "-o",
			`jsonpath={range .items[?(@.status.phase=="Running")]}{.spec.containers[0].resources.limits.cpu}{"\n"}{end}`))
	}
	if len(level) != 2 || len(limits) != 2 || limits[0] != level[1] || limits[1] != level[1] {
		t.Errorf("limits %q at the level %q", limits, level)
	}
	if slices.Equal(old, r.made()) {
		t.Errorf("%q are those from before", old)
	}
	if err := g.cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &g.said)
	}
	shown := r.start("show", "last", "--json")
	d := shown.whole(4, 1) // two jobs at two levels
	if lost := d.lost(); len(lost) != 1 || !strings.Contains(lost[0], "it was deleted") {
		t.Errorf("%q", lost)
	}
	return d
}

// Who cordons a node has no pod of it end. A drained one has no room for another pod: the run ends at once, says why,
// and goes on when the node is back.
func TestARunWhoseNodeIsDrained(t *testing.T) {
	r := newPodRun(t)
	g := r.start("run", r.suite, "--on", r.pod(""), "--repeat", "2")
	g.said.await(t, "1/4  ")
	defer r.kubectl("uncordon", "node1")
	r.kubectl("cordon", "node1")
	g.said.await(t, "2/4  ")
	drained := time.Now()
	r.kubectl("drain", "node1", "--pod-selector=app.kubernetes.io/managed-by=headroom", "--force",
		"--delete-emptydir-data", "--timeout=60s")
	err := g.cmd.Wait()
	t.Logf("a run ends %.0f s after its node was drained", time.Since(drained).Seconds())
	if err == nil || g.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("it ends with %v", err)
	}
	for _, text := range []string{"is gone: Eviction API: evicting", "node node1 is cordoned", "kubectl uncordon node1",
		"2 of 4 repetitions are kept", "headroom run --resume"} {
		if !strings.Contains(g.said.String(), text) {
			t.Errorf("nothing of %q in\n%s", text, &g.said)
		}
	}
	if left := r.made(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	r.kubectl("uncordon", "node1")
	r.start("run", "--resume", "last", "--json").whole(2, 2)
}

// A pod that is gone is noticed although its node does not answer any more, as one that lost its power.
func TestARunWhosePodIsDeletedWithoutItsKubelet(t *testing.T) {
	r := newPodRun(t)
	g := r.start("run", r.suite, "--on", r.pod(""), "--json")
	g.said.await(t, "1/2  ")
	over := kubetest.Start(t).Disturb(t, "kubelet", "STOP")
	r.kubectl("delete", "-n", r.namespace, r.made()[0], "--grace-period=0", "--force")
	g.said.await(t, "waiting for another target")
	over()
	if lost := g.whole(2, 1).lost(); len(lost) != 1 || !strings.Contains(lost[0], "it was deleted") {
		t.Errorf("%q", lost)
	}
}

// A kubelet that stands still keeps nobody from measuring: the load goes on, and is asked after when the kubelet
// answers again.
func TestARunWhoseKubeletStandsStill(t *testing.T) {
	r := newPodRun(t)
	g := r.start("run", r.suite, "--on", r.pod(""), "--json")
	g.said.await(t, "1/2  ")
	over := kubetest.Start(t).Disturb(t, "kubelet", "STOP")
	time.Sleep(time.Minute) // the controllers count the node as lost after 50 s
	if ready := r.kubectl("get", "node", "node1", "-o",
		`jsonpath={.status.conditions[?(@.type=="Ready")].status}`); ready != "Unknown" {
		t.Errorf("the node is Ready: %s", ready)
	}
	over()
	if lost := g.whole(2, 1).lost(); len(lost) > 0 {
		t.Errorf("%q", lost)
	}
}

// An API server that is gone for a while costs nothing but waiting.
func TestARunWhoseAPIServerIsStartedAnew(t *testing.T) {
	r := newPodRun(t)
	g := r.start("run", r.suite, "--on", r.pod(""), "--json")
	g.said.await(t, "1/2  ")
	over := kubetest.Start(t).Disturb(t, "kube-apiserver", "KILL")
	time.Sleep(5 * time.Second)
	over()
	d := g.whole(2, 1)
	if lost := d.lost(); len(lost) > 0 {
		t.Errorf("%q", lost)
	}
	for _, c := range d.Cells {
		for _, w := range c.Warnings {
			if w.Code == "no-result" || w.Code == "errors" {
				t.Errorf("%s: %s", c.ID, w.Code)
			}
		}
	}
}

// networkOfOne is a suite with one load on a network.
const networkOfOne = `version: 1
name: one
title: one stream
repetitions: 2
jobs:
  - {name: stream, iperf3: {time: 5s}}
`

// The server's pod that is taken away costs the repetition of all pairs, and not the run: the next has another address,
// and is measured by that.
func TestANetworkWhoseServersPodIsDeleted(t *testing.T) {
	for _, pairs := range []string{"1", "2"} {
		t.Run(pairs, func(t *testing.T) {
			t.Parallel()
			r := newPodRun(t)
			suite := filepath.Join(t.TempDir(), "one.yaml")
			if err := os.WriteFile(suite, []byte(networkOfOne), 0o644); err != nil {
				t.Fatal(err)
			}
			pod := "kube:pod?namespace=" + r.namespace
			g := r.start("net", suite, "--on", "client="+pod, "--on", "server="+pod, "--pairs", pairs, "--json")
			g.said.await(t, "1/2  ")
			server := ""
			for line := range strings.Lines(r.kubectl("get", "pods", "-n", r.namespace, "-o",
				`jsonpath={range .items[*]}{.metadata.name} {.status.podIP}{"\n"}{end}`)) {
				if name, address, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(g.said.String(),
					" at "+address+", port ") {
					server = name
				}
			}
			if server == "" {
				t.Fatalf("no pod has the address that is measured:\n%s", &g.said)
			}
			time.Sleep(time.Second) // the second repetition goes on
			r.kubectl("delete", "pod", server, "-n", r.namespace, "--wait=false")
			cells := map[string]int{"1": 1, "2": 3}[pairs]
			lost := g.whole(cells, 2).lost()
			if len(lost) != 1 ||
				!strings.Contains(lost[0], "is gone: it is being deleted; the server of the test was there") {
				t.Errorf("%q", lost)
			}
		})
	}
}
