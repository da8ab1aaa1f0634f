package kubetest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// definitions are the resource definitions of a release of KubeVirt; they name their source.
//
//go:embed kubevirt.yaml
var definitions string

// KubeVirt makes KubeVirt's resources known to the cluster of a kubeconfig until the test ends: the API server then
// checks all objects of these kinds against the schema of the release. No controller is installed.
func KubeVirt(t *testing.T, kubeconfig string) {
	t.Helper()
	kubectl := func(stdin string, args ...string) {
		t.Helper()
		cmd := exec.Command("kubectl", args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		cmd.Stdin = strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	kubectl(definitions, "create", "--filename", "-")
	t.Cleanup(func() {
		kubectl(definitions, "delete", "--filename", "-", "--timeout", "2m")
		// kubectl would look for machines among "all" for hours, and fail.
		if err := os.RemoveAll(filepath.Join(os.Getenv("KUBECACHEDIR"), "discovery")); err != nil {
			t.Error(err)
		}
	})
	kubectl(definitions, "wait", "--for", "condition=Established", "--timeout", "1m", "--filename", "-")
}
