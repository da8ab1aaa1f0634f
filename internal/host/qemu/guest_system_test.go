//go:build system

package qemu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/targettest"
)

// describe writes the description of a guest with Debian's kernel, which is downloaded once.
func describe(t *testing.T, more string) string {
	t.Helper()
	for _, tool := range []string{"qemu-system-x86_64", "apt-get", "busybox", "fio", "ssh", "ssh-keygen", "xz"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	if !exists("/usr/sbin/sshd") {
		t.Skip("openssh-server is not installed")
	}
	out, err := exec.Command("../../../scripts/guest-kernel", "linux-image-amd64").Output()
	if err != nil {
		t.Fatalf("no kernel for the guest: %v", err)
	}
	file := filepath.Join(t.TempDir(), "guest.yaml")
	text := "version: 1\nkernel: " + strings.TrimSpace(string(out)) + "\n" + more
	if !strings.Contains(more, "limit:") {
		text += "limit: 20m\n" // not a measure of speed
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// guests returns a folder in memory for the folders of guests.
func guests(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "headroom-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(host.KillBelow(dir), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// open starts the guest of a description and closes it after the test.
func open(t *testing.T, file string) *Guest {
	t.Helper()
	began := time.Now()
	g, err := Open(t.Context(), "qemu:"+file, file, Host{Folder: guests(t), Images: t.TempDir()})
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(details(err), "\n"))
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil || exists(g.dir) || qemus(t, filepath.Dir(g.dir)) != 0 {
			t.Errorf("closed: %v; the folder is there: %v", err, exists(g.dir))
		}
	})
	t.Logf("a guest under %s is there %.1f s after it was asked for", g.Accelerator(), time.Since(began).Seconds())
	return g
}

func details(err error) []string {
	if e, ok := errors.AsType[*lab.Error](err); ok {
		return e.Details()
	}
	return nil
}

// said returns the output of a command in the guest.
func said(t *testing.T, g *Guest, argv ...string) string {
	t.Helper()
	out, err := g.Run(t.Context(), argv...)
	if err != nil || out.ExitCode != 0 {
		t.Fatalf("%q: %d, %s, %v", argv, out.ExitCode, out.Stderr, err)
	}
	return strings.TrimSpace(string(out.Stdout))
}

func TestGuestPassesTheSuite(t *testing.T) {
	t.Parallel()
	g := open(t, describe(t, ""))
	targettest.Run(t, func(*testing.T) host.Target { return g })
	// The date of the guest's BusyBox has only seconds; its stat has fractions of a second, which ClockOffset uses.
	date, now := said(t, g, "date", "+%s.%N"), said(t, g, "stat", "-L", "-c", "%y", "/proc/self")
	if regexp.MustCompile(`\.\d`).MatchString(date) || !regexp.MustCompile(`\.\d{9} `).MatchString(now) {
		t.Errorf("its date is %s, and its stat says %s", date, now)
	}
}

// qemus counts the processes that work in a folder.
func qemus(t *testing.T, dir string) int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil || len(links) == 0 {
		t.Fatalf("processes: %v", err)
	}
	n := 0
	for _, l := range links {
		if cwd, err := os.Readlink(l); err == nil && strings.HasPrefix(cwd, dir) {
			n++
		}
	}
	return n
}

// opened is set in a process of this test that opens a guest and waits to be killed.
const opened = "HEADROOM_TEST_OPENS"

// A signal that kills headroom also ends QEMU, and the next guest removes the files left in memory.
func TestKilledHeadroomLeavesNothing(t *testing.T) {
	t.Parallel()
	if arguments := os.Getenv(opened); arguments != "" {
		file, folder, _ := strings.Cut(arguments, "|")
		g, err := Open(context.Background(), "qemu:guest", file, Host{Folder: folder, Images: folder})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("opened " + g.dir)
		time.Sleep(time.Hour)
	}
	file, folder := describe(t, ""), guests(t)
	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), opened+"="+file+"|"+folder)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	for lines := bufio.NewScanner(out); dir == "" && lines.Scan(); {
		dir, _ = strings.CutPrefix(lines.Text(), "opened ")
		if dir == lines.Text() {
			t.Log(dir)
			dir = ""
		}
	}
	if dir == "" || qemus(t, dir) != 1 {
		t.Fatalf("folder %q: %d processes", dir, qemus(t, dir))
	}
	if err := child.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	for end := time.Now().Add(10 * time.Minute); qemus(t, dir) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("QEMU outlives headroom by ten minutes")
		}
	}
	if !exists(dir) {
		t.Fatal("the folder of the killed guest is not there, so nothing is proved")
	}
	next, lock, err := newFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if exists(dir) {
		t.Error("the next guest left the folder of the killed one")
	}
	if err := os.RemoveAll(next); err != nil {
		t.Error(err)
	}
}

// The version of QEMU is checked before anything is started.
func TestIOThreadsOfAnOldQEMU(t *testing.T) {
	t.Parallel()
	file := describe(t, "disks:\n  - {name: d, kind: virtio-blk, size: 64m, iothreads: 4}\n")
	v, err := readVersion(t.Context(), "qemu-system-x86_64")
	if err != nil {
		t.Fatal(err)
	}
	if v.major >= mapsQueues {
		t.Skip("QEMU " + v.String() + " maps queues to IOThreads")
	}
	folder := guests(t)
	_, err = Open(t.Context(), "qemu:"+file, file, Host{Folder: folder, Images: folder})
	if err == nil || !strings.Contains(err.Error(), "disk d: 4 IOThreads need a mapping of queues to threads "+
		"(iothread-vq-mapping), which virtio-blk has from QEMU 9 on, and this is "+v.String()) {
		t.Errorf("four IOThreads under QEMU %s: %v", v, err)
	}
	if left, err := os.ReadDir(folder); len(left) != 0 || err != nil {
		t.Errorf("something was made: %v, %v", left, err)
	}
}

// A guest that hangs under KVM is emulated. Here another program pretends to be a QEMU under which guests hang.
func TestProbeNoticesAHang(t *testing.T) {
	t.Parallel()
	kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		t.Skip("/dev/kvm can't be used: ", err)
	}
	kvm.Close()
	standIn := filepath.Join(t.TempDir(), "qemu-stand-in")
	if err := os.WriteFile(standIn,
		[]byte("#!/bin/sh\n[ \"$1\" = --version ] && echo 'QEMU emulator version 7.2.22' && exit\nexec sleep 1000\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	file := describe(t, "qemu: "+standIn+"\n")
	g, err := prepare(t.Context(), "qemu:"+file, file, Host{Folder: guests(t), Images: os.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if g.Accelerator() != Emulation || qemus(t, g.dir) != 0 {
		t.Errorf("a guest that hangs is run by %s, and %d processes are left", g.Accelerator(), qemus(t, g.dir))
	}
	if !slices.ContainsFunc(g.Caveats(t.Context()), func(s string) bool { return strings.Contains(s, "emulated") }) {
		t.Error("nobody is told that the guest is emulated")
	}
}
