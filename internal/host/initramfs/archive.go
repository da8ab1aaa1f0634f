// Package initramfs makes the file system that a kernel unpacks into memory and starts from: programs of this machine
// with their libraries, modules of the kernel in the order in which they need each other, and whatever files the caller
// adds.
package initramfs

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strings"
)

// Archive is a file system as the kernel unpacks it, in the "newc" format. Names are paths without a slash in front;
// folders above a file are made. The first of two files of one name stays, since several programs need the same
// library. Source: the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.
type Archive struct {
	data bytes.Buffer
	next int
	made map[string]bool
}

// New returns an empty archive.
func New() *Archive { return &Archive{made: map[string]bool{}} }

// The kinds of file, as the upper bits of a mode.
const (
	aFolder = 0o040000
	aFile   = 0o100000
	aLink   = 0o120000
)

// Folder makes a folder and those above it.
func (a *Archive) Folder(name string) {
	if name == "." || a.made[name] {
		return
	}
	a.Folder(path.Dir(name))
	a.made[name] = true
	a.entry(name, aFolder|0o755, nil)
}

// File adds a file with its permissions.
func (a *Archive) File(name string, permissions int, data []byte) {
	a.add(name, aFile|permissions, data)
}

// Link adds a symbolic link.
func (a *Archive) Link(name, leadsTo string) { a.add(name, aLink|0o777, []byte(leadsTo)) }

// Copy adds a file of this machine under the path that it has here.
func (a *Archive) Copy(file string) error {
	name := strings.TrimPrefix(file, "/")
	if a.made[name] {
		return nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	a.File(name, int(info.Mode().Perm()), data)
	return nil
}

// pageSize is that of the kernels that unpack archives here.
const pageSize = 4096

// Bytes ends the archive and returns it, with zeros up to a whole page. Several archives one after the other are one
// file system to the kernel, which skips zeros between them. QEMU puts an initrd right below what its firmware
// reserves, but for the last bytes of a page that is not full: a kernel that finds these in reserved memory copies the
// whole initrd to another place first. Source: x86_load_linux of QEMU's hw/i386/x86.c; reserve_initrd of the kernel's
// arch/x86/kernel/setup.c.
func (a *Archive) Bytes() []byte {
	a.entry("TRAILER!!!", 0, nil)
	a.data.Write(make([]byte, -a.data.Len()&(pageSize-1)))
	return a.data.Bytes()
}

func (a *Archive) add(name string, mode int, data []byte) {
	if a.made[name] {
		return
	}
	a.Folder(path.Dir(name))
	a.made[name] = true
	a.entry(name, mode, data)
}

// entry writes the head of a file, thirteen numbers of eight hexadecimal digits behind a mark, then its name and
// contents:
//
//	070701 inode mode uid gid links mtime size major minor rmajor rminor namesize check
func (a *Archive) entry(name string, mode int, data []byte) {
	a.next++
	fmt.Fprintf(&a.data, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", a.next, mode, 0, 0, 1, 0,
		len(data), 0, 0, 0, 0,
		len(name)+1, 0)
	a.data.WriteString(name + "\x00")
	a.pad()
	a.data.Write(data)
	a.pad()
}

func (a *Archive) pad() { a.data.Write(make([]byte, -a.data.Len()&3)) }
