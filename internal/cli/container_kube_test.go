//go:build system && kube

package cli

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/kubetest"
)

// The image needs nothing else: a privileged container of it measures a blank device, and prints one row.
func TestImagePrintsARow(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Start(t)
	device := attachLoopOf(t, 16<<20, "") // loads of 60 s end when they have been through it
	out, printed, code := inContainer(t, cluster, "row", "run", "nvme", device, "--format", "sheet")
	if code != "0" {
		t.Fatalf("exit code %s\n%s\n%s", code, out, printed)
	}
	t.Log(out)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v: not a line of titles and a row:\n%s", err, out)
	}
	if warnings := rows[1][len(rows[1])-1]; !slices.Contains(strings.Fields(warnings), "programs-hidden") ||
		!strings.Contains(printed, "outside of this container") {
		t.Errorf("that other programs can't be seen is not said: %s\n%s", warnings, printed)
	}
	for _, title := range []string{"randwrite_fsync 4k q1 write IOPS", "read 4M q16 bandwidth (MiB/s)"} {
		i := slices.Index(rows[0], title)
		if i < 0 || rows[1][i] == "" || rows[1][i] == "0" {
			t.Errorf("no %s in\n%s", title, out)
		}
	}
}

// What the machine uses is refused from within a container too, although its mounts are not seen there.
func TestImageRefusesWhatTheMachineUses(t *testing.T) {
	cluster := kubetest.Start(t)
	device := attachLoopOf(t, 16<<20, "ext4")
	before := stored(t, device)
	refused := func(name, why string) {
		t.Helper()
		out, printed, code := inContainer(t, cluster, name, "run", "nvme", device, "--format", "sheet")
		if code != "4" || out != "" || !strings.Contains(printed, why) {
			t.Errorf("%s: exit code %s\n%s\n%s", name, code, out, printed)
		}
	}
	refused("holds-data", "ext4")
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-o", "ro", device, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	refused("mounted", "the kernel says it is in use")
	if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if after := stored(t, device); after != before {
		t.Error("the device has changed")
	}
}

// stored is a digest of what a loop device has on its disk. A file system that was mounted only to be read changes its
// journal's first block in memory, and there it stays while anybody on the machine has the device open.
func stored(t *testing.T, device string) string {
	t.Helper()
	if out, err := exec.Command("blockdev", "--flushbufs", device).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	image, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "loop/backing_file"))
	if err != nil {
		t.Fatal(err)
	}
	return contents(t, strings.TrimSpace(string(image)))
}

// inContainer runs the image as "docker run --rm --privileged IMAGE ARGUMENTS" would.
func inContainer(t *testing.T, c *kubetest.Cluster, name string, args ...string) (stdout, stderr, code string) {
	t.Helper()
	c.Kubectl(t, "", append([]string{"run", name, "--image", c.Image, "--image-pull-policy", "Never", "--restart",
		"Never", "--privileged", "--"}, args...)...)
	defer c.Kubectl(t, "", "delete", "pod", name)
	c.Kubectl(t, "", "wait", "pod/"+name, "--for", "jsonpath={.status.containerStatuses[0].state.terminated}",
		"--timeout", "10m")
	code = c.Kubectl(t, "", "get", "pod", name, "--output",
		"jsonpath={.status.containerStatuses[0].state.terminated.exitCode}")
	// kubectl logs does not tell the streams apart; the file on the node does:
	// https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md
	//
	//	2026-11-23T09:39:29.107365114Z stdout F run,label,created,
	logs, err := filepath.Glob(filepath.Join(c.Dir, "log/pods/default_"+name+"_*", name, "0.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("the logs are %v: %v", logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(line, " ", 4)
		if len(fields) != 4 {
			t.Fatalf("not a line of a log: %q", line)
		}
		if fields[2] == "P" { // a part of one, whose end is not its own
			fields[3] = strings.TrimSuffix(fields[3], "\n")
		}
		if fields[1] == "stdout" {
			stdout += fields[3]
		} else {
			stderr += fields[3]
		}
	}
	return stdout, stderr, code
}
