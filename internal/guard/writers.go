package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/facts/collect"
)

// written finds programs that have a member open for writing: a virtual machine that uses it as its disk, a database on
// a raw device, another benchmark. Most take no exclusive claim. Programs that only read (smartd, multipathd, udev) are
// ignored.
//
// Open devices are compared by device number, whatever the name and place of the node: in a chroot, made by mknod,
// deleted since. A file under a loop device is compared by its file system and inode. Mappings count too, because they
// remain after the file is closed. A device that the kernel keeps open for a program can't be seen: in transit through
// a socket, or registered with io_uring.
func (f *family) written() []Use {
	w := writers{family: f, remote: map[string]bool{}}
	for _, pid := range f.processes() {
		if pid != strconv.Itoa(f.self) && !(f.sparesJobs && f.isJob(pid)) {
			w.look(pid)
		}
	}
	f.programsUnread, f.filesUnseen = w.hidden, w.skipped
	return w.uses
}

// isJob reports whether a program works in the folder of one of headroom's jobs.
func (f *family) isJob(pid string) bool {
	return f.jobs != "" && strings.HasPrefix(f.link("proc/"+pid+"/cwd"), f.jobs+"/")
}

// writers examines the open files of programs.
type writers struct {
	*family
	// remote reports of the mounts of all programs, by "mount ID" and by "device number", whether their file system
	// depends on a server, which may not answer.
	remote map[string]bool
	uses   []Use
	// hidden counts programs, and skipped files, that could not be examined.
	hidden, skipped int
}

// look examines the open files and mappings of a program. A thread can have a separate descriptor table, and if the
// first thread of a program has ended, only its other threads have descriptors.
func (w *writers) look(pid string) {
	tables := w.tables(pid)
	mountsRead := false
	for _, thread := range tables {
		mountsRead = w.lookAtDescriptors(pid, thread, mountsRead)
	}
	w.lookAtMappings(pid, mountsRead)
}

// tables returns threads of a program such that no two share their descriptors.
func (w *writers) tables(pid string) []string {
	tables := []string{pid}
	for _, thread := range w.threads(pid) {
		if !slices.ContainsFunc(tables, func(t string) bool { return t == thread || w.sameFiles(t, thread) }) {
			tables = append(tables, thread)
		}
	}
	return tables
}

// threads returns the threads of a program, including its first. All have a folder in /proc, although a listing of
// /proc shows only programs.
func (w *writers) threads(pid string) []string {
	names, _ := w.entries("proc/" + pid + "/task") // none if it has ended
	return names
}

func (w *writers) sameFiles(a, b string) bool {
	x, err := strconv.Atoi(a)
	y, err2 := strconv.Atoi(b)
	if err != nil || err2 != nil || w.sharesFiles == nil {
		return false
	}
	same, err := w.sharesFiles(x, y)
	// A user who may not compare them may not read them either, as the first thread shows.
	return same || errors.Is(err, fs.ErrPermission)
}

// lookAtDescriptors examines the open files of a thread, and returns whether the program's mounts were read.
func (w *writers) lookAtDescriptors(pid, thread string, mountsRead bool) bool {
	dir := "proc/" + thread
	descriptors, err := fs.ReadDir(w.files, dir+"/fd")
	// without a command line it is a kernel thread
	if errors.Is(err, fs.ErrPermission) && w.optional(dir+"/cmdline") != "" {
		w.hidden++
	}
	for _, d := range descriptors {
		fd := dir + "/fd/" + d.Name()
		target := w.link(fd)
		if !leadsToFile(target) {
			continue
		}
		info := parseDescriptor(w.optional(dir + "/fdinfo/" + d.Name()))
		if !info.writable {
			continue
		}
		remote, known := w.remote[info.mount]
		if !known && !mountsRead {
			mountsRead = true
			w.readMounts(thread)
			remote, known = w.remote[info.mount]
		}
		w.follow(pid, fd, target, remote, known)
	}
	return mountsRead
}

// follow determines whether a link of /proc leads to a member. A file on a server that does not answer would hang, and
// so might a file of a file system that is no longer mounted: of those, only links that look like devices are followed.
func (w *writers) follow(pid, link, target string, remote, known bool) {
	if remote || !known && !strings.HasPrefix(target, "/dev/") {
		if known || !inMemory(target) {
			w.skipped++
		}
		return
	}
	o, ok := w.stat("/" + link)
	if !ok {
		return
	}
	who := w.below(o)
	if m, ok := w.by(o.number); ok && o.isDevice && m.relation != underneath {
		who = append(who, m.words)
	}
	for _, words := range who {
		u := Use{words, fmt.Sprintf("is open for writing in process %s (%s)", pid, w.optional("proc/"+pid+"/comm"))}
		if !slices.Contains(w.uses, u) { // by several descriptors
			w.uses = append(w.uses, u)
		}
	}
}

// leadsToFile reports whether a link of /proc leads to a path: "socket:[4711]" and "anon_inode:[eventfd]" do not.
func leadsToFile(target string) bool { return strings.HasPrefix(target, "/") }

// inMemory reports whether a path that is on no mount is the kernel's notation for memory: memfd_create(2), shmget(2),
// DMA buffers.
func inMemory(target string) bool {
	return slices.ContainsFunc([]string{"/memfd:", "/SYSV", "/dmabuf:", "/anon_hugepage", "/[aio]"},
		func(p string) bool { return strings.HasPrefix(target, p) })
}

// readMounts records the mounts that a program sees. The IDs are unique on the machine, so the mounts of all programs
// can be combined.
func (w *writers) readMounts(pid string) {
	text, err := w.text("proc/" + pid + "/mountinfo")
	if err != nil {
		return // it has ended, or is another user's
	}
	mounts, err := parseMountinfo(text)
	if err != nil {
		return // mounted has recorded that as a fault
	}
	for _, m := range mounts {
		remote := collect.AsksOthers(m.fstype)
		w.remote[m.id], w.remote[m.number.String()] = remote, remote
	}
}

// answerWithin limits the wait for the mappings of a program, and for a path. The kernel shows no mappings while a
// thread of the program waits for a page, and that page, or the path, may be on a server that does not answer.
const answerWithin = time.Second

// lookAtMappings finds devices and files that a program has mapped, and may have closed since. All threads share the
// memory, except for a first thread that has ended, which has none.
func (w *writers) lookAtMappings(pid string, mountsRead bool) {
	thread := pid
	maps, ok := w.mapsOf(thread)
	if ok && maps == "" {
		for _, thread = range w.threads(pid) {
			if maps, ok = w.mapsOf(thread); !ok || maps != "" {
				break
			}
		}
	}
	if !ok {
		w.hidden++
		return
	}
	for _, m := range parseShared(maps) {
		if !leadsToFile(m.target) {
			continue
		}
		link := "proc/" + thread + "/map_files/" + m.addresses
		info, err := fs.Lstat(w.files, link)
		if err != nil || info.Mode()&0o200 == 0 {
			continue // ended, or from a file that is open only for reading
		}
		remote, known := w.remote[m.device]
		if !known && !mountsRead {
			mountsRead = true
			w.readMounts(pid)
			remote, known = w.remote[m.device]
		}
		w.follow(pid, link, m.target, remote, known)
	}
}

// mapsOf returns the mappings of a thread; false if they can't be read in time.
func (w *writers) mapsOf(thread string) (string, bool) {
	answer := make(chan string, 1)
	go func() { answer <- w.optional("proc/" + thread + "/maps") }()
	select {
	case maps := <-answer:
		return maps, true
	case <-time.After(answerWithin):
		return "", false
	}
}

// sharedMapping is a mapping through which a file can be written to.
type sharedMapping struct {
	addresses string // in the notation of map_files
	device    string // number of the file system
	target    string
}

// parseShared parses the shared mappings of /proc/PID/maps; only these can write to a file. Source: proc_pid_maps(5).
//
//	7f3c5c000000-7f3c5c021000 rw-p 00000000 00:00 0
//	7f3c63a00000-7f3c63e00000 rw-s 00000000 00:06 412                        /dev/loop7
//	7ffd2a1c4000-7ffd2a1e5000 rw-p 00000000 00:00 0                          [stack]
func parseShared(text string) []sharedMapping {
	var found []sharedMapping
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 6)
		if len(fields) < 6 || len(fields[1]) != 4 || fields[1][3] != 's' {
			continue
		}
		major, minor, ok := strings.Cut(fields[3], ":")
		a, err := strconv.ParseUint(major, 16, 32)
		b, err2 := strconv.ParseUint(minor, 16, 32)
		from, to, ok2 := strings.Cut(fields[0], "-")
		if !ok || !ok2 || err != nil || err2 != nil {
			continue
		}
		trim := func(s string) string { return strings.TrimLeft(s[:len(s)-1], "0") + s[len(s)-1:] }
		if from == "" || to == "" {
			continue
		}
		found = append(found, sharedMapping{trim(from) + "-" + trim(to), Number{uint32(a), uint32(b)}.String(),
			strings.TrimSpace(fields[5])})
	}
	return found
}

// descriptor is the description of an open file in /proc.
type descriptor struct {
	writable bool
	mount    string
}

// parseDescriptor parses the access mode of an open file, whose lowest two bits are 0 for read-only, and the ID of the
// mount that it was opened on. Source: proc_pid_fdinfo(5).
//
//	pos:	0
//	flags:	0100002
//	mnt_id:	19
func parseDescriptor(fdinfo string) descriptor {
	var d descriptor
	for line := range strings.Lines(fdinfo) {
		if value, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseUint(strings.TrimSpace(value), 8, 64)
			d.writable = err != nil || flags&3 != 0
		}
		if value, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			d.mount = strings.TrimSpace(value)
		}
	}
	return d
}
