package qemu

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strings"
)

// Archive is a file system in the "newc" format that the kernel unpacks. Names are paths without a leading slash;
// parent folders are created. Of two files with the same name the first is kept, since several programs need the same
// library. Source: the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.
type Archive struct {
	data bytes.Buffer
	next int
	made map[string]bool
}

// NewArchive returns an empty archive.
func NewArchive() *Archive { return &Archive{made: map[string]bool{}} }

// The kinds of file, as the upper bits of a mode.
const (
	aFolder = 0o040000
	aFile   = 0o100000
	aLink   = 0o120000
)

// Folder adds a folder and its parents.
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

// Copy adds a file of this machine under the same path.
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

// pageSize of the kernels that unpack these archives.
const pageSize = 4096

// Bytes ends the archive and returns it, padded with zeros to a whole page. The kernel treats several concatenated
// archives as one file system, and skips zeros between them. QEMU puts an initrd right below the memory that its
// firmware reserves, but if its last page is not full, the last bytes are in reserved memory, and then the kernel first
// copies the whole initrd to another place. Source: x86_load_linux of QEMU's hw/i386/x86.c; reserve_initrd of the
// kernel's arch/x86/kernel/setup.c.
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

// entry writes the header of a file, thirteen numbers of eight hexadecimal digits after a magic number, then its name
// and contents:
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
