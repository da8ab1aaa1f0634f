//go:build system && guests

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/sweep"
)

// iothreadsGuest describes a guest under a QEMU that maps queues to IOThreads, with a disk on this machine's own and
// one of nothing at all.
func iothreadsGuest(t *testing.T) string {
	t.Helper()
	file := guestFile(t)
	out, err := exec.Command("../../scripts/guest-qemu").Output()
	if err != nil {
		t.Skip("no QEMU that maps queues to IOThreads is to be had here: scripts/guest-qemu")
	}
	root := strings.TrimSpace(string(out))
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(before), "disks:")
	text := head + fmt.Sprintf("cpus: 2\nqemu: %s/usr/bin/qemu-system-x86_64\nfirmware: [%s/usr/share/qemu, "+
		"%s/usr/share/seabios]\n", root, root, root) +
		"disks:\n  - {name: real, kind: virtio-blk, size: 64m, queues: 4}\n  - {name: nothing, kind: virtio-blk, " +
		"size: 64m, queues: 4, backing: 'null'}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// The IOThreads report from end to end, with its ends only: a guest's disk without a thread and with four, against the
// disk of this machine that it is kept on.
func TestIOThreadsAgainstTheHost(t *testing.T) {
	t.Parallel()
	iothreadsAgainstTheHost(t, map[string]string{"real": "0,4"})
}

// iothreadsAgainstTheHost are the loads by disk, each measured at some levels in two blocks: on one that this machine
// keeps, or on nothing, where what is left is virtio itself.
func iothreadsAgainstTheHost(t *testing.T, levelsOf map[string]string) map[string]sweep.Cell {
	t.Helper()
	file := iothreadsGuest(t)
	images := t.TempDir()
	v := newFixture(t)
	v.suite = filepath.Join(filepath.Dir(v.suite), "reads.yaml")
	text := "version: 1\njobs:\n  - {name: randread, fio: {rw: randread, bs: 4k, iodepth: 16, numjobs: 4, ioengine: " +
		"libaio, direct: 1, size: 100%, runtime: 3s, time_based: 1, group_reporting: 1}}\n"
	if err := os.WriteFile(v.suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cells := map[string]sweep.Cell{}
	for disk, list := range levelsOf {
		reference, levels := map[string]string{"real": images}[disk], strings.Split(list, ",")
		args := []string{"sweep", v.suite, "/dev/disk/by-id/" + disk, "--on", "qemu:" + file, "--factor",
			"guest:iothreads=" + list, "--blocks", "2", "--size", "64m", "--json"}
		if reference != "" {
			args = append(args, "--reference", reference)
		}
		cmd := with(v.command(args...), "TMPDIR="+images)
		var printed strings.Builder
		cmd.Stderr = &printed
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, printed.String())
		}
		var d sweep.Document
		if err := json.Unmarshal(out, &d); err != nil {
			t.Fatal(err)
		}
		if len(d.Cells) != 1 || len(d.Cells[0].Levels) != len(levels) || d.Blocks != 2 {
			t.Fatalf("%d cells in %d blocks: %s", len(d.Cells), d.Blocks, out)
		}
		c := d.Cells[0]
		for _, p := range c.Levels {
			if p.N != 2 || p.Value == nil || *p.Value <= 0 {
				t.Errorf("%s, %s threads: %+v", disk, p.Level, p)
			}
		}
		if !slices.ContainsFunc(d.Warnings, func(w sweep.LevelWarning) bool { return w.Code == "emulated-guest" }) {
			t.Errorf("%s: nobody is told that the guest is emulated: %v", disk, d.Warnings)
		}
		if (reference != "") != (c.Reference != nil && c.ToReference != nil) {
			t.Errorf("%s: the reference is %+v, the ratio to it %+v", disk, c.Reference, c.ToReference)
		}
		if reference != "" && c.Reference != nil && c.Reference.N != 2 {
			t.Errorf("%s: the reference is %+v", disk, c.Reference)
		}
		cells[disk] = c
		v.checkNothingLeft(disk)
	}
	if left, err := os.ReadDir(images); err != nil || len(left) != 0 {
		t.Errorf("left on the reference: %v, %v", left, err)
	}
	return cells
}
