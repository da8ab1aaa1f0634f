//go:build system && kube

package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/testing/kubetest"
)

// deployed is a namespace of the test's own in which manifests of deploy/ are tried. It allows no privileges.
type deployed struct {
	*kubetest.Cluster
	t         *testing.T
	namespace string
}

func newDeployed(t *testing.T) deployed {
	t.Helper()
	d := deployed{kubetest.Start(t), t, strings.ToLower("t-" + t.Name())}
	d.Kubectl(t, "", "create", "namespace", d.namespace)
	d.Kubectl(t, "", "label", "namespace", d.namespace, "pod-security.kubernetes.io/enforce=restricted")
	t.Cleanup(func() {
		d.Kubectl(t, "", "delete", "namespace", d.namespace)
		d.ReleaseNamespace(t, d.namespace)
	})
	return d
}

func (d deployed) kubectl(args ...string) string {
	d.t.Helper()
	return d.Kubectl(d.t, "", append([]string{"--namespace", d.namespace}, args...)...)
}

// changed writes a kustomization: a manifest with the image of the test and with patches, as users change them. It
// returns its folder.
func (d deployed) changed(namespace, file string, patches ...string) string {
	d.t.Helper()
	dir := d.t.TempDir()
	repository, tag, _ := strings.Cut(d.Image, ":")
	k := map[string]any{"resources": []string{file},
		"images": []any{map[string]string{"name": "headroom", "newName": repository, "newTag": tag}}}
	if namespace != "" {
		k["namespace"] = namespace
	}
	if len(patches) > 0 {
		var all []any
		for _, patch := range patches {
			all = append(all, map[string]string{"patch": patch})
		}
		k["patches"] = all
	}
	text, err := json.Marshal(k)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), text, 0o644); err != nil {
		d.t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join("../../deploy", file))
	if err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), manifest, 0o644); err != nil {
		d.t.Fatal(err)
	}
	return dir
}

// apply applies a manifest and returns what deletes it.
func (d deployed) apply(file string, patches ...string) (remove func()) {
	d.t.Helper()
	dir := d.changed(d.namespace, file, patches...)
	d.kubectl("apply", "--kustomize", dir)
	return func() {
		d.t.Helper()
		d.kubectl("delete", "--kustomize", dir)
	}
}

// forward has kubectl forward a port of this machine to a service's for the time of the test, and returns its address.
func (d deployed) forward(service string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "kubectl", "--namespace", d.namespace, "port-forward", service, ":http")
	printed, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = cmd.Wait() }) // the test's context has ended it
	line, err := bufio.NewReader(printed).ReadString('\n')
	address, _, found := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " ")
	if err != nil || !found {
		d.t.Fatalf("kubectl port-forward said %q, %v", line, err)
	}
	return address
}

// completed waits for the end of a job, and fails when it failed.
func (d deployed) completed(job string) {
	d.t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
		switch d.kubectl("get", "job", job, "--output", "jsonpath={.status.succeeded}/{.status.failed}") {
		case "1/":
			return
		case "/1":
			d.t.Fatalf("the job %s failed:\n%s", job, d.kubectl("logs", "job/"+job, "--all-containers"))
		}
	}
	d.t.Fatalf("the job %s has not ended:\n%s", job, d.kubectl("describe", "pods"))
}

// nothing waits until no object of headroom's is left.
func (d deployed) nothing() {
	d.t.Helper()
	var left string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		if left = d.kubectl("get", "all,pvc", "--output", "name"); left == "" {
			return
		}
	}
	d.t.Errorf("%q are left", strings.Fields(left))
}

const resultsOnSlow = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: headroom-results}, spec: {storageClassName: slow}}`

// shortRun is what the jobs measure, shorter than their suite.
const shortRun = `[run, quick, /data, --size, 64m, --repeat, "1", --set, runtime=1s]`

// measured is the job with a short run, which has ended, and the claim that the run is on: what removes each.
func (d deployed) measured() (removeResults, remove func()) {
	d.t.Helper()
	removeResults = d.apply("results.yaml", resultsOnSlow)
	remove = d.apply("job.yaml",
		`{apiVersion: batch/v1, kind: Job, metadata: {name: headroom}, spec: {template: {spec: {
		containers: [{name: headroom, args: `+shortRun+`}],
		volumes: [{name: under-test, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast, resources: {requests: {storage: 1Gi}}}}}}]}}}}`)
	d.completed("headroom")
	return removeResults, remove
}

// reader is the pod that reads the claim, when it is ready: what removes it.
func (d deployed) reader() (remove func()) {
	d.t.Helper()
	remove = d.apply("reader.yaml")
	d.kubectl("wait", "pod/headroom-reader", "--for", "condition=Ready", "--timeout", "2m")
	return remove
}

// empty removes the runs by the reader, then both, and waits until nothing is left.
func (d deployed) empty(removeReader, removeResults func()) {
	d.t.Helper()
	d.kubectl("exec", "headroom-reader", "--", "rm", "-r", "/results/runs")
	removeReader()
	removeResults()
	d.nothing()
}

// A job's run is on the claim when the job is gone, and can be read there and taken away.
func TestDeployedJob(t *testing.T) {
	d := newDeployed(t)
	removeResults, remove := d.measured()
	log := d.kubectl("logs", "job/headroom")
	t.Log(log)
	if !strings.Contains(log, "randread") || !strings.Contains(log, "saved as ") {
		t.Errorf("no table in the log:\n%s", log)
	}
	remove()

	removeReader := d.reader()
	var run struct {
		Status string
		Cells  []struct{ N int }
	}
	shown := d.kubectl("exec", "headroom-reader", "--", "headroom", "show", "last", "--json")
	if err := json.Unmarshal([]byte(shown), &run); err != nil || run.Status != "complete" || len(run.Cells) != 6 ||
		run.Cells[0].N != 1 {
		t.Errorf("%v: %+v", err, run)
	}
	file, store := filepath.Join(t.TempDir(), "last.headroom"), t.TempDir()
	bundle := d.kubectl("exec", "headroom-reader", "--", "headroom", "export", "last", "--format", "run", "--serials")
	if err := os.WriteFile(file, []byte(bundle), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"import", file}, {"show", "last"}} {
		if out, err := exec.Command("headroom", append(args, "--store", store)...).CombinedOutput(); err != nil ||
			args[0] == "show" && !strings.Contains(string(out), "randread") {
			t.Errorf("headroom %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	d.empty(removeReader, removeResults)
}

// Two nights are one history.
func TestDeployedCronJob(t *testing.T) {
	d := newDeployed(t)
	removeResults := d.apply("results.yaml", resultsOnSlow)
	remove := d.apply("cronjob.yaml",
		`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: headroom-nightly}, spec: {storageClassName: fast, resources: {requests: {storage: 1Gi}}}}`,
		`{apiVersion: batch/v1, kind: CronJob, metadata: {name: headroom-nightly}, spec: {jobTemplate: {spec: {template: {spec: {initContainers: [{name: run, args: `+shortRun+`}]}}}}}}`)
	for _, night := range []string{"first", "second"} {
		d.kubectl("create", "job", "--from", "cronjob/headroom-nightly", night)
		d.completed(night)
	}
	if printed := d.kubectl("logs", "job/second"); !strings.Contains(printed,
		"quick on headroom-nightly, /data: 2 runs") {
		t.Errorf("no history of two runs:\n%s", printed)
	}
	if printed := d.kubectl("logs", "job/second", "--container", "run"); !strings.Contains(printed, "saved as ") {
		t.Errorf("no table:\n%s", printed)
	}
	remove()

	removeReader := d.reader()
	var history struct {
		Series []struct {
			Host string
			Runs []struct{ Complete bool }
		}
	}
	shown := d.kubectl("exec", "headroom-reader", "--", "headroom", "history", "quick", "--json")
	if err := json.Unmarshal([]byte(shown), &history); err != nil || len(history.Series) != 1 ||
		history.Series[0].Host != "headroom-nightly" ||
		len(history.Series[0].Runs) != 2 || !history.Series[0].Runs[1].Complete {
		t.Errorf("%v: %+v", err, history)
	}
	d.empty(removeReader, removeResults)
}

// Runs that a job has left are served from the claim to whoever knows the token, and the probes pass.
func TestDeployedServe(t *testing.T) {
	d := newDeployed(t)
	removeResults, remove := d.measured()
	remove()

	d.kubectl("create", "secret", "generic", "headroom-serve", "--from-literal=token=SECRET")
	removeServe := d.apply("serve.yaml")
	d.kubectl("rollout", "status", "deployment/headroom-serve", "--timeout", "2m")
	at := "http://" + d.forward("service/headroom-serve")
	for _, c := range []struct {
		path, token, want string
		status            int
	}{{"/healthz", "", "ok\n", 200}, {"/metrics", "", "a token is needed", 401},
		{"/metrics", "SECRET", `headroom_store_runs{status="complete"} 1`, 200},
		{"/", "SECRET", "headroom", 200}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+c.token)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		_ = got.Body.Close()
		if err != nil || got.StatusCode != c.status || !strings.Contains(string(body), c.want) {
			t.Errorf("%s with %q: %s, %v\n%s", c.path, c.token, got.Status, err, body)
		}
	}
	removeServe()
	d.kubectl("delete", "secret", "headroom-serve")

	removeReader := d.reader()
	d.empty(removeReader, removeResults)
}

// The pod on a node sees the node as its root does: its processes, and devices that came after the pod. Its runs are on
// the node.
func TestDeployedDaemonSet(t *testing.T) {
	t.Parallel()
	d := deployed{kubetest.Start(t), t, "headroom"}
	dir := d.changed("", "daemonset.yaml")
	d.kubectl("apply", "--kustomize", dir)
	defer func() {
		d.kubectl("delete", "--kustomize", dir)
		if left := d.Kubectl(t, "", "get", "namespaces", "--output", "name"); slices.Contains(strings.Fields(left),
			"namespace/headroom") {
			t.Error("its namespace is left")
		}
		// the runs are left, as they should be
		if err := os.RemoveAll(filepath.Join(d.Dir, "lib/headroom")); err != nil {
			t.Error(err)
		}
	}()
	d.kubectl("rollout", "status", "daemonset/headroom", "--timeout", "2m")
	headroom := func(args ...string) string {
		t.Helper()
		return d.kubectl(append([]string{"exec", "daemonset/headroom", "--", "headroom"}, args...)...)
	}
	if printed := headroom("doctor"); printed == "" {
		t.Error("doctor says nothing")
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if printed := headroom("facts", "--only", "host.name"); !strings.Contains(printed, name) {
		t.Errorf("the node is not named %s:\n%s", name, printed)
	}
	device := attachLoopOf(t, 64<<20, "")
	var run struct{ ID, Status string }
	if err := json.Unmarshal([]byte(headroom("run", "quick", device, "--repeat", "1", "--set", "runtime=1s", "--json")),
		&run); err != nil || run.Status != "complete" {
		t.Errorf("%v: %+v", err, run)
	}
	// some end meanwhile
	seen := d.kubectl("exec", "daemonset/headroom", "--", "sh", "-c", "cat /proc/[0-9]*/comm 2>/dev/null; true")
	if !slices.Contains(strings.Fields(seen), "kubelet") {
		t.Errorf("the node's processes are not seen, but %q", strings.Fields(seen))
	}
	if _, err := os.Stat(filepath.Join(d.Dir, "lib/headroom/runs", run.ID, "run.json")); err != nil {
		t.Errorf("the run is not on the node: %v", err)
	}
}
