package symbols

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unknown stands for the name of a function that is in no symbol table: "fio:?".
const Unknown = "?"

// Processes names addresses in running processes. It reads what a process has mapped when it is first asked about it,
// so it must be asked while the process runs. It is for one goroutine.
type Processes struct {
	proc      string
	now       func() time.Time
	processes map[int]*process
	files     map[string]*program
}

// process is what one has mapped, as it was when it was read.
type process struct {
	mappings []mapping
	programs []*program // of each mapping, nil where it can't be read
	read     time.Time
}

// again is how long a process is taken to have mapped the same, though an address is found nowhere: stacks without
// frame pointers are full of such.
const again = time.Second

// NewProcesses names addresses by a file system of processes, "/proc".
func NewProcesses(proc string) *Processes {
	return &Processes{proc: proc, now: time.Now, processes: map[int]*process{}, files: map[string]*program{}}
}

// Forget is for a process that executes another program, or has ended.
func (p *Processes) Forget(pid int) { delete(p.processes, pid) }

// Name is that of the function at an address: "fio:get_io_u", "libc:read", "fio:?" where the file has no name for it.
// False where the process has mapped nothing executable there, or is gone.
func (p *Processes) Name(pid int, address uint64) (string, bool) {
	of := p.processes[pid]
	if of == nil {
		of = p.read(pid)
	}
	at := of.find(address)
	if at < 0 && p.now().Sub(of.read) >= again {
		of = p.read(pid)
		at = of.find(address)
	}
	if at < 0 {
		return "", false
	}
	m := of.mappings[at]
	if of.programs[at] == nil {
		of.programs[at] = p.program(pid, m)
	}
	name := of.programs[at].name(address - m.start + m.offset)
	if name == "" {
		name = Unknown
	}
	return m.title() + ":" + name, true
}

// read reads what a process has mapped: nothing where it is gone, or another user's.
func (p *Processes) read(pid int) *process {
	of := &process{read: p.now()}
	if f, err := os.Open(p.path(pid, "maps")); err == nil {
		of.mappings, _ = parseMaps(f)
		f.Close()
	}
	of.programs = make([]*program, len(of.mappings))
	p.processes[pid] = of
	return of
}

func (of *process) find(address uint64) int {
	return slices.IndexFunc(of.mappings, func(m mapping) bool { return address >= m.start && address < m.end })
}

func (p *Processes) path(pid int, names ...string) string {
	return filepath.Join(append([]string{p.proc, strconv.Itoa(pid)}, names...)...)
}

// program reads the file of a mapping once, however many processes have it mapped. One that can't be read has no names.
func (p *Processes) program(pid int, m mapping) *program {
	if m.path == "[vdso]" {
		return p.fromMemory(pid, m)
	}
	if m.inode == 0 {
		return &program{}
	}
	id := fmt.Sprintf("%s %d %s", m.device, m.inode, m.path)
	if known := p.files[id]; known != nil {
		return known
	}
	read := &program{}
	// The first is the file itself, deleted or not, and needs CAP_CHECKPOINT_RESTORE. The second is what now has its
	// path, within the process's own root.
	for _, path := range []string{p.path(pid, "map_files", fmt.Sprintf("%x-%x", m.start, m.end)),
		p.path(pid, "root") + strings.TrimSuffix(m.path, " (deleted)")} {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		found, err := readRegular(f)
		f.Close()
		if err == nil {
			read = found
			break
		}
	}
	p.files[id] = read
	return read
}

// readRegular reads a program of a regular file: a device may be mapped as well, and reading one may have effects.
func readRegular(f *os.File) (*program, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", f.Name())
	}
	return readProgram(f)
}

// fromMemory reads the program that the kernel maps into each process, which is in no file: clock_gettime is there.
func (p *Processes) fromMemory(pid int, m mapping) *program {
	f, err := os.Open(p.path(pid, "mem"))
	if err != nil || m.end-m.start > mostSymbols {
		return &program{}
	}
	defer f.Close()
	image, err := io.ReadAll(io.NewSectionReader(f, int64(m.start), int64(m.end-m.start)))
	if err != nil {
		return &program{}
	}
	read, err := readProgram(bytes.NewReader(image))
	if err != nil {
		return &program{}
	}
	return read
}
