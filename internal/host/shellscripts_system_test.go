//go:build system

package host

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A job that was started in another mount namespace can have another path for its folder. It is still found and ended.
func TestAJobOfAnotherMountNamespaceIsEnded(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounts need root")
	}
	dir, elsewhere := t.TempDir(), t.TempDir()
	job := exec.Command("unshare", "--mount", "sh", "-c",
		`mount --bind "$1" "$2" && cd "$2" && echo ready && exec sleep 600`, "sh", dir, elsewhere)
	job.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	printed, err := job.StdoutPipe()
	if err == nil {
		err = job.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	defer func() { _ = job.Process.Kill() }()
	if line, err := bufio.NewReader(printed).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	go func() { ended <- job.Wait() }()
	pid := strconv.Itoa(job.Process.Pid)
	if out, err := exec.Command("sh", "-c", foundScript, "sh", dir).Output(); strings.TrimSpace(string(out)) != pid {
		t.Errorf("found %q instead of %s, %v", out, pid, err)
	}
	out, err := exec.Command("sh", "-c", killScript, "sh", dir, pid, "1").CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v, %s is left", err, out)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the job is still running")
	}
}
