package record

import (
	"debug/elf"
	"io"
	"slices"
	"strings"
)

// mostSymbols is the size of the largest symbol table that is read: a browser's table takes more memory than should be
// used on a machine under test.
const mostSymbols = 16 << 20

// program has the functions of an executable file.
type program struct {
	segments  []segment
	functions []sized
}

// segment is the address in the file's own address space at which a part of it is loaded.
type segment struct{ offset, size, address uint64 }

type sized struct {
	address, size uint64
	name          string
}

// readProgram reads the symbol tables of an ELF file. Without them it only has its segments.
func readProgram(r io.ReaderAt) (*program, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, err
	}
	p := &program{}
	for _, s := range f.Progs {
		if s.Type == elf.PT_LOAD {
			p.segments = append(p.segments, segment{s.Off, s.Filesz, s.Vaddr})
		}
	}
	p.add(f, elf.SHT_SYMTAB, f.Symbols)
	p.add(f, elf.SHT_DYNSYM, f.DynamicSymbols)
	p.sort()
	return p, nil
}

// add reads one table, if it exists and is not too large.
func (p *program) add(f *elf.File, kind elf.SectionType, read func() ([]elf.Symbol, error)) {
	section := f.SectionByType(kind)
	if section == nil || section.Size > mostSymbols {
		return
	}
	if int(section.Link) >= len(f.Sections) || f.Sections[section.Link].Size > mostSymbols {
		return
	}
	symbols, err := read()
	if err != nil {
		return // a damaged table has no names, like a stripped one
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF && s.Name != "" {
			p.functions = append(p.functions, sized{s.Value, s.Size, strings.Clone(s.Name)})
		}
	}
}

// sort orders functions by address and keeps one for each: of __read, read and __libc_read it is read.
func (p *program) sort() {
	slices.SortFunc(p.functions, func(a, b sized) int {
		if a.address != b.address {
			if a.address < b.address {
				return -1
			}
			return 1
		}
		if u, v := underscores(a.name), underscores(b.name); u != v {
			return u - v
		}
		if len(a.name) != len(b.name) {
			return len(a.name) - len(b.name)
		}
		return strings.Compare(a.name, b.name)
	})
	p.functions = slices.CompactFunc(p.functions, func(a, b sized) bool { return a.address == b.address })
}

func underscores(name string) int { return len(name) - len(strings.TrimLeft(name, "_")) }

// name returns the function at an offset in the file; empty if unknown.
func (p *program) name(offset uint64) string {
	for _, s := range p.segments {
		if offset >= s.offset && offset-s.offset < s.size {
			return p.at(offset - s.offset + s.address)
		}
	}
	return ""
}

// at returns the function at an address in the file's own address space. One without a size, as assembler writes them,
// ends where the next begins.
func (p *program) at(address uint64) string {
	at, found := slices.BinarySearchFunc(p.functions, address, func(f sized, a uint64) int {
		if f.address < a {
			return -1
		}
		if f.address > a {
			return 1
		}
		return 0
	})
	if !found {
		at--
	}
	if at < 0 {
		return ""
	}
	f := p.functions[at]
	if f.size > 0 && address-f.address >= f.size {
		return ""
	}
	return f.name
}
