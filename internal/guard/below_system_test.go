//go:build system

package guard_test

import (
	"os"
	"path/filepath"
)

// threads starts programs with several threads, which open or map the file of the first argument for writing, as the
// second argument specifies. Python's threading module starts the threads; libc does what Python does not offer.
const threads = `
import ctypes, mmap, os, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
path, how = sys.argv[1:]
ready = threading.Event()
def work():
    if how == "own descriptors" and libc.unshare(0x400) != 0: # CLONE_FILES
        sys.exit("unshare failed")
    f = os.open(path, os.O_RDWR)
    if how == "mapping":
        global m
        m = mmap.mmap(f, 65536)
        os.close(f)
    ready.set()
    time.sleep(600)
threading.Thread(target=work).start()
ready.wait()
print("ready", flush=True)
if how == "own descriptors":
    time.sleep(600)
libc.syscall(60, 0) # exit(2) ends this thread alone
`

// byThread lets a thread open a file.
func byThread(file func(d *disk) string, how string) func(d *disk) string {
	return func(d *disk) string {
		d.background("python3", "python3", "-c", threads, file(d), how)
		return ""
	}
}

// below are devices that are used through files or devices below or next to them, where the device itself shows
// nothing.
func below() []layout {
	node, image := func(d *disk) string { return d.node }, func(d *disk) string { return d.image }
	return []layout{
		{name: "blank, open for writing in a thread with descriptors of its own", inUse: true,
			want: "it is open for writing in process ", make: byThread(node, "own descriptors")},
		{name: "blank, open for writing in a program whose first thread has ended", inUse: true,
			want: "it is open for writing in process ", make: byThread(node, "first thread ended")},
		{name: "blank, mapped by a program whose first thread has ended", inUse: true,
			want: "it is open for writing in process ", make: byThread(node, "mapping")},
		{name: "blank, whose file is open for writing", inUse: true, want: "the file under it is open for writing in ",
			make: func(d *disk) string { return opened(d, d.image) }},
		{name: "blank, whose file is mapped", inUse: true, want: "the file under it is open for writing in ",
			make: func(d *disk) string { return mapped(d, d.image) }},
		{name: "blank, whose file is mapped by a program whose first thread has ended", inUse: true,
			want: "the file under it is open for writing in ", make: byThread(image, "mapping")},
		{name: "blank, whose file is open by another name", inUse: true,
			want: "the file under it is open for writing in ", make: func(d *disk) string {
				other := filepath.Join(filepath.Dir(d.image), "other")
				d.run("coreutils", "ln", d.image, other)
				return opened(d, other)
			}},
		{name: "loop device over one whose file is open for writing", inUse: true, want: "the file under loop",
			make: func(d *disk) string {
				upper := d.attach(d.node)
				opened(d, d.image)
				return upper
			}},
		{name: "partition of a loop device whose file is open for writing", inUse: true,
			want: "the file under it is open for writing in ", make: func(d *disk) string {
				p := d.addPartition(1, 1, 16)
				opened(d, d.image)
				return p
			}},
		{name: "loop device over a swap file in use", inUse: true, alive: true,
			want: "the file under it is swap space in use", make: func(d *disk) string {
				d.swapFile(d.image)
				return ""
			}},
		{name: "loop device over a loop device over a swap file in use", inUse: true, alive: true,
			want: "is swap space in use", make: func(d *disk) string {
				d.swapFile(d.image)
				return d.attach(d.node)
			}},
		{name: "loop device over a swap file of an XFS file system", size: 320 * mib, inUse: true, alive: true,
			want: "the file under it is swap space in use", make: func(d *disk) string {
				d.run("xfsprogs", "mkfs.xfs", "-q", d.node)
				return d.swapIn(d.mount(d.node), false)
			}},
		{name: "loop device over a swap file of a btrfs file system", size: 256 * mib, inUse: true, alive: true,
			want: "the file under it is swap space in use", make: func(d *disk) string {
				d.run("btrfs-progs", "mkfs.btrfs", "-q", d.node)
				return d.swapIn(d.mount(d.node), true)
			}},
		{name: "loop device over a file of an overlay's lower layer", inUse: true,
			want: "the file under it lies in a layer of the overlay on ", make: func(d *disk) string {
				o := d.overlay()
				return d.imageIn(filepath.Join(o.lower, "folder", "image"))
			}},
		{name: "loop device over a file of an overlay's upper layer", inUse: true,
			want: "the file under it lies in a layer of the overlay on ", make: func(d *disk) string {
				o := d.overlay()
				return d.imageIn(filepath.Join(o.upper, "image"))
			}},
		{name: "loop device over a file of an overlay whose layer's file is mounted", inUse: true,
			want: "is mounted on ", make: func(d *disk) string {
				o := d.overlay()
				below := d.imageIn(filepath.Join(o.lower, "image"))
				ext4(d, below)
				d.mount(below)
				return d.attach(filepath.Join(o.merged, "image"), "again", "--read-only")
			}},
		{name: "loop device over a file that is open in an overlay", inUse: true, want: "the file under it ",
			make: func(d *disk) string {
				o := d.overlay()
				node := d.imageIn(filepath.Join(o.upper, "image"))
				opened(d, filepath.Join(o.merged, "image"))
				return node
			}},
	}
}

// opened starts a program that opens a file for writing.
func opened(d *disk, file string) string {
	d.background("dash", "sh", "-c", `exec 3<>"$1"; echo ready; exec sleep 600`, "sh", file)
	return ""
}

// swapFile makes a file swap space, and activates it.
func (d *disk) swapFile(file string) {
	d.t.Helper()
	d.run("util-linux", "fallocate", "--length", "64MiB", file)
	if err := os.Chmod(file, 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.run("util-linux", "mkswap", file)
	d.run("mount", "swapon", file)
	d.t.Cleanup(func() { d.run("mount", "swapoff", file) })
}

// swapIn creates a swap file in a folder, and a loop device over it.
func (d *disk) swapIn(folder string, noCopies bool) string {
	d.t.Helper()
	file := filepath.Join(folder, "swap")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		d.t.Fatal(err)
	}
	if noCopies { // btrfs requires it
		d.run("e2fsprogs", "chattr", "+C", file)
	}
	d.swapFile(file)
	return d.attach(file)
}

// imageIn creates an empty file, and a loop device over it.
func (d *disk) imageIn(file string) string {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Truncate(file, 64*mib); err != nil {
		d.t.Fatal(err)
	}
	return d.attach(file)
}

// overlaid is an overlay with its layers.
type overlaid struct{ lower, upper, merged string }

// overlay mounts an overlay.
func (d *disk) overlay() overlaid {
	d.t.Helper()
	root := d.t.TempDir()
	o := overlaid{filepath.Join(root, "lower"), filepath.Join(root, "upper"), filepath.Join(root, "merged")}
	work := filepath.Join(root, "work")
	for _, dir := range []string{o.lower, o.upper, o.merged, work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			d.t.Fatal(err)
		}
	}
	d.run("mount", "mount", "-t", "overlay", "overlay", "-o", "lowerdir="+o.lower+",upperdir="+o.upper+",workdir="+work,
		o.merged)
	d.t.Cleanup(func() { d.run("mount", "umount", o.merged) })
	return o
}
