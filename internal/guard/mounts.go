package guard

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// mount is a line of /proc/PID/mountinfo, with the fields that relate a device to a mount point.
type mount struct {
	id     string // of the mount, unique on the machine
	number Number
	point  string
	fstype string
	source string
	// options of the file system: "rw,lowerdir=/a:/b,upperdir=/c,workdir=/d".
	options string
}

// parseMountinfo parses the mounts of one process. The fields up to the mount options are fixed; then come optional
// fields, ended by "-"; then type and source. A line that can't be parsed is an error, because it might be the decisive
// one; a parser that skips such lines is not suitable here. Source: proc(5), Documentation/filesystems/proc.rst,
// section 3.5.
//
//	27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//	61 29 0:45 /@home /home rw,relatime shared:31 - btrfs /dev/nvme0n1p3 rw,ssd,space_cache=v2
func parseMountinfo(text string) ([]mount, error) {
	var mounts []mount
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		end := 6
		for end < len(fields) && fields[end] != "-" {
			end++
		}
		if end+2 >= len(fields) {
			return nil, fmt.Errorf("mountinfo line %q is cut short", strings.TrimSpace(line))
		}
		number, err := parseNumber(fields[2])
		if err != nil {
			return nil, fmt.Errorf("mountinfo line %q: %w", strings.TrimSpace(line), err)
		}
		m := mount{id: fields[0], number: number, point: unescape(fields[4]), fstype: fields[end+1],
			source: unescape(fields[end+2])}
		if end+3 < len(fields) {
			m.options = fields[end+3]
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// unescape decodes the kernel's escapes of blanks and backslashes in paths: three octal digits after a backslash.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// view is the mounts that some processes see.
type view struct {
	pid string
	// where describes whose mounts they are, if not headroom's.
	where  string
	mounts []mount
}

// readViews reads the mounts of every visible mount namespace: mounts of a container or a service are not in headroom's
// own list. The exclusive claim covers namespaces that can't be seen.
func (f *family) readViews() {
	processes := f.processes()
	own := f.namespace("self")
	done := map[string]bool{}
	for _, pid := range append([]string{"self"}, processes...) {
		// Processes with the same namespace and root see the same mounts; the root matters because a chroot hides some.
		seen := f.namespace(pid) + " " + f.link("proc/"+pid+"/root")
		if done[seen] {
			continue
		}
		text, err := f.text("proc/" + pid + "/mountinfo")
		if err != nil {
			if pid == "self" {
				f.fault("can't read the mounts", err)
			}
			continue // the process has ended, or belongs to another user
		}
		done[seen] = seen != " " // unless both could not be read
		mounts, err := parseMountinfo(text)
		if err != nil {
			f.fault("can't read the mounts of process "+pid, err)
			continue
		}
		v := view{pid: pid, mounts: mounts}
		if pid != "self" && f.namespace(pid) != own {
			v.where = fmt.Sprintf(" in the mount namespace of process %s (%s)", pid, f.optional("proc/"+pid+"/comm"))
		}
		f.views = append(f.views, v)
	}
}

// mounted finds the members of a family that are mounted.
func (f *family) mounted() []Use {
	var uses []Use
	seen := map[Use]bool{}
	for _, v := range f.views {
		for _, u := range f.matching(v.mounts, v.pid) {
			if !seen[u] { // a namespace begins as a copy of another
				seen[u] = true
				uses = append(uses, Use{u.Who, u.How + v.where})
			}
		}
	}
	return uses
}

func (f *family) matching(mounts []mount, pid string) []Use {
	var uses []Use
	for _, m := range mounts {
		numbers := []Number{m.number}
		if m.number.Major == 0 {
			numbers = f.sources(m, pid)
		}
		for _, n := range numbers {
			if r, ok := f.by(n); ok {
				uses = append(uses, Use{r.words, "is mounted on " + m.point})
			}
		}
		if m.fstype == "erofs" && path.IsAbs(m.source) { // which can be mounted without a loop device
			for _, u := range f.usesOfFile(path.Join("/proc", pid, "root", m.source)) {
				uses = append(uses, Use{u, "is mounted on " + m.point})
			}
		}
	}
	return uses
}

// sources returns the devices of a mount whose number is made up (major 0). btrfs and bcachefs can span devices, so
// only the source names them: one path (btrfs), or all paths separated by colons (bcachefs). Only for these two are
// paths outside /dev followed: following a path on a server that does not answer would hang.
func (f *family) sources(m mount, pid string) []Number {
	var numbers []Number
	for source := range strings.SplitSeq(m.source, ":") {
		spans := m.fstype == "btrfs" || m.fstype == "bcachefs"
		if !strings.HasPrefix(source, "/dev/") && !(spans && path.IsAbs(source)) {
			continue
		}
		n, ok := f.number(path.Join("/proc", pid, "root", source))
		if !ok {
			n, ok = f.nodeNumber(source) // the node does not exist under this name, but the kernel knows the name
		}
		if ok {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

func (f *family) nodeNumber(node string) (Number, bool) {
	for _, m := range f.members {
		if m.node == node {
			return m.number, true
		}
	}
	return Number{}, false
}

// processes lists the process IDs of /proc.
func (f *family) processes() []string {
	names, err := f.entries("proc")
	if err != nil {
		f.fault("can't list the processes", err)
	}
	var pids []string
	for _, n := range names {
		if _, err := strconv.Atoi(n); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

func (s environment) namespace(pid string) string { return s.link("proc/" + pid + "/ns/mnt") }
