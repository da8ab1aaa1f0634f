//go:build system

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// throttled is a control group: the kernel limits what its processes read from a device. What a busy machine has left
// over does not matter then.
type throttled struct {
	t      *testing.T
	folder string
	// second says that it is one of the second version of control groups, with io.max; the first has blkio.
	second bool
}

// newThrottled makes one, of whichever version has the machine's controller of block devices.
func newThrottled(t *testing.T) throttled {
	t.Helper()
	g := throttled{t: t}
	parent := g.parent()
	var err error
	if g.folder, err = os.MkdirTemp(parent, "headroom-test-"); err != nil {
		t.Skip("no control group can be made that limits reads: " + err.Error())
	}
	t.Cleanup(func() { _ = os.Remove(g.folder) })
	return g
}

// parent is the folder of the controller, whose groups may limit reads.
func (g *throttled) parent() string {
	g.t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		g.t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		at, kind := strings.Fields(before), strings.Fields(after)
		if len(at) < 5 || len(kind) < 3 {
			continue
		}
		switch kind[0] {
		case "cgroup":
			if slices.Contains(strings.Split(kind[2], ","), "blkio") {
				return at[4]
			}
		case "cgroup2":
			if g.second = allowIO(at[4]); g.second {
				return at[4]
			}
		}
	}
	g.t.Skip("neither version of control groups has a controller of block devices here")
	return ""
}

// allowIO lets the groups below a folder of the second version limit block devices, where it can.
func allowIO(folder string) bool {
	const controllers = "cgroup.subtree_control"
	has := func(name string) bool {
		text, err := os.ReadFile(filepath.Join(folder, name))
		return err == nil && slices.Contains(strings.Fields(string(text)), "io")
	}
	if has(controllers) {
		return true
	}
	return has("cgroup.controllers") && os.WriteFile(filepath.Join(folder, controllers), []byte("+io"), 0o644) == nil
}

// bytes lets the processes of the group read no more than so many bytes a second from a device.
func (g throttled) bytes(device string, most int) {
	g.limit(device, "rbps", "blkio.throttle.read_bps_device", most)
}

// reads lets them have no more than so many reads a second.
func (g throttled) reads(device string, most int) {
	g.limit(device, "riops", "blkio.throttle.read_iops_device", most)
}

// limit writes a limit as each version has it: "7:1 rbps=33554432" or "7:1 33554432". Source:
// Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/blkio-controller.rst.
func (g throttled) limit(device, key, file string, most int) {
	g.t.Helper()
	number, err := os.ReadFile(filepath.Join("/sys/class/block", filepath.Base(device), "dev"))
	if err != nil {
		g.t.Fatal(err)
	}
	text := fmt.Sprintf("%s %d", strings.TrimSpace(string(number)), most)
	if g.second {
		file, text = "io.max", fmt.Sprintf("%s %s=%d", strings.TrimSpace(string(number)), key, most)
	}
	if err := os.WriteFile(filepath.Join(g.folder, file), []byte(text), 0o644); err != nil {
		g.t.Skip("this kernel can't limit reads of a control group: " + err.Error())
	}
}

// command is one that runs in the group.
func (g throttled) command(argv ...string) *exec.Cmd {
	return exec.Command("sh", append([]string{"-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, g.folder}, argv...)...)
}
