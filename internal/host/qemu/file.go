package qemu

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/yamlfile"
)

// formatVersion is the version of the file's format.
const formatVersion = 1

// The defaults are the smallest machine that runs a load generator without limiting it.
const (
	defaultCPUs   = 2
	defaultMemory = 1 << 30
	minMemory     = 384 << 20 // the temporary file system unpacks to 100 MiB, and its archive is in memory meanwhile
	defaultLimit  = 3 * time.Minute
	maxCPUs       = 255 // of one q35 machine
	maxQueues     = 255
	maxIOThreads  = 64
)

// File describes a guest, like its YAML file. Relative paths in the YAML file start at its folder; here all paths are
// absolute.
type File struct {
	// Kernel is a path to a bzImage, to a Debian package file, to an unpacked package or to the tree that a kernel was
	// built in, or an installed version; empty if the image boots its own kernel.
	Kernel string
	// Initrd is used instead of the one made by headroom; only with an image.
	Initrd string
	// Arguments of the kernel, in addition to those that headroom needs.
	Arguments []string
	// Machine has the settings that a boot can change.
	Machine Machine
	// Type of QEMU's machine: q35, pc.
	Type  string
	Disks []Disk
	// Modules are kernel modules to load, in addition to the modules of the network card and the disks.
	Modules []string
	// Programs of this machine to copy into the guest, in addition to fio, sshd and busybox.
	Programs []string
	// Files of this machine to copy into the guest under the same path.
	Files []string
	// Networks lead to other guests.
	Networks []Network
	// Beside are the descriptions of other guests that are started before this one, and end after it.
	Beside []string
	// Setup are shell commands that the guest runs at each boot, before it accepts commands.
	Setup string
	// Image is a disk image that the guest boots; empty for a temporary file system in memory. It is never written to.
	Image string
	// User and Key for the SSH login; only with an image.
	User, Key string
	// QEMU is the program, and Firmware the folders of its firmware; empty for QEMU's defaults.
	QEMU     string
	Firmware []string
	// Accelerator is kvm, emulation, or empty for the better one that works.
	Accelerator string
	// Limit is how long a boot can take.
	Limit time.Duration
}

// Machine has the settings of the virtual machine that can change from boot to boot.
type Machine struct {
	CPUs   int
	Memory int64
	// IOMMU is none or intel.
	IOMMU string
}

// Decode parses the description of a guest; path is the path of the file. The error holds yamlfile.Problems: all of
// them at once.
//
// A file looks like this:
//
//	version: 1
//	kernel: 6.1.0-50-amd64
//	disks:
//	  - {name: fast, kind: nvme, size: 1g}
func Decode(path string, data []byte) (File, error) {
	r := &reader{Reader: yamlfile.Reader{Name: path}, folder: filepath.Dir(path)}
	root := r.Parse(data)
	if root == nil {
		return File{}, r.Err()
	}
	f := r.file(root)
	if err := r.Err(); err != nil {
		return File{}, err
	}
	return f, nil
}

type reader struct {
	yamlfile.Reader
	folder string
}

func (r *reader) file(root *yaml.Node) File {
	f := File{Type: "q35", Machine: Machine{CPUs: defaultCPUs, Memory: defaultMemory, IOMMU: "none"},
		Limit: defaultLimit}
	entries := r.Mapping(root, "a guest", []string{"version", "kernel", "initrd", "arguments", "cpus", "memory",
		"machine", "iommu", "disks",
		"modules", "programs", "files", "networks", "beside", "setup", "image", "ssh", "qemu", "firmware",
		"accelerator", "limit"})
	if !r.Version(root, entries, formatVersion) {
		return f
	}
	at := map[string]*yaml.Node{}
	for _, e := range entries {
		at[e.Key] = e.Where
		switch e.Key {
		case "kernel":
			f.Kernel = r.kernel(e.Value)
		case "initrd":
			f.Initrd = r.path(e.Value, e.Key)
		case "arguments":
			f.Arguments = r.words(e.Value, e.Key, argumentFault)
		case "cpus":
			f.Machine.CPUs = r.Count(e.Value, e.Key, 1, maxCPUs)
		case "memory":
			f.Machine.Memory = r.Size(e.Value, e.Key)
			if f.Machine.Memory > 0 && f.Machine.Memory < minMemory {
				r.At(e.Value, "write 512m or more", "with so little memory the guest can't unpack its file system")
			}
		case "machine":
			f.Type = r.OneOf(e.Value, e.Key, "q35", "pc")
		case "iommu":
			f.Machine.IOMMU = r.OneOf(e.Value, e.Key, "none", "intel")
		case "disks":
			f.Disks = r.disks(e.Value)
		case "modules":
			f.Modules = r.words(e.Value, e.Key, nameFault)
		case "programs":
			f.Programs = r.words(e.Value, e.Key, nil)
		case "files":
			f.Files = r.words(e.Value, e.Key, fileFault)
		case "networks":
			f.Networks = r.networks(e.Value)
		case "beside":
			f.Beside = r.paths(e.Value, e.Key)
		case "setup":
			f.Setup, _ = r.Scalar(e.Value, e.Key)
		case "image":
			f.Image = r.path(e.Value, e.Key)
		case "ssh":
			f.User, f.Key = r.ssh(e.Value)
		case "qemu":
			f.QEMU = r.path(e.Value, e.Key)
		case "firmware":
			f.Firmware = r.paths(e.Value, e.Key)
		case "accelerator":
			f.Accelerator = r.OneOf(e.Value, e.Key, KVM, Emulation)
		case "limit":
			f.Limit = r.Duration(e.Value, e.Key)
		}
	}
	r.together(root, f, at)
	return f
}

// together checks conditions that involve several keys; at has the keys of the file.
func (r *reader) together(root *yaml.Node, f File, at map[string]*yaml.Node) {
	if root.Kind != yaml.MappingNode {
		return
	}
	refuse := func(key, hint, format string) {
		if n := at[key]; n != nil {
			r.At(n, hint, "%s", format)
		}
	}
	if f.Machine.IOMMU == "intel" && f.Type == "pc" {
		refuse("iommu", "write machine: q35", "QEMU emulates Intel's IOMMU on q35 only")
	}
	if at["image"] == nil {
		if at["kernel"] == nil {
			r.At(root, "add kernel: and an installed version, a path to a kernel or a package file",
				"the guest has no kernel")
		}
		refuse("ssh", "delete it", "ssh is for a guest with an image; headroom generates the keys for a guest without one")
		refuse("initrd", "delete it, or add image:", "initrd is for a guest with an image; headroom makes its own")
		return
	}
	if at["ssh"] == nil {
		r.At(at["image"], "add ssh: {user: root, key: PATH}", "nothing says who may log in to the image")
	}
	if at["kernel"] == nil {
		refuse("arguments", "add kernel:", "an image that starts its own kernel takes no arguments from here")
		refuse("initrd", "add kernel:", "an image that starts its own kernel takes no initrd from here")
	}
	refuse("modules", "load them inside the image", "modules are loaded in headroom's own file system only")
	refuse("programs", "install them inside the image", "programs are copied into headroom's own file system only")
	refuse("files", "put them into the image", "files are copied into headroom's own file system only")
	refuse("networks", "leave image: out, and name a kernel", "addresses are set in headroom's own file system only")
	refuse("setup", "let the image do it", "setup is carried out in headroom's own file system only")
}

// kernel parses a version or a path; a path has a slash, or is a file next to the description.
func (r *reader) kernel(n *yaml.Node) string {
	v, ok := r.Scalar(n, "kernel")
	if !ok {
		return ""
	}
	if beside := filepath.Join(r.folder, v); !strings.ContainsRune(v, '/') {
		if _, err := os.Stat(beside); err != nil {
			return v
		}
	}
	return r.path(n, "kernel")
}

// path parses the path of a file that must exist.
func (r *reader) path(n *yaml.Node, what string) string {
	v, ok := r.Scalar(n, what)
	if !ok {
		return ""
	}
	if rest, home := strings.CutPrefix(v, "~/"); home {
		if dir, err := os.UserHomeDir(); err == nil {
			v = filepath.Join(dir, rest)
		}
	}
	if !filepath.IsAbs(v) {
		v = filepath.Join(r.folder, v)
	}
	absolute, err := filepath.Abs(v)
	if err == nil {
		_, err = os.Stat(absolute)
	}
	if err != nil {
		r.At(n, "relative paths begin at the folder of this file", "%s: %s is not there", what, v)
		return ""
	}
	return absolute
}

// paths reads a path or a list of them.
func (r *reader) paths(n *yaml.Node, what string) []string {
	if n.Kind == yaml.ScalarNode {
		return []string{r.path(n, what)}
	}
	var all []string
	for _, element := range r.Sequence(n, what) {
		all = append(all, r.path(element, what))
	}
	return all
}

// words parses a list of single values; fault returns what is wrong with one, or "".
func (r *reader) words(n *yaml.Node, what string, fault func(string) string) []string {
	var all []string
	for _, element := range r.Sequence(n, what) {
		v, ok := r.Scalar(element, "one of "+what)
		if !ok {
			continue
		}
		if fault != nil {
			if f := fault(v); f != "" {
				r.At(element, "", "%s", f)
				continue
			}
		}
		all = append(all, v)
	}
	return all
}

func nameFault(s string) string {
	if !regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(s) {
		return "a module's name has letters, digits, dashes and underscores only: " + s
	}
	return ""
}

// fileFault returns what is wrong with the path of a file to copy. Whether the file exists is checked when it is
// copied.
func fileFault(s string) string {
	if !filepath.IsAbs(s) || filepath.Clean(s) != s {
		return "a file is named by its whole path, under which the guest has it, too: " + s
	}
	return ""
}

func (r *reader) ssh(n *yaml.Node) (user, key string) {
	for _, e := range r.Mapping(n, "ssh", []string{"user", "key"}) {
		switch e.Key {
		case "user":
			v, ok := r.Scalar(e.Value, e.Key)
			if ok && !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`).MatchString(v) {
				r.At(e.Value, "", "user can't be %q", v)
			}
			user = v
		case "key":
			key = r.path(e.Value, e.Key)
		}
	}
	if n.Kind == yaml.MappingNode && user == "" {
		r.At(n, "add user: root", "ssh does not say as whom")
	}
	return user, key
}

// argumentFault returns what is wrong with one argument of a kernel.
func argumentFault(s string) string {
	switch name, _, _ := strings.Cut(s, "="); {
	case s == "" || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "an argument of the kernel is empty or has a control character"
	case strings.ContainsRune(s, ' ') && strings.Count(s, `"`) != 2:
		return "the kernel takes " + s + ` for several arguments; write them apart, or put the value in "double quotes"`
	case name == "console" || name == "panic" || name == "initrd":
		return name + " is headroom's own argument: by it a guest is watched and ends when it fails"
	}
	return ""
}
