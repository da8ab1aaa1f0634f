package record

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"
)

const kallsyms = `ffffffff81000000 T srso_alias_untrain_ret
ffffffff81000000 T _stext
ffffffff81000080 T entry_SYSCALL_64
ffffffff810000f0 t __pfx_vfs_read
ffffffff81000100 T vfs_read
ffffffff81000200 D some_data
ffffffff81000300 D more_data
ffffffff81000300 W weak_function
ffffffffc09d5000 t nvme_queue_rq	[nvme]
ffffffffc09d5100 t cleanup	[nvme]
ffffffffc09d6100 t cleanup	[nvme_core]
ffffffffc0201000 t ftrace_trampoline	[__builtin__ftrace]
`

func parsed(t *testing.T, text string) *KernelSymbols {
	t.Helper()
	k, err := ParseKernelSymbols(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKernelNames(t *testing.T) {
	k := parsed(t, kallsyms)
	for _, c := range []struct {
		address      uint64
		name, module string
	}{
		{0xffffffff80ffffff, "", ""},
		{0xffffffff81000000, "srso_alias_untrain_ret", ""},
		{0xffffffff8100007f, "srso_alias_untrain_ret", ""},
		{0xffffffff81000080, "entry_SYSCALL_64", ""},
		{0xffffffff810000f8, "entry_SYSCALL_64", ""},
		{0xffffffff81000100, "vfs_read", ""},
		{0xffffffff810001ff, "vfs_read", ""},
		{0xffffffff81000200, "", ""},
		{0xffffffff81000300, "weak_function", ""},
		{0xffffffffc0201000, "ftrace_trampoline", "__builtin__ftrace"},
		{0xffffffffc09d50ff, "nvme_queue_rq", "nvme"},
		{0xffffffffffffffff, "cleanup", "nvme_core"},
	} {
		name, module, ok := k.Name(c.address)
		if name != c.name || module != c.module || ok != (c.name != "") {
			t.Errorf("%x: %q in %q, %v; want %q in %q", c.address, name, module, ok, c.name, c.module)
		}
	}
}

func TestModules(t *testing.T) {
	k := parsed(t, kallsyms)
	got := k.Modules(map[string]bool{"vfs_read": true, "cleanup": true, "nowhere": true, "nvme_queue_rq": true,
		"": true})
	if !maps.Equal(got, map[string]string{"cleanup": "nvme", "nvme_queue_rq": "nvme"}) {
		t.Error(got)
	}
}

func TestNoKernel(t *testing.T) {
	var k *KernelSymbols
	if _, _, ok := k.Name(1); ok || len(k.Modules(map[string]bool{"a": true})) != 0 {
		t.Error("a table that could not be read has names")
	}
}

func TestKernelRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "shows 0 for all addresses",
		"0000000000000000 T _text\n":        "shows 0 for all addresses",
		"ffffffff81000000 T\n":              "is no address, type and name",
		"xyz T _text\n":                     "the address in",
		"ffffffff81000000 TT _text\n":       "is no address, type and name",
		"1 t " + strings.Repeat("x", 70000): "token too long",
	} {
		_, err := ParseKernelSymbols(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

func TestMissingSymbols(t *testing.T) {
	if m := missingSymbols(ErrHidden); m.What != "kernel symbols" || !strings.Contains(m.Why, "kptr_restrict") ||
		!strings.Contains(m.Hint, "root") {
		t.Errorf("%+v", m)
	}
	_, err := ReadKernelSymbols(t.TempDir())
	if m := missingSymbols(err); !errors.Is(err, os.ErrNotExist) || !strings.Contains(m.Hint, "CONFIG_KALLSYMS") {
		t.Errorf("%v: %+v", err, m)
	}
}

func FuzzParseKernel(f *testing.F) {
	f.Add([]byte(kallsyms), uint64(0xffffffff81000100))
	f.Add([]byte("0 T a\n"), uint64(0))
	f.Fuzz(func(t *testing.T, text []byte, address uint64) {
		k, err := ParseKernelSymbols(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		if name, _, ok := k.Name(address); ok == (name == "") {
			t.Errorf("%x is %q, %v", address, name, ok)
		}
		for _, of := range k.functions {
			if name, _, _ := k.Name(of.address); name != k.name(of) {
				t.Errorf("%x is %q, want %q", of.address, name, k.name(of))
			}
		}
	})
}
