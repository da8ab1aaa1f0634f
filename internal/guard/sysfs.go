package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// environment is what the guard can see of a machine without opening a device: its file system, and where nodes lead.
// Tests replace it by a tree of text.
type environment struct {
	files fs.FS
	// stat returns what a path leads to; false if it leads nowhere, or can't be examined.
	stat func(name string) (object, bool)
	// sharesFiles reports whether two threads share their file descriptors. An error means that this can't be
	// determined; the function is nil for a machine on which that is never known.
	sharesFiles func(a, b int) (bool, error)
	// loopTarget returns the backing of a loop device that has a backing file.
	loopTarget func(node string) (backing, error)
	// self is headroom's own process ID, and jobs the folder that holds the folders of its jobs.
	self int
	jobs string
}

// text reads a small file of /proc or /sys without surrounding white space.
func (s environment) text(name string) (string, error) {
	data, err := fs.ReadFile(s.files, name)
	return strings.TrimSpace(string(data)), err
}

// optional reads a file that not every device or kernel has: "" if it does not exist or can't be read. It must not be
// used for anything whose absence would make a device look free.
func (s environment) optional(name string) string {
	t, _ := s.text(name) // an error means absent
	return t
}

// link returns where a link leads; "" if that is unknown.
func (s environment) link(name string) string {
	l, _ := fs.ReadLink(s.files, name) // an error means absent
	return l
}

func (s environment) exists(name string) bool {
	_, err := fs.Stat(s.files, name)
	return err == nil
}

// entries lists a folder that may be absent; any other fault is an error.
func (s environment) entries(name string) ([]string, error) {
	list, err := fs.ReadDir(s.files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names, err
}

// blockDevice is a device as /sys/class/block/NAME describes it.
type blockDevice struct {
	name   string // "sda2"; a "/" in the node's name is a "!" here
	node   string // "/dev/sda2"
	number Number
	disk   string // the whole disk: "sda"; the device itself when it is no partition
	part   int    // 2 for a partition, 0 for a whole disk
	size   int64  // bytes
}

func classDir(name string) string { return "sys/class/block/" + name }

// device reads the kernel's description of a device. Source: the uevent file and Documentation/ABI/stable/sysfs-block.
//
//	MAJOR=259
//	DEVNAME=nvme0n1p2
//	PARTN=2
func (s environment) device(name string) (blockDevice, error) {
	uevent, err := s.text(classDir(name) + "/uevent")
	if err != nil {
		return blockDevice{}, err
	}
	d := blockDevice{name: name, disk: name}
	fields := parseUevent(uevent)
	if d.number, err = parseNumber(fields["MAJOR"] + ":" + fields["MINOR"]); err != nil {
		return d, fmt.Errorf("%s/uevent: %w", classDir(name), err)
	}
	if fields["DEVNAME"] == "" {
		return d, fmt.Errorf("%s/uevent has no DEVNAME", classDir(name))
	}
	d.node = "/dev/" + fields["DEVNAME"]
	size, err := s.text(classDir(name) + "/size")
	if err != nil {
		return d, err
	}
	sectors, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return d, fmt.Errorf("%s/size: %w", classDir(name), err)
	}
	d.size = sectors * 512 // always 512, whatever the device's sector size
	if part := s.optional(classDir(name) + "/partition"); part != "" {
		if d.part, err = strconv.Atoi(part); err != nil {
			return d, fmt.Errorf("%s/partition: %w", classDir(name), err)
		}
		// /sys/class/block/sda2 is a link to …/block/sda/sda2: a partition's folder is in its disk's.
		link, err := fs.ReadLink(s.files, classDir(name))
		if err != nil {
			return d, err
		}
		d.disk = path.Base(path.Dir(link))
	}
	return d, nil
}

// named returns the kernel's name for a device number.
func (s environment) named(n Number) (string, error) {
	link, err := fs.ReadLink(s.files, "sys/dev/block/"+n.String())
	if err != nil {
		return "", err
	}
	return path.Base(link), nil
}

// parseUevent reads KEY=value lines.
func parseUevent(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			fields[key] = value
		}
	}
	return fields
}

// describe describes a device for a person: "dm-1 (LVM volume vg0-root)". It only helps to understand a refusal, so
// unreadable details are omitted.
func (s environment) describe(name string) string {
	dir := classDir(name)
	switch {
	case s.exists(dir + "/dm"):
		return fmt.Sprintf("%s (%s %s)", name, mapping(s.optional(dir+"/dm/uuid")), s.optional(dir+"/dm/name"))
	case s.exists(dir + "/md"):
		return fmt.Sprintf("%s (RAID array, %s)", name, s.optional(dir+"/md/level"))
	case strings.HasPrefix(name, "bcache"):
		return name + " (bcache)"
	case s.exists(dir + "/loop/backing_file"):
		return fmt.Sprintf("%s (loop device over %s)", name, s.optional(dir+"/loop/backing_file"))
	}
	return name
}

// mapping returns which program made a device-mapper device. The program puts a prefix before the UUID. Source: the
// comment on DM_UUID_FLAG in the kernel's dm-ioctl.h, and lvm2, cryptsetup and multipath-tools themselves.
func mapping(uuid string) string {
	prefixes := []struct{ prefix, words string }{
		{"LVM-", "LVM volume"},
		{"CRYPT-", "encrypted mapping"},
		{"mpath-", "multipath device"},
		{"part", "partition of a mapped device"},
		{"DMRAID-", "firmware RAID set"},
		{"stratis-", "Stratis layer"},
		{"VDO-", "VDO volume"},
	}
	for _, p := range prefixes {
		if strings.HasPrefix(uuid, p.prefix) {
			return p.words
		}
	}
	return "device-mapper device"
}
