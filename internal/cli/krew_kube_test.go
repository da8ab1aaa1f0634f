//go:build system && kube

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/app"
)

// krew takes the manifest and the archive, and kubectl then has headroom as a command of its own, with completion.
func TestKrewInstallsThePlugin(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("no kubectl: run it beside a cluster, scripts/kube-cluster go test -tags 'system kube' ./internal/cli " +
			"-run Krew")
	}
	built := "../../build/krew"
	t.Cleanup(func() { _ = os.RemoveAll(built) })
	pack := exec.Command("../../scripts/krew", "v0.0.1", "https://example.com/headroom/v0.0.1")
	pack.Env = append(os.Environ(), "ARCHITECTURES="+runtime.GOARCH)
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	root := t.TempDir()
	bin := filepath.Join(root, "bin")
	run := func(command ...string) string {
		t.Helper()
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = append(os.Environ(), "KREW_ROOT="+root, "PATH="+bin+":"+os.Getenv("PATH"))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s\n%s", strings.Join(command, " "), err, out, &stderr)
		}
		return string(out)
	}
	krew := filepath.Join(t.TempDir(), "krew")
	run("go", "build", "-C", "../../test/krew", "-o", krew, "tool")
	run(krew, "install", "--manifest="+filepath.Join(built, "headroom.yaml"),
		"--archive="+filepath.Join(built, "headroom-linux-"+runtime.GOARCH+".tar.gz"))
	if help := run("kubectl", "headroom", "run", "--help"); !strings.Contains(help,
		"  kubectl headroom run quick /srv\n") || !strings.Contains(help, "kube:pod?OPTIONS") {
		t.Errorf("its help is\n%s", help)
	}
	if err := os.Symlink(app.PluginFile, filepath.Join(bin, app.CompletionFile)); err != nil {
		t.Fatal(err)
	}
	if printed := run("kubectl", "__complete", "headroom", "run", "qui"); !strings.HasPrefix(printed, "quick\n") {
		t.Errorf("its completion is\n%s", printed)
	}
}
