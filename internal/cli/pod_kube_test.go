//go:build system && kube

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host/kube"
	"github.com/headroom/headroom/internal/testing/kubetest"
)

// podSuite has loads that are long enough for something to happen during them.
const podSuite = `version: 1
name: pod
title: loads in a pod
place: directory
repetitions: 1
size: 4m
defaults: {ioengine: psync, bs: 4k, runtime: 3s, time_based: 1, rate_iops: 500}
jobs:
  - {name: read, fio: {rw: randread}}
  - {name: write, fio: {rw: randwrite}}
`

// podRun is a headroom that measures in pods of a namespace of the test's own.
type podRun struct {
	t                       *testing.T
	suite, store, namespace string
}

func newPodRun(t *testing.T) podRun {
	t.Helper()
	if os.Getenv(kube.ImageVariable) == "" || os.Getenv("KUBECONFIG") == "" {
		t.Skip("no cluster: run it beside one, scripts/kube-cluster go test -tags 'system kube' ./internal/cli -run Pod")
	}
	dir := t.TempDir()
	r := podRun{t: t, suite: filepath.Join(dir, "pod.yaml"), store: filepath.Join(dir, "store"),
		namespace: strings.ToLower("t-" + strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))}
	if err := os.WriteFile(r.suite, []byte(podSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	cluster := kubetest.Start(t)
	r.kubectl("create", "namespace", r.namespace)
	// pods are refused before
	r.kubectl("wait", "serviceaccount/default", "-n", r.namespace, "--for=create", "--timeout=1m")
	t.Cleanup(func() {
		if left := r.made(); len(left) > 0 {
			t.Errorf("%q are left", left)
		}
		r.kubectl("delete", "namespace", r.namespace, "--wait=false")
		cluster.ReleaseNamespace(t, r.namespace)
	})
	return r
}

func (r podRun) kubectl(args ...string) string {
	r.t.Helper()
	out, err := exec.Command("kubectl", args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// made are the names of what headroom has made and not removed.
func (r podRun) made() []string {
	r.t.Helper()
	return strings.Fields(r.kubectl("get", "pods,pvc", "-n", r.namespace, "-l", "app.kubernetes.io/managed-by=headroom",
		"-o", "name"))
}

func (r podRun) command(args ...string) *exec.Cmd {
	return exec.Command("headroom", append(args, "--store", r.store)...)
}

func (r podRun) pod(options string) string {
	return "kube:pod?emptydir&namespace=" + r.namespace + options
}

// listened is what a headroom says while it goes on.
type listened struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *listened) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *listened) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// await waits until something is said.
func (l *listened) await(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !strings.Contains(l.String(), text); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nothing of %q in\n%s", text, l)
		}
	}
}

func TestARunInAPodThatIsKilled(t *testing.T) {
	t.Parallel()
	r := newPodRun(t)
	run := r.command("run", r.suite, "--on", r.pod(""))
	var printed listened
	run.Stderr = &printed
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	printed.await(t, "1/2  ")
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // it was killed
	if left := r.made(); len(left) != 1 {
		t.Fatalf("%q are left by a kill", left)
	}
	if labels := r.kubectl("get", r.made()[0], "-n", r.namespace, "-o",
		"jsonpath={.metadata.labels}"); !strings.Contains(labels, "headroom.dev/run") {
		t.Errorf("no run in %s", labels)
	}
	out, err := r.command("restore").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "removed from namespace "+r.namespace) {
		t.Errorf("%v\n%s", err, out)
	}
	if left := r.made(); len(left) > 0 {
		t.Errorf("%q are left by restore", left)
	}
	if out, err := r.command("restore").CombinedOutput(); err != nil || string(out) != "nothing was left behind\n" {
		t.Errorf("once more: %v\n%s", err, out)
	}
	if out, err := r.command("run", "--resume", "last", "--json").Output(); err != nil ||
		!strings.Contains(string(out), `"complete"`) {
		t.Errorf("resumed: %v\n%s", err, out)
	}
}

// Pods start at the same time. When one is not available, the error is about that one, and the others are removed, and
// not measured.
func TestSeveralPodsOrNone(t *testing.T) {
	t.Parallel()
	r := newPodRun(t)
	out, err := r.command("run", r.suite, "--on", "a="+r.pod(""), "--on", "b="+r.pod("&node=gone"), "--on",
		"c="+r.pod("")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "there is no node gone") ||
		strings.Contains(string(out), "cancel") {
		t.Errorf("%v\n%s", err, out)
	}
	if left := r.made(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// A pod that is taken away costs the repetition and not the run.
func TestARunWhosePodIsDeleted(t *testing.T) {
	t.Parallel()
	r := newPodRun(t)
	run := r.command("run", r.suite, "--on", r.pod(""), "--json")
	var printed listened
	var out bytes.Buffer
	run.Stderr, run.Stdout = &printed, &out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	printed.await(t, "1/2  ")
	r.kubectl("delete", "-n", r.namespace, r.made()[0], "--grace-period=0", "--force")
	if err := run.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &printed)
	}
	var document struct {
		Status   string
		Warnings []struct{ Code, Text string }
		Cells    []struct {
			N        int
			Warnings []struct{ Code string }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	if document.Status != "complete" || len(document.Cells) != 2 || document.Cells[0].N != 1 ||
		document.Cells[1].N != 1 {
		t.Errorf("%+v", document)
	}
	if !strings.Contains(out.String(), "target-lost") || !strings.Contains(out.String(), "it was deleted") {
		t.Errorf("nothing of the loss in %+v", document.Warnings)
	}
}

// Limits of the pod are a factor, and one that holds the load back is said to.
func TestASweepOfAPodsLimits(t *testing.T) {
	t.Parallel()
	r := newPodRun(t)
	out, err := r.command("sweep", r.suite, "--on", r.pod("&memory=128Mi"), "--factor", "pod:cpu=50m,500m", "--blocks",
		"1", "--set", "rate_iops=0", "--set", "runtime=2s").CombinedOutput()
	if err != nil && !strings.Contains(string(out), "saved as") {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, text := range []string{"boot with cpu=50m", "boot with cpu=500m", "cpu-quota"} {
		if !strings.Contains(string(out), text) {
			t.Errorf("nothing of %q in\n%s", text, out)
		}
	}
}

// The plain ways: the built-in suite, what holds the pod's machine back, and the network between two pods.
func TestPodsThePlainWay(t *testing.T) {
	t.Parallel()
	r := newPodRun(t)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"run", "quick", "--on", r.pod(""), "--repeat", "1", "--size", "64m", "--set", "runtime=1s", "--set",
			"size=64m"}, []string{"6/6  ", "saved as", "headroom doctor"}},
		{[]string{"doctor", r.pod(""), "--all"}, []string{"kube:pod?emptydir", "clear"}},
		{[]string{"net", "--on", "client=kube:pod?namespace=" + r.namespace, "--on", "server=kube:pod?namespace=" +
			r.namespace, "--repeat", "1", "--set", "time=2s"}, []string{"bit/s", "10.244."}},
	} {
		out, err := r.command(c.args...).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", c.args, err, out)
		}
		for _, text := range c.want {
			if !strings.Contains(string(out), text) {
				t.Errorf("%v: nothing of %q in\n%s", c.args, text, out)
			}
		}
	}
}
