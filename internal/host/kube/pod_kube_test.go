//go:build kube

package kube_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/kube"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/kubetest"
	"github.com/headroom/headroom/internal/testing/targettest"
)

// cluster is the one beside which the tests run: scripts/kube-cluster says where it is.
func cluster(t *testing.T) (image string) {
	t.Helper()
	if image = os.Getenv(kube.ImageVariable); image == "" || os.Getenv("KUBECONFIG") == "" {
		t.Skip("no cluster: run it beside one, scripts/kube-cluster go test -tags kube ./internal/host/kube")
	}
	return image
}

// kubectl must succeed.
func kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("kubectl", args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// space is a namespace of the test's own, in which nothing of headroom's may be left.
func space(t *testing.T, labels ...string) string {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-", " ", "-").Replace("t-" + t.Name()))
	name = strings.TrimRight(name[:min(len(name), 50)], "-")
	kubectl(t, "", "create", "namespace", name)
	for _, l := range labels {
		kubectl(t, "", "label", "namespace", name, l)
	}
	t.Cleanup(func() {
		if left := kubectl(t, "", "get", "pods,pvc", "-n", name, "-l", "app.kubernetes.io/managed-by=headroom", "-o",
			"name"); left != "" {
			t.Errorf("%s is left in %s", strings.Fields(left), name)
		}
		kubectl(t, "", "delete", "namespace", name, "--wait=false")
	})
	return name
}

func open(t *testing.T, name string) (*kube.Pod, error) {
	t.Helper()
	o, err := kube.ParseName(name)
	if err != nil {
		t.Fatal(err)
	}
	if o.Image == "" {
		o.Image = os.Getenv(kube.ImageVariable)
	}
	return kube.Open(t.Context(), o, kube.Host{Records: filepath.Join(t.TempDir(), "pods")})
}

func opened(t *testing.T, name string) *kube.Pod {
	t.Helper()
	p, err := open(t, name)
	if err != nil {
		t.Fatalf("%v\n%s", err, details(err))
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// details are the lines below an error.
func details(err error) string {
	if e, ok := errors.AsType[*lab.Error](err); ok {
		return strings.Join(e.Details(), "\n")
	}
	return ""
}

func TestAPodPassesTheSuite(t *testing.T) {
	cluster(t)
	t.Parallel()
	p := opened(t, "kube:pod?emptydir&namespace="+space(t))
	targettest.Run(t, func(*testing.T) host.Target { return p })
}

func TestARestrictedPodPassesTheSuite(t *testing.T) {
	cluster(t)
	t.Parallel()
	p := opened(t, "kube:pod?emptydir&restricted&namespace="+space(t, "pod-security.kubernetes.io/enforce=restricted"))
	targettest.Run(t, func(*testing.T) host.Target { return p })
}

// A load goes on when the streams to it break, and its result is there.
func TestALoadOutlivesItsStreams(t *testing.T) {
	cluster(t)
	t.Parallel()
	p := opened(t, "kube:pod?emptydir&namespace="+space(t))
	job, err := p.Start(t.Context(), host.JobSpec{ID: "broken-1", Argv: []string{"sh", "-c", "sleep 6; echo whole"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Forget(); err != nil { // all streams end, as when the API server is started again
		t.Fatal(err)
	}
	if state := targettest.Await(t, job); state.ExitCode != 0 {
		t.Errorf("%+v", state)
	}
	if out, err := job.Fetch(t.Context(), "stdout"); err != nil || string(out) != "whole\n" {
		t.Errorf("%q, %v", out, err)
	}
	if err := job.Remove(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAPodIsLostAndReplaced(t *testing.T) {
	cluster(t)
	t.Parallel()
	p := opened(t, "kube:pod?emptydir&namespace="+space(t))
	if err := p.Lost(t.Context()); err != nil {
		t.Fatal(err)
	}
	job, err := p.Start(t.Context(), host.JobSpec{ID: "lost-1", Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	name, namespace := p.Names()
	kubectl(t, "", "delete", "pod", "-n", namespace, name, "--grace-period=0", "--force")
	select {
	case <-job.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("nobody notices that the pod is gone")
	}
	if _, err := job.Poll(t.Context()); !errors.Is(err, host.ErrGone) {
		t.Errorf("%v", err)
	}
	if err := p.Lost(t.Context()); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("%v", err)
	}
	if err := p.Replace(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := p.Run(t.Context(), "echo", "back"); err != nil || string(out.Stdout) != "back\n" {
		t.Errorf("%q, %v", out.Stdout, err)
	}
	if err := p.Lost(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOtherLimits(t *testing.T) {
	cluster(t)
	t.Parallel()
	p := opened(t, "kube:pod?emptydir&cpu=100m..1&memory=256Mi&namespace="+space(t))
	limit := func() string {
		name, namespace := p.Names()
		return kubectl(t, "", "get", "pod", "-n", namespace, name, "-o",
			"jsonpath={.spec.containers[0].resources.limits.cpu}/{.spec.containers[0].resources.limits.memory}/{.status.qosClass}")
	}
	if got := limit(); got != "1/256Mi/Burstable" {
		t.Error(got)
	}
	if err := p.Boot(t.Context(), host.BootSpec{Machine: map[string]string{"cpu": "500m", "memory": "128Mi"}}); err !=
		nil {
		t.Fatal(err)
	}
	if got := limit(); got != "500m/128Mi/Guaranteed" {
		t.Error(got)
	}
	if err := p.Boot(t.Context(), host.BootSpec{}); err != nil {
		t.Fatal(err)
	}
	if got := limit(); got != "1/256Mi/Burstable" {
		t.Error(got)
	}
	for _, spec := range []host.BootSpec{{Kernel: "6.1"}, {Arguments: []string{"quiet"}},
		{Machine: map[string]string{"iothreads": "1"}}} {
		if err := p.Boot(t.Context(), spec); lab.KindOf(err) != lab.Usage {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}

// What a cluster refuses, or can't do, ends with the reason and the way out, and nothing is left.
func TestRefusals(t *testing.T) {
	image := cluster(t)
	plain, small := space(t), ""
	t.Run("quota", func(t *testing.T) {
		small = space(t)
		kubectl(t, "", "create", "quota", "q", "-n", small, "--hard=limits.cpu=1,pods=2")
		refused(t, "kube:pod?emptydir&cpu=2&namespace="+small, "exceeded quota", "kubectl describe quota")
		refused(t, "kube:pod?emptydir&namespace="+small, "must specify limits.cpu", "add cpu= and memory=")
	})
	t.Run("pod security", func(t *testing.T) {
		strict, baseline := space(t, "pod-security.kubernetes.io/enforce=restricted"), ""
		refused(t, "kube:pod?emptydir&namespace="+strict, "violates PodSecurity", "add restricted")
		kubectl(t, "", "label", "namespace", strict, "pod-security.kubernetes.io/enforce=baseline", "--overwrite")
		baseline = strict
		refused(t, "kube:pod?emptydir&privileged&namespace="+baseline, "violates PodSecurity", "leave out")
	})
	t.Run("permissions", func(t *testing.T) {
		name := space(t)
		ann, some := kubetest.Start(t).Account(t, name), []kubetest.Right{{Resource: "pods", Verb: "get"},
			{Resource: "pods", Verb: "create"}}
		ann.May(t, some, some)
		refused(t, "kube:pod?emptydir&namespace="+name+"&kubeconfig="+ann.Kubeconfig,
			"patch pods, delete pods, create pods/exec", "ask for a role")
	})
	t.Run("names", func(t *testing.T) {
		refused(t, "kube:pod?emptydir&namespace=nowhere", "no namespace nowhere", "create namespace")
		refused(t, "kube:pod?class=nothing&namespace="+plain, "no StorageClass nothing", "classes are")
		refused(t, "kube:pod?emptydir&node=nobody&namespace="+plain, "no node nobody", "node1")
		refused(t, "kube:pod?claim=none&namespace="+plain, "no claim none", "kubectl get pvc")
	})
	t.Run("image", func(t *testing.T) {
		refused(t, "kube:pod?emptydir&pull=never&image=localhost/nothing:1&namespace="+plain, "ErrImageNeverPull",
			"load it there")
		refused(t, "kube:pod?emptydir&pull=missing&image=localhost:1/nothing:1&namespace="+plain, "ImagePullBackOff",
			"check the name of the image")
	})
	t.Run("too large", func(t *testing.T) {
		refused(t, "kube:pod?emptydir&cpu=900&wait=5s&image="+image+"&namespace="+plain, "Insufficient cpu",
			"ask for less")
		refused(t, "kube:pod?emptydir&selector=disk=gold&wait=5s&namespace="+plain, "node affinity/selector",
			"check node= and selector=")
	})
	t.Run("a class that makes nothing", func(t *testing.T) {
		class(t, "no-volumes", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
		refused(t, "kube:pod?class=no-volumes&size=1Gi&namespace="+plain, "makes no volumes", "kubectl get pv")
		class(t, "nobody", "example.com/nobody", "Immediate")
		refused(t, "kube:pod?class=nobody&size=1Gi&wait=5s&namespace="+plain,
			"unbound immediate PersistentVolumeClaims", "binds Immediate, and its provisioner is example.com/nobody")
	})
	t.Run("cordoned", func(t *testing.T) {
		kubectl(t, "", "cordon", "node1")
		defer kubectl(t, "", "uncordon", "node1")
		refused(t, "kube:pod?emptydir&node=node1&namespace="+plain, "is cordoned", "kubectl uncordon")
	})
}

// In a namespace that was made just now pods are refused until a controller has made their account. That is waited for.
func TestAPodOfANewNamespace(t *testing.T) {
	cluster(t)
	over := kubetest.Start(t).Disturb(t, "kube-controller-manager", "STOP")
	namespace := space(t)
	if out, err := exec.Command("kubectl", "get", "serviceaccount", "default", "-n", namespace).CombinedOutput(); err ==
		nil {
		t.Fatalf("the account is there: %s", out)
	}
	time.AfterFunc(2*time.Second, over) // it has been refused some times by then
	p, err := open(t, "kube:pod?emptydir&namespace="+namespace)
	if err != nil {
		t.Fatalf("%v\n%s", err, details(err))
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func class(t *testing.T, name, provisioner, binding string) {
	t.Helper()
	kubectl(t, `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"`+name+`"},"provisioner":"`+provisioner+`","volumeBindingMode":"`+binding+`"}`, "apply", "-f", "-")
	t.Cleanup(func() { kubectl(t, "", "delete", "storageclass", name) })
}

// refused says why a pod is not available, and how it could.
func refused(t *testing.T, name, why, hint string) {
	t.Helper()
	p, err := open(t, name)
	if err == nil {
		t.Errorf("%s: it was made", name)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		return
	}
	printed := err.Error() + "\n" + details(err)
	if !strings.Contains(printed, why) || !strings.Contains(printed, hint) {
		t.Errorf("%s: nothing of %q and %q in:\n%s", name, why, hint, printed)
	}
}

// What a headroom that was killed has made is removed by its record, and nothing else of that name.
func TestWhatAKilledOneLeft(t *testing.T) {
	cluster(t)
	t.Parallel()
	namespace := space(t)
	name := "kube:pod?emptydir&namespace=" + namespace
	o, err := kube.ParseName(name)
	if err != nil {
		t.Fatal(err)
	}
	o.Image = os.Getenv(kube.ImageVariable)
	records := filepath.Join(t.TempDir(), "pods")
	p, err := kube.Open(t.Context(), o, kube.Host{Records: records})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := kube.Pending(records, func(string) error { return nil }); err != nil || len(left) != 0 {
		t.Fatalf("while it lives: %v, %v", left, err)
	}
	p.Abandon()
	left, err := kube.Pending(records, func(string) error { return nil })
	if err != nil || len(left) != 1 {
		t.Fatalf("%v, %v", left, err)
	}
	removed, err := kube.Clear(context.Background(), left[0].Record)
	if err != nil || len(removed) != 1 {
		t.Errorf("%v, %v", removed, err)
	}
	again, err := kube.Clear(context.Background(), left[0].Record)
	if err != nil || len(again) != 0 {
		t.Errorf("twice: %v, %v", again, err)
	}
	if err := left[0].Remove(); err != nil {
		t.Error(err)
	}
}

// What a cluster knows of a pod and of its volume is among the facts.
func TestFactsOfAPod(t *testing.T) {
	cluster(t)
	t.Parallel()
	namespace := space(t)
	defer kubetest.Start(t).ReleaseNamespace(t, namespace)
	p, err := open(t, "kube:pod?class=fast&size=1Gi&cpu=100m..1&memory=128Mi&namespace="+namespace)
	if err != nil {
		t.Fatalf("%v\n%s", err, details(err))
	}
	known := map[string]string{}
	for _, f := range p.Facts(t.Context()) {
		known[f.Key] = f.Value
		if f.Unknown != "" {
			known[f.Key] = "unknown: " + f.Unknown
		}
		t.Logf("%s %s = %s", f.Key, f.About, known[f.Key])
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for key, want := range map[string]string{
		"cluster.version": "v1.34", "cluster.kubelet": "v1.34", "cluster.runtime": "containerd://",
		"cluster.node": "node1", "cluster.cni": "unknown",
		"cluster.pod.qos": "Burstable", "cluster.pod.cpu.request": "100m", "cluster.pod.cpu.limit": "1",
		"cluster.pod.memory.limit": "128Mi",
		"claim.class":              "fast", "claim.provisioner": "kubernetes.io/no-provisioner",
		"claim.binding":    "WaitForFirstConsumer",
		"claim.parameters": "none", "cluster.pod.mtu": "1500", "claim.driver": "local",
		"claim.nodes": "kubernetes.io/hostname In node1", "claim.replica": "local",
	} {
		if !strings.HasPrefix(known[key], want) {
			t.Errorf("%s is %q, want %s", key, known[key], want)
		}
	}
}
