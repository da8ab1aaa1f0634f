//go:build system && kube

package experiment

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/kubetest"
)

// The API server checks the migration against KubeVirt's schema. There is no KubeVirt that would carry it out: its
// status is set by the test.
func TestAMachineOfKubeVirtIsMoved(t *testing.T) {
	if os.Getenv("HEADROOM_KUBE_IMAGE") == "" || os.Getenv("KUBECONFIG") == "" {
		t.Skip("no cluster: run it beside one, scripts/kube-cluster go test -tags 'system kube' ./internal/event")
	}
	kubetest.KubeVirt(t, os.Getenv("KUBECONFIG"))
	const namespace = "t-migrate"
	kubectl := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command("kubectl", args...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	kubectl("", "create", "namespace", namespace)
	t.Cleanup(func() { kubectl("", "delete", "namespace", namespace, "--wait=false") })
	instance := func(name, status string) {
		kubectl("{apiVersion: kubevirt.io/v1, kind: VirtualMachineInstance, metadata: {name: "+name+"}, spec: "+
			"{domain: {devices: {}}}, status: "+status+"}", "create", "-n", namespace, "-f", "-")
	}
	instance("db1", "{phase: Running, conditions: [{type: LiveMigratable, status: 'True'}]}")
	instance("stays", "{phase: Running, conditions: [{type: LiveMigratable, status: 'False', message: 'PVC data is "+
		"not shared'}]}")
	instance("halted", "{phase: Succeeded}")
	here := host.NewLocal(t.TempDir())
	kind, ok := FindEvent("vm-migrate")
	if !ok {
		t.Fatal("there is no such event")
	}
	for words, want := range map[string]string{namespace + "/halted": "no machine halted", namespace +
		"/nobody": "no machine nobody", namespace + "/stays": "PVC data is not shared",
		"under-test": "names no machine", "db1": "names no machine"} {
		_, err := kind.Plan(t.Context(), EventScope{Target: here}, []string{"vm-migrate", words})
		if lab.KindOf(err) != lab.Refused || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", words, err)
		}
	}
	for phase, want := range map[string]bool{"Succeeded": true, "Failed": false} {
		p, err := kind.Plan(t.Context(), EventScope{Target: here, Machine: "db1", Namespace: namespace},
			[]string{"vm-migrate", "under-test"})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(p.Command[0], p.Command[1:]...)
		var printed strings.Builder
		cmd.Stderr = &printed
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		name := ""
		for end := time.Now().Add(time.Minute); name == ""; time.Sleep(200 * time.Millisecond) {
			name = strings.TrimSpace(kubectl("", "get", "vmim", "-n", namespace, "-o",
				"jsonpath={.items[*].metadata.name}"))
			if time.Now().After(end) {
				t.Fatalf("no migration is made: %s", &printed)
			}
		}
		if of := kubectl("", "get", "vmim", "-n", namespace, name, "-o", "jsonpath={.spec.vmiName}"); of != "db1" {
			t.Errorf("it is of %q", of)
		}
		kubectl("", "patch", "vmim", "-n", namespace, name, "--subresource", "status", "--type", "merge", "--patch",
			`{"status": {"phase": "`+phase+`", "migrationState": {"failureReason": "no node for it"}}}`)
		if err := cmd.Wait(); (err == nil) != want || !want && !strings.Contains(printed.String(), "no node for it") {
			t.Errorf("%s: %v, %s", phase, err, &printed)
		}
		kubectl("", "delete", "vmim", "-n", namespace, name)
	}
}
