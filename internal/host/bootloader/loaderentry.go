package bootloader

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// loaderEntry is a file of loader/entries, which systemd-boot and the GRUB of the Red Hat family read.
type loaderEntry struct {
	// id is the file's name without boot counters: "0f2e-6.8.5.conf".
	id string
	// lines are keys and values in their order; a key can occur several times.
	lines [][2]string
}

// parseLoaderEntry parses a Boot Loader Specification entry of type 1.
//
//	title      Debian GNU/Linux 12 (bookworm)
//	linux      /1b5c…/6.1.0-50-amd64/linux
//	options    root=UUID=1f2e ro quiet systemd.machine_id=1b5c…
//
// Source: UAPI.1 Boot Loader Specification; "#" begins a comment, and only at the beginning of a line.
func parseLoaderEntry(name, text string) loaderEntry {
	e := loaderEntry{id: entryID(name)}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, value := line, ""
		if i := strings.IndexAny(line, " \t"); i > 0 {
			key, value = line[:i], strings.TrimSpace(line[i:])
		}
		e.lines = append(e.lines, [2]string{key, value})
	}
	return e
}

// entryID removes the boot counters from a file name: debian-6.1+2-1.conf is the entry debian-6.1.conf.
func entryID(name string) string {
	stem, ok := strings.CutSuffix(name, ".conf")
	if !ok {
		return name
	}
	i := strings.LastIndexByte(stem, '+')
	if i < 0 || i == len(stem)-1 || strings.Trim(stem[i+1:], "0123456789-") != "" || stem[i+1] == '-' {
		return name
	}
	return stem[:i] + ".conf"
}

func (e loaderEntry) values(key string) []string {
	var values []string
	for _, l := range e.lines {
		if l[0] == key {
			values = append(values, l[1])
		}
	}
	return values
}

// kernel returns the path of the entry's kernel on its file system; empty if the entry starts something else.
func (e loaderEntry) kernel() string {
	if paths := e.values("linux"); len(paths) > 0 {
		return paths[0]
	}
	return ""
}

// boots reports whether the entry is for this kernel, given by its path there or by its version.
func (e loaderEntry) boots(kernel string) bool {
	return namesKernel(e.kernel(), kernel) || slices.Contains(e.values("version"), kernel)
}

// namesKernel reports whether p is the path of a kernel that is given by a path or an installed version:
// "6.1.0-50-amd64".
func namesKernel(p, kernel string) bool {
	if p == "" || kernel == "" {
		return false
	}
	p = withoutDevice(p)
	dir, base := path.Split(p)
	return p == withoutDevice(kernel) || base == "vmlinuz-"+kernel || base == "vmlinux-"+kernel ||
		base == "Image-"+kernel ||
		base == "linux" && path.Base(dir) == kernel || path.Join("/boot", p) == kernel
}

// versionOf returns the version of a kernel that is given by version or by path; empty if the path does not contain it.
func versionOf(kernel string) string {
	if !strings.Contains(kernel, "/") {
		return kernel
	}
	if version, ok := strings.CutPrefix(path.Base(kernel), "vmlinuz-"); ok {
		return version
	}
	return ""
}

// withoutDevice removes GRUB's device from a path: (hd0,gpt2)/vmlinuz, ($root)/vmlinuz.
func withoutDevice(p string) string {
	if _, rest, ok := strings.Cut(p, ")"); ok && p[0] == '(' {
		return rest
	}
	return p
}

// loaderEntries reads all entries of a folder, in the order of their names.
func loaderEntries(fsys fs.FS, dir string) ([]loaderEntry, error) {
	dir = inside(dir)
	found, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	var entries []loaderEntry
	for _, f := range found {
		if !strings.HasSuffix(f.Name(), ".conf") {
			continue
		}
		text, err := fs.ReadFile(fsys, path.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		entries = append(entries, parseLoaderEntry(f.Name(), string(text)))
	}
	return entries, nil
}

// inside converts an absolute path to a path in an fs.FS.
func inside(p string) string { return strings.TrimPrefix(path.Clean(p), "/") }
