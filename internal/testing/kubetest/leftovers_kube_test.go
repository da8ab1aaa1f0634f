//go:build system && kube

package kubetest_test

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A cluster whose script is killed ends nevertheless, and the next one in its place removes the remaining files and
// cgroups.
func TestKilledClusterIsRemoved(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a cluster needs root")
	}
	script := "../../../scripts/kube-cluster"
	killed := exec.Command(script, "sh", "-c", `echo "$HEADROOM_KUBE_DIR"; exec sleep infinity`)
	killed.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := killed.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatal("the cluster did not start")
	}
	dir := lines.Text()
	_, number, _ := strings.Cut(filepath.Base(dir), "-")
	left := func() (what []string) {
		if _, err := os.Stat("/sys/class/net/headroom-kube" + number); err == nil {
			what = append(what, "its network interface")
		}
		for _, disk := range []string{"fast-1", "slow-1.slow/nbd"} {
			if out, err := exec.Command("losetup", "--associated", filepath.Join(dir, "disks", disk)).Output(); err !=
				nil || len(out) > 0 {
				what = append(what, "the loop device of "+disk)
			}
		}
		return what
	}
	if n := len(left()); n < 2 { // files shown by FUSE are in the cluster's own mount namespace
		t.Errorf("while it runs, there is nothing but %v", left())
	}
	groups, err := filepath.Glob("/sys/fs/cgroup/*/headroom-kube-" + number)
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) == 0 {
		groups = []string{"/sys/fs/cgroup/headroom-kube-" + number} // version 2
	}
	if _, err := os.Stat(groups[0]); err != nil {
		t.Error(err)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	_ = syscall.Kill(-killed.Process.Pid, syscall.SIGKILL) // the command, which is nobody's child now
	for end := time.Now().Add(time.Minute); len(left()) > 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there is still %v", left())
		}
	}

	if out, err := exec.Command(script, "true").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, path := range append(groups, dir) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
