package record

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// Test programs have no symbol table, unless they are built to be kept; the program that the kernel maps into each
// process has one.
func TestNamesOfTheTestItself(t *testing.T) {
	p := NewProcessSymbols("/proc")
	defer p.Close()
	address := uint64(reflect.ValueOf(TestNamesOfTheTestItself).Pointer())
	name, ok := named(p, os.Getpid(), address+1)
	if !ok || name != "record.test:?" && !strings.HasSuffix(name, "record.TestNamesOfTheTestItself") {
		t.Errorf("%q, %v", name, ok)
	}
	if name, ok := named(p, os.Getpid(), 0); ok {
		t.Errorf("at 0 is %s", name)
	}
	for _, m := range p.processes[os.Getpid()].mappings {
		if m.path == "[vdso]" {
			namesOfVDSO(t, p, m)
		}
	}
}

func namesOfVDSO(t *testing.T, p *ProcessSymbols, m mapping) {
	t.Helper()
	read := p.fromMemory(os.Getpid(), m)
	if len(read.functions) == 0 {
		t.Fatal("no function in the vdso")
	}
	f := read.functions[0]
	if name, ok := named(p, os.Getpid(), m.start+f.address); !ok || name != "vdso:"+f.name {
		t.Errorf("%q, %v; want %s", name, ok, f.name)
	}
}

// The kernel of this machine: root can read its addresses, otherwise an error explains why not.
func TestThisKernel(t *testing.T) {
	k, err := ReadKernelSymbols("/proc")
	if err != nil {
		if m := missingSymbols(err); m.Why == "" || m.Hint == "" {
			t.Errorf("%+v", m)
		}
		t.Skip(err)
	}
	t.Logf("%d functions, %d bytes of names, %d modules", len(k.functions), len(k.names), len(k.modules))
	found := map[string]bool{}
	for _, f := range k.functions {
		found[k.name(f)] = true
	}
	if !found["vfs_read"] || len(k.functions) < 10000 {
		t.Errorf("%d functions, vfs_read %v", len(k.functions), found["vfs_read"])
	}
}
