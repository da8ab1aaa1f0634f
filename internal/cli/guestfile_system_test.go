//go:build system

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// guestFile describes a guest with a Debian kernel and one small disk.
func guestFile(t *testing.T) string {
	t.Helper()
	kernel := kernelOfGuests(t)
	file := filepath.Join(t.TempDir(), "guest.yaml")
	text := fmt.Sprintf("version: 1\nkernel: %s\nmemory: 512m\naccelerator: emulation\ndisks:\n  - {name: fast, "+
		"kind: nvme, size: 32m, backing: memory}\n", kernel)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// kernelOfGuests is Debian's own, where there is all that guests are made of.
func kernelOfGuests(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"qemu-system-x86_64", "busybox", "apt-get", "/usr/sbin/sshd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	kernel, err := exec.Command("../../scripts/guest-kernel", "linux-image-amd64").Output()
	if err != nil {
		t.Fatalf("no kernel for the guest: %v", err)
	}
	return strings.TrimSpace(string(kernel))
}

// readSuite is a suite with one short load, which ends by how much it has read: what a guest does within a time is up
// to the machine below it.
func readSuite(t *testing.T, v fixture) string {
	t.Helper()
	suite := filepath.Join(filepath.Dir(v.suite), "read.yaml")
	text := "version: 1\njobs:\n  - {name: read, fio: {rw: randread, bs: 4k, iodepth: 8, ioengine: libaio, direct: " +
		"1, io_size: 2m}}\n"
	if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return suite
}

// guestsOf are the command lines of QEMUs that name a folder, or work in one that is named.
func guestsOf(t *testing.T, folder string) (running []string) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(processes) == 0 {
		t.Fatal("no process is to be seen", err)
	}
	for _, p := range processes {
		if command, err := os.ReadFile(p); err == nil && strings.Contains(string(command), "qemu-system") &&
			strings.Contains(string(command), folder) {
			running = append(running, string(command))
		}
	}
	return running
}
