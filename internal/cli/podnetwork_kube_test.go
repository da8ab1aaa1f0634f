//go:build system && kube

package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/testing/kubetest"
)

// ladderArguments are the arguments of a short ladder between two pods.
func (r podRun) ladderArguments(more ...string) []string {
	pod := "kube:pod?namespace=" + r.namespace
	return append([]string{"ladder", "--on", "client=" + pod, "--on", "server=" + pod, "--set", "time=2s", "--set",
		"parallel=2", "--direction", "send", "--passes", "3", "--seed", "5"}, more...)
}

// ladder is the document of a ladder that has come to its end.
func (g *runningCommand) ladder() (d ladder.Document) {
	g.r.t.Helper()
	if err := g.cmd.Wait(); err != nil {
		g.r.t.Fatalf("%v\n%s", err, &g.said)
	}
	if err := json.Unmarshal([]byte(g.out.String()), &d); err != nil {
		g.r.t.Fatalf("%v\n%s", err, &g.out)
	}
	return d
}

// slowPods has what goes to each of the first pods of a namespace in the pod network, and nothing else, pass a shaper
// of so many Mbit/s. The shapers go with the pods.
func (r podRun) slowPods(cluster *kubetest.Cluster, pods, mbit int) {
	r.t.Helper()
	var names []string
	for end := time.Now().Add(2 * time.Minute); len(names) < pods; time.Sleep(100 * time.Millisecond) {
		names = strings.Fields(r.kubectl("get", "pods", "-n", r.namespace, "-o",
			`jsonpath={range .items[?(@.status.phase=="Running")]}{.metadata.name}{"\n"}{end}`))
		if time.Now().After(end) {
			r.t.Fatalf("%q run", names)
		}
	}
	for _, name := range names {
		index := strings.TrimSpace(r.kubectl("exec", "-n", r.namespace, name, "--", "cat",
			"/sys/class/net/eth0/iflink"))
		links := cluster.Network(r.t, "ip", "-oneline", "link", "show", "master", "cni0")
		m := regexp.MustCompile(`(?m)^` + index + `: ([^@:]+)`).FindStringSubmatch(links)
		if m == nil {
			r.t.Fatalf("no interface %s in\n%s", index, links)
		}
		cluster.Network(r.t, "tc", "qdisc", "add", "dev", m[1], "root", "tbf", "rate", fmt.Sprintf("%dmbit", mbit),
			"burst", "64kb", "latency", "50ms")
	}
}

// A limit in the pod network, which the node's own does not have, is found between pods and not between nodes, and told
// as the pod network's cost.
func TestALadderBetweenPodsChargesThePodNetwork(t *testing.T) {
	t.Parallel()
	newPodRun(t).chargedPodNetwork()
}

// chargedPodNetwork is a ladder between pods to each of which no more than 100 Mbit/s go.
func (r podRun) chargedPodNetwork() ladder.Document {
	t := r.t
	t.Helper()
	g := r.start(r.ladderArguments("--json")...)
	r.slowPods(kubetest.Start(t), 2, 100)
	d := g.ladder()
	var names []string
	for _, rung := range d.Rungs {
		names = append(names, string(rung.Network)+" "+rung.Name)
	}
	if want := []string{"pods loopback of the server's pod", "pods loopback of the client's pod",
		"nodes one flow, the node to itself", "nodes the node to itself",
		"pods one flow, pod to pod", "pods pod to pod"}; !slices.Equal(names, want) {
		t.Fatalf("%q", names)
	}
	for _, name := range []string{"pod to pod", "the node to itself"} {
		if c := rungCalled(t, d, name); c.Center == nil || *c.Center <= 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if d.Answer.Rung == nil || d.Rungs[*d.Answer.Rung].Network != ladder.Pods ||
		!regexp.MustCompile(`the pod network costs \d+%`).MatchString(d.Answer.Text) {
		t.Errorf("%+v", d.Answer)
	}
	if len(d.PodNetwork) != 1 || d.PodNetwork[0].Verdict != ladder.Short {
		t.Fatalf("%+v", d.PodNetwork)
	}
	if cost := d.PodNetwork[0].Cost; cost.Lo == nil || cost.Value <= 0 {
		t.Errorf("%+v", cost)
	}
	if !slices.ContainsFunc(d.Notes, func(n string) bool {
		return strings.Contains(n, "all pods ran on one node (node1)")
	}) {
		t.Errorf("%q", d.Notes)
	}
	for _, w := range d.Warnings {
		if slices.Contains(portsChecked, w.Code) {
			t.Errorf("%s: %s", w.Code, w.Text)
		}
	}
	return d
}

// Where pods may not have their node's network, the rest goes on, and why the rung is missing is reported.
func TestALadderBetweenPodsWithoutHostNetwork(t *testing.T) {
	t.Parallel()
	r := newPodRun(t)
	r.kubectl("label", "namespace", r.namespace, "pod-security.kubernetes.io/enforce=baseline")
	g := r.start(r.ladderArguments("--passes", "2", "--set", "time=1s", "--json")...)
	d := g.ladder()
	i := slices.IndexFunc(d.Warnings, func(w ladder.RungWarning) bool { return w.Code == "target-left-out" })
	if i < 0 || !strings.Contains(d.Warnings[i].Text, `violates PodSecurity "baseline`) ||
		!strings.Contains(d.Warnings[i].Text, "namespace=NAME") {
		t.Errorf("%+v", d.Warnings)
	}
	if !strings.Contains(g.said.String(), "the rung below the pod network is left out") {
		t.Errorf("it is not said beforehand:\n%s", &g.said)
	}
	if len(d.PodNetwork) > 0 || len(d.Rungs) != 4 || rungCalled(t, d, "10.244.").Center == nil {
		t.Errorf("%+v", d.Rungs)
	}
}

// A ladder that is killed leaves four pods, which restore removes; it goes on between others, measures nothing twice,
// and takes them away.
func TestALadderBetweenPodsThatIsKilled(t *testing.T) {
	t.Parallel()
	r := newPodRun(t)
	// another test has pods in the same node's network
	args := r.ladderArguments("--passes", "2", "--set", "time=1s", "--port", "5301")
	killed := r.start(args...)
	killed.said.await(t, "2/12  ")
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.cmd.Wait() // it was killed
	if left := r.made(); len(left) != 4 {
		t.Errorf("%q are left by a kill", left)
	}
	out, err := r.command("restore").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "headroom ladder --resume") {
		t.Errorf("%v\n%s", err, out)
	}
	if left := r.made(); len(left) > 0 {
		t.Errorf("%q are left by restore", left)
	}
	stopped := r.start("ladder", "--resume", "last")
	stopped.said.await(t, "3/10  ") // of those that are left
	if err := stopped.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := stopped.cmd.Wait(); exitOf(err) != 130 {
		t.Errorf("%v\n%s", err, &stopped.said)
	}
	if left := r.made(); len(left) > 0 {
		t.Errorf("%q are left by Ctrl-C", left)
	}
	d := r.start("ladder", "--resume", "last", "--json").ladder()
	for _, rung := range d.Rungs {
		if c := rung.Cells[0]; c.N != 2 {
			t.Errorf("%s was measured %d times", rung.Name, c.N)
		}
	}
	if len(d.Rungs) != 6 {
		t.Errorf("%+v", d.Rungs)
	}
}
