//go:build system

package guard_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// disk is a loop device over a sparse file.
type disk struct {
	t     *testing.T
	image string
	node  string
}

// newDisk creates a blank disk. Its resources are released when the test ends.
func newDisk(t *testing.T, size int64, options ...string) *disk {
	t.Helper()
	d := &disk{t: t, image: filepath.Join(t.TempDir(), "image")}
	f, err := os.Create(d.image)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	d.node = d.attach(d.image, options...)
	return d
}

// attach creates a loop device over a file or device.
func (d *disk) attach(file string, options ...string) string {
	d.t.Helper()
	argv := append([]string{"losetup", "--find", "--show", "--nooverlap"}, options...)
	if len(options) > 0 && options[0] == "again" { // the second device over one file
		argv = append([]string{"losetup", "--find", "--show"}, options[1:]...)
	}
	node := strings.TrimSpace(d.run("mount", append(argv, file)...))
	d.t.Cleanup(func() { d.run("mount", "losetup", "--detach", node) })
	return node
}

// run runs a command of a Debian package, which is named if the command is missing.
func (d *disk) run(pkg string, argv ...string) string {
	d.t.Helper()
	if _, err := exec.LookPath(argv[0]); err != nil {
		d.t.Fatalf("%s is missing: apt install %s", argv[0], pkg)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "LVM_SUPPRESS_FD_WARNINGS=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("%q: %v\n%s%s", argv, err, out, stderr.Bytes())
	}
	return string(out)
}

// background starts a command and waits until it has printed a line. The command is ended with the test, before the
// disk.
func (d *disk) background(pkg string, argv ...string) {
	d.t.Helper()
	if _, err := exec.LookPath(argv[0]); err != nil {
		d.t.Fatalf("%s is missing: apt install %s", argv[0], pkg)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		d.t.Fatalf("%q did not start: %v\n%s", argv, err, stderr.Bytes())
	}
}

// write writes bytes at an offset of the device.
func (d *disk) write(at int64, data []byte) {
	d.t.Helper()
	f, err := os.OpenFile(d.node, os.O_WRONLY, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(data, at); err != nil {
		d.t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		d.t.Fatal(err)
	}
}

// removeImage removes the name by which the kernel knows the file under the device.
func (d *disk) removeImage() {
	d.t.Helper()
	known := d.image
	d.image = filepath.Join(d.t.TempDir(), "kept")
	d.run("coreutils", "ln", known, d.image)
	if err := os.Remove(known); err != nil {
		d.t.Fatal(err)
	}
}

// writeUnflushed writes bytes at an offset of the device, and leaves them in memory.
func (d *disk) writeUnflushed(at int64, data []byte) {
	d.t.Helper()
	f, err := os.OpenFile(d.node, os.O_WRONLY, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(data, at); err != nil {
		d.t.Fatal(err)
	}
}

// copyIn writes a file to the start of the device.
func (d *disk) copyIn(file string) {
	d.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatal(err)
	}
	d.write(0, data)
}

func (d *disk) size() int64 {
	d.t.Helper()
	f, err := os.Open(d.node)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		d.t.Fatal(err)
	}
	return size
}

// newDiskWithout creates a disk without discards, rotating or not. Its loop device is created for it alone and removed
// again: the kernel (6.18) restores the discards of a loop device in no other way.
func newDiskWithout(t *testing.T, size int64, rotational bool) *disk {
	t.Helper()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	number := 4000 + rand.IntN(100000) // far from those that losetup --find uses
	err = unix.EEXIST
	for ; errors.Is(err, unix.EEXIST); number++ {
		err = unix.IoctlSetInt(int(control.Fd()), unix.LOOP_CTL_ADD, number+1)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer control.Close()
		for end := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
			err := unix.IoctlSetInt(int(control.Fd()), unix.LOOP_CTL_REMOVE, number)
			if err == nil {
				return
			}
			if !errors.Is(err, unix.EBUSY) || time.Now().After(end) { // another program may have it open
				t.Errorf("loop device %d: %v", number, err)
				return
			}
		}
	})
	d := &disk{t: t, image: filepath.Join(t.TempDir(), "image"), node: fmt.Sprint("/dev/loop", number)}
	d.run("coreutils", "truncate", "--size", fmt.Sprint(size), d.image)
	d.run("mount", "losetup", d.node, d.image)
	t.Cleanup(func() { d.run("mount", "losetup", "--detach", d.node) })
	platters := "0"
	if rotational {
		platters = "1"
	}
	for attribute, value := range map[string]string{"discard_max_bytes": "0", "rotational": platters} {
		file := filepath.Join("/sys/class/block", filepath.Base(d.node), "queue", attribute)
		if err := os.WriteFile(file, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// mount mounts a file system somewhere in the test's folder.
func (d *disk) mount(node string, options ...string) string {
	d.t.Helper()
	point := d.t.TempDir()
	d.run("mount", append(append([]string{"mount"}, options...), node, point)...)
	d.t.Cleanup(func() { d.run("mount", "umount", point) })
	return point
}

// addPartition adds a partition, in MiB, to the kernel; the kernel of a small virtual machine may not parse tables.
func (d *disk) addPartition(number, start, length int64) string {
	d.t.Helper()
	d.run("util-linux", "addpart", d.node, fmt.Sprint(number), fmt.Sprint(start*2048), fmt.Sprint(length*2048))
	d.t.Cleanup(func() { d.deletePartition(number) })
	return fmt.Sprintf("%sp%d", d.node, number)
}

// deletePartition waits as long as the partition is in use: a process that creates a mount namespace meanwhile has a
// copy of each mount, and one that was unmounted here persists there until its last process has ended
// (mount_namespaces(7)). A partition that is left would belong to the next file that the loop device is attached to.
func (d *disk) deletePartition(number int64) {
	d.t.Helper()
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		out, err := exec.Command("delpart", d.node, fmt.Sprint(number)).CombinedOutput()
		if err == nil {
			return
		}
		if !strings.Contains(string(out), "busy") || time.Since(begun) > 10*time.Minute {
			d.t.Errorf("delpart %s %d: %v\n%s", d.node, number, err, out)
			return
		}
	}
}

// fingerprint of the image: its data and their offsets, when it was written, how much of it is allocated. Holes are
// skipped, so that a device of terabytes costs no more than the data written to it; zeros are skipped too, because a
// file system reports reserved blocks as data once they have been read.
func (d *disk) fingerprint() string {
	d.t.Helper()
	syscall.Sync()
	f, err := os.Open(d.image)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	const piece = 1 << 16
	h, p, zeros := sha256.New(), make([]byte, piece), make([]byte, piece)
	for at := int64(0); ; at += piece {
		start, err := f.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // nothing but a hole up to the end
		}
		if err != nil {
			d.t.Fatal(err)
		}
		at = start / piece * piece
		n, err := f.ReadAt(p, at)
		if err != nil && !errors.Is(err, io.EOF) {
			d.t.Fatal(err)
		}
		if !bytes.Equal(p[:n], zeros[:n]) {
			fmt.Fprintf(h, "%d %d\n%s", at, n, p[:n])
		}
	}
	info, err := f.Stat()
	if err != nil {
		d.t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%x, written %s, %d blocks", h.Sum(nil), info.ModTime(), st.Blocks)
}

// header is the first 4 KiB.
func (d *disk) header() string {
	d.t.Helper()
	p := make([]byte, 4096)
	f, err := os.Open(d.image)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.ReadFull(f, p); err != nil {
		d.t.Fatal(err)
	}
	return string(p)
}
