package record

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

// Unknown replaces the name of a function that is in no symbol table: "fio:?".
const Unknown = "?"

// ProcessSymbols finds the functions at addresses of running processes. It reads the mappings of a process at its first
// lookup, so lookups must be made while the process runs. The symbol tables, which take much longer to read, are read
// when the name of a Place is requested; their files are open until Close. It is for one goroutine.
type ProcessSymbols struct {
	proc      string
	now       func() time.Time
	processes map[int]*process
	files     map[string]*image
}

// process has the mappings of a process at the time of reading.
type process struct {
	mappings []mapping
	images   []*image // of each mapping, nil until it is needed
	read     time.Time
}

// image is a program, whose symbols may not have been read yet.
type image struct {
	title   string
	file    *os.File
	symbols *program
}

// SymbolPlace is an address in a program, wherever processes have mapped it.
type SymbolPlace struct {
	image  *image
	offset uint64
}

// again is how long the mappings of a process are assumed to be unchanged, although an address is in none of them:
// stacks without frame pointers are full of such addresses.
const again = time.Second

// NewProcessSymbols uses a proc file system, "/proc".
func NewProcessSymbols(proc string) *ProcessSymbols {
	return &ProcessSymbols{proc: proc, now: time.Now, processes: map[int]*process{}, files: map[string]*image{}}
}

// Close closes the files of programs. Places whose symbols have not been read then have no names.
func (p *ProcessSymbols) Close() {
	for _, i := range p.files {
		i.close()
	}
}

// Forget is called when a process executes another program.
func (p *ProcessSymbols) Forget(pid int) { delete(p.processes, pid) }

// Find finds an address of a process. It returns false if nothing executable is mapped there, or the process has ended.
func (p *ProcessSymbols) Find(pid int, address uint64) (SymbolPlace, bool) {
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
		return SymbolPlace{}, false
	}
	m := of.mappings[at]
	if of.images[at] == nil {
		of.images[at] = p.image(pid, m)
	}
	return SymbolPlace{of.images[at], address - m.start + m.offset}, true
}

// Name returns the function at a place: "fio:get_io_u", "libc:read", "fio:?" if the file has no name for it.
func (l SymbolPlace) Name() string {
	if l.image.symbols == nil {
		l.image.symbols = &program{}
		if l.image.file != nil {
			if read, err := readProgram(l.image.file); err == nil {
				l.image.symbols = read
			}
		}
		l.image.close()
	}
	name := l.image.symbols.name(l.offset)
	if name == "" {
		name = Unknown
	}
	return l.image.title + ":" + name
}

func (i *image) close() {
	if i.file != nil {
		_ = i.file.Close() // it was only read
		i.file = nil
	}
}

// read reads the mappings of a process: none if it has ended, or is another user's.
func (p *ProcessSymbols) read(pid int) *process {
	of := &process{read: p.now()}
	if f, err := os.Open(p.path(pid, "maps")); err == nil {
		of.mappings, _ = parseMaps(f)
		_ = f.Close()
	}
	of.images = make([]*image, len(of.mappings))
	p.processes[pid] = of
	return of
}

func (of *process) find(address uint64) int {
	return slices.IndexFunc(of.mappings, func(m mapping) bool { return address >= m.start && address < m.end })
}

func (p *ProcessSymbols) path(pid int, names ...string) string {
	return filepath.Join(append([]string{p.proc, strconv.Itoa(pid)}, names...)...)
}

// mostFiles is how many programs are kept open. Symbols of further ones are not read.
const mostFiles = 256

// image returns the program of a mapping: one, however many processes have it mapped.
func (p *ProcessSymbols) image(pid int, m mapping) *image {
	id := fmt.Sprintf("%s %d %s", m.device, m.inode, m.path)
	known := p.files[id]
	if known == nil {
		known = &image{title: m.title()}
		switch {
		case m.path == "[vdso]":
			known.symbols = p.fromMemory(pid, m)
		case m.inode != 0 && len(p.files) < mostFiles:
			known.file = p.open(pid, m)
		}
		p.files[id] = known
	}
	return known
}

// open opens the file of a mapping. The first of the two names is for the file itself, deleted or not, and needs
// CAP_CHECKPOINT_RESTORE. The second is for the file that now has its path, within the process's root. It returns nil
// if neither can be opened, or if it is a device, because reading a device can have side effects.
func (p *ProcessSymbols) open(pid int, m mapping) *os.File {
	for _, path := range []string{p.path(pid, "map_files", fmt.Sprintf("%x-%x", m.start, m.end)),
		p.path(pid, "root") + strings.TrimSuffix(m.path, " (deleted)")} {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if f, err := os.Open(path); err == nil {
			return f
		}
	}
	return nil
}

// fromMemory reads the program that the kernel maps into each process, which is in no file: it has clock_gettime.
func (p *ProcessSymbols) fromMemory(pid int, m mapping) *program {
	f, err := os.Open(p.path(pid, "mem"))
	if err != nil || m.end-m.start > mostSymbols {
		return &program{}
	}
	defer f.Close()
	memory, err := io.ReadAll(io.NewSectionReader(f, int64(m.start), int64(m.end-m.start)))
	if err != nil {
		return &program{}
	}
	read, err := readProgram(bytes.NewReader(memory))
	if err != nil {
		return &program{}
	}
	return read
}
