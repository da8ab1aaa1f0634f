package guard

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// object is a device or a file.
type object struct {
	// number of a block device.
	isDevice bool
	number   Number
	// file of anything else.
	file fileID
}

// fileID identifies a file, whatever its path.
type fileID struct {
	// device is the number of its file system as stat(2) encodes it.
	device, inode uint64
	size          int64
}

// objectOf returns the device or file that stat(2) describes.
func objectOf(info fs.FileInfo) (object, bool) {
	if n, ok := numberOf(info); ok {
		return object{isDevice: true, number: n}, true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return object{}, false
	}
	return object{file: fileID{device: uint64(st.Dev), inode: st.Ino, size: st.Size}}, true
}

// number returns the number of the block device that a path leads to.
func (s environment) number(name string) (Number, bool) {
	o, ok := s.stat(name)
	return o.number, ok && o.isDevice
}

// fileBelow is a file that stores the data of a member: writes to the member change the file.
type fileBelow struct {
	words string // "the file under it", "the file under loop3 (loop device over /images/a)"
	path  string
	id    fileID
}

// filesBelow returns the files under the device, under the devices that it is built on, and under the disk that it is a
// partition of.
func (f *family) filesBelow() []fileBelow {
	var files []fileBelow
	for _, m := range f.members {
		b := f.loops[m.name]
		if !b.isFile || m.relation == holder {
			continue
		}
		words := "the file under it"
		if m.relation == underneath {
			words = "the file under " + m.words
		}
		files = append(files, fileBelow{words, b.path, b.file})
	}
	return files
}

// sizeOf returns the size of the file under a loop device, which can be larger than the device; 0 if its path leads to
// another file, as in another mount namespace, or after it was deleted or replaced.
func (f *family) sizeOf(b backing) int64 {
	o, ok := f.statWithin(b.path)
	if !ok || o.file.device != b.file.device || o.file.inode != b.file.inode {
		return 0
	}
	return o.file.size
}

// below returns the files below the family that are the same as an object.
func (f *family) below(o object) (who []string) {
	if o.isDevice {
		return nil
	}
	for _, b := range f.filesBelow() {
		if f.sameFile(b.id, o.file) && !slices.Contains(who, b.words) {
			who = append(who, b.words)
		}
	}
	return who
}

// usesOfFile returns the files below the family that a path leads to.
func (f *family) usesOfFile(name string) []string {
	if len(f.filesBelow()) == 0 {
		return nil
	}
	o, ok := f.statWithin(name)
	if !ok {
		return nil
	}
	return f.below(o)
}

// statWithin is stat with a time limit, for paths that may lead to a server that does not answer.
func (f *family) statWithin(name string) (object, bool) {
	type answer struct {
		o  object
		ok bool
	}
	answers := make(chan answer, 1)
	go func() {
		o, ok := f.stat(name)
		answers <- answer{o, ok}
	}()
	select {
	case a := <-answers:
		return a.o, a.ok
	case <-time.After(answerWithin):
		return object{}, false
	}
}

// sameFile reports whether two files are the same. An overlay shows files of its layers as its own: with another number
// of the file system, and mostly with the inode that they have in their layer.
func (f *family) sameFile(a, b fileID) bool {
	if a.device == b.device && a.inode == b.inode {
		return true
	}
	return a.inode == b.inode && a.size == b.size && a.size > 0 && (f.overlaid(a.device) || f.overlaid(b.device))
}

// overlaid reports whether a file system may be an overlay: either it is mounted as one, or its number belongs to no
// mount, like the numbers that an overlay makes up for its layers.
func (f *family) overlaid(device uint64) bool {
	number := Number{unix.Major(device), unix.Minor(device)}
	known := false
	for _, v := range f.views {
		for _, m := range v.mounts {
			if m.number == number {
				if m.fstype == "overlay" {
					return true
				}
				known = true
			}
		}
	}
	return !known && number.Major == 0
}

// layered finds overlays that have a file below the family in one of their layers. The file's content is also that of a
// file of the overlay, which may be open there under another number, and the effect of changing a layer is undefined.
// Source: Documentation/filesystems/overlayfs.rst.
func (f *family) layered() []Use {
	files := f.filesBelow()
	if len(files) == 0 {
		return nil
	}
	points := map[fileID]string{}
	for _, v := range f.views {
		for _, m := range v.mounts {
			if m.fstype != "overlay" {
				continue
			}
			for _, layer := range overlayLayers(m.options) {
				for _, name := range []string{layer, path.Join("/proc", v.pid, "root", layer)} {
					o, ok := f.statWithin(name)
					id := fileID{device: o.file.device, inode: o.file.inode}
					if _, known := points[id]; ok && !known {
						points[id] = m.point + v.where
					}
				}
			}
		}
	}
	var uses []Use
	for _, b := range files {
		for dir := path.Dir(b.path); len(points) > 0 && path.IsAbs(dir); dir = path.Dir(dir) {
			if o, ok := f.statWithin(dir); ok {
				if point := points[fileID{device: o.file.device, inode: o.file.inode}]; point != "" {
					uses = append(uses, Use{b.words, "lies in a layer of the overlay on " + point})
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return uses
}

// overlayLayers returns the folders that an overlay consists of, from its mount options. A colon in a path is preceded
// by a backslash, which mountinfo shows as "\134". Source: the kernel's fs/overlayfs/params.c.
//
//	rw,lowerdir=/l/A:/l/B,upperdir=/u,workdir=/w,uuid=on
//	ro,lowerdir+=/l/A,lowerdir+=/l/B,datadir+=/d
//	rw,lowerdir=/l/with\134:colon::/data,upperdir=/u,workdir=/w
func overlayLayers(options string) []string {
	var layers []string
	for option := range strings.SplitSeq(options, ",") {
		key, value, _ := strings.Cut(option, "=")
		value = unescape(value)
		switch key {
		case "upperdir", "workdir", "lowerdir+", "datadir+":
			layers = append(layers, value)
		case "lowerdir":
			value = strings.ReplaceAll(value, `\:`, "\x00")
			for part := range strings.SplitSeq(value, ":") {
				if part != "" {
					layers = append(layers, strings.ReplaceAll(part, "\x00", ":"))
				}
			}
		}
	}
	return layers
}
