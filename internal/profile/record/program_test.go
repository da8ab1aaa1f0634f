package record

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"
)

// elfFile returns a file with one segment, whose address differs from its offset, and a symbol table.
func elfFile(symbols ...elf.Sym64) []byte {
	const names = "\x00read\x00__read\x00static\x00data\x00"
	const head, segments, sections = 64, 56, 64
	table := make([]elf.Sym64, 1, len(symbols)+1)
	table = append(table, symbols...)
	at := uint64(head + segments + 3*sections)
	size := uint64(24 * len(table))
	var out bytes.Buffer
	for _, part := range []any{
		elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_DYN),
			Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: head, Shoff: head + segments, Ehsize: head,
			Phentsize: segments, Phnum: 1, Shentsize: sections, Shnum: 3, Shstrndx: 2},
		elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: 5, Off: 0x1000, Vaddr: 0x5000, Filesz: 0x2000, Memsz: 0x2000},
		elf.Section64{},
		elf.Section64{Type: uint32(elf.SHT_SYMTAB), Off: at, Size: size, Link: 2, Entsize: 24},
		elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: at + size, Size: uint64(len(names))},
		table, []byte(names),
	} {
		if err := binary.Write(&out, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return out.Bytes()
}

func example() []byte {
	const function, object = byte(elf.STT_FUNC), byte(elf.STT_OBJECT)
	return elfFile(
		elf.Sym64{Name: 6, Info: function, Shndx: 1, Value: 0x5000, Size: 0x10},    // __read
		elf.Sym64{Name: 1, Info: function, Shndx: 1, Value: 0x5000, Size: 0x10},    // read
		elf.Sym64{Name: 13, Info: function, Shndx: 1, Value: 0x5020},               // static, without a size
		elf.Sym64{Name: 20, Info: object, Shndx: 1, Value: 0x5030, Size: 0x10},     // data
		elf.Sym64{Name: 1, Info: function, Shndx: 0, Value: 0x5040, Size: 0x10},    // read, of another library
		elf.Sym64{Name: 1 << 30, Info: function, Shndx: 1, Value: 0x5050, Size: 1}) // a name beyond the table
}

func TestReadProgram(t *testing.T) {
	p, err := readProgram(bytes.NewReader(example()))
	if err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[uint64]string{0xfff: "", 0x1000: "read", 0x100f: "read", 0x1010: "", 0x1020: "static",
		0x1fff: "static", 0x3000: ""} {
		if got := p.name(offset); got != want {
			t.Errorf("%x is %q, want %q", offset, got, want)
		}
	}
	if p, err := readProgram(strings.NewReader("#!/bin/sh")); err == nil {
		t.Errorf("a script is %+v", p)
	}
}

// A table that claims to be larger than should be read on a machine under test is not read.
func TestLargeTablesAreLeft(t *testing.T) {
	large := example()
	binary.LittleEndian.PutUint64(large[64+56+64+32:], mostSymbols+24)
	p, err := readProgram(bytes.NewReader(large))
	if err != nil || len(p.functions) != 0 || len(p.segments) != 1 {
		t.Errorf("%+v: %v", p, err)
	}
}

// A damaged image is an error or has no names.
func FuzzReadProgram(f *testing.F) {
	f.Add(example(), uint64(0x1000))
	f.Add(example()[:200], uint64(0x1000))
	f.Fuzz(func(_ *testing.T, image []byte, offset uint64) {
		p, err := readProgram(bytes.NewReader(image))
		if err == nil {
			p.name(offset)
		}
	})
}
