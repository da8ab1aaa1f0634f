package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const mapsOfCat = `561a24851000-561a24853000 r--p 00000000 fe:00 247026                     /usr/bin/cat
561a24853000-561a24858000 r-xp 00002000 fe:00 247026                     /usr/bin/cat
561a3946d000-561a3948e000 rw-p 00000000 00:00 0                          [heap]
7f109cab0000-7f109cc06000 r-xp 00026000 fe:00 326269                     /usr/lib/x86_64-linux-gnu/libc.so.6
7f109cc06000-7f109cc07000 r-xp 00000000 00:00 0 
7f109cc07000-7f109cc08000 r-xp 00000000 00:01 2051                       /memfd:a b (deleted)
7ffd5a9f2000-7ffd5a9f4000 r-xp 00000000 00:00 0                          [vdso]
`

func TestParseMaps(t *testing.T) {
	all, err := parseMaps(strings.NewReader(mapsOfCat))
	if err != nil || len(all) != 5 {
		t.Fatalf("%+v: %v", all, err)
	}
	if got, want := fmt.Sprintf("%x", all[1]),
		"{7f109cab0000 7f109cc06000 26000 66653a3030 4fa7d "; !strings.HasPrefix(got,
		want) {
		t.Errorf("%s, want %s", got, want)
	}
	for i, want := range []string{"cat", "libc", "anonymous", "memfd_a_b", "vdso"} {
		if got := all[i].title(); got != want {
			t.Errorf("%+v is called %q, want %q", all[i], got, want)
		}
	}
	for _, bad := range []string{"1-2 r-xp 0 0:0", "12 r-xp 0 0:0 0", "1-g r-xp 0 0:0 0", "1-2 r-xp 0 0:0 x",
		"1-2 r-xp - 0:0 1"} {
		if all, err := parseMaps(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read as %+v", bad, all)
		}
	}
}

func TestTitles(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin/fio": "fio", "/opt/fio-3.41 (deleted)": "fio-3.41", "/lib/libc-2.31.so": "libc",
		"/usr/lib/libaio.so.1.0.1": "libaio", "/x/libstdc++.so.6": "libstdc++", "/.so": ".so", "[vsyscall]": "vsyscall",
		"/a;b: c": "a_b__c",
	} {
		if got := (mapping{path: path}).title(); got != want {
			t.Errorf("%s is called %q, want %q", path, got, want)
		}
	}
}

// Symbols have the address in the file, not the offset; lld makes these differ.
func TestSegments(t *testing.T) {
	p := &program{segments: []segment{{0, 0x1000, 0}, {0x1000, 0x2000, 0x5000}},
		functions: []sized{{0x5000, 0x10, "read"}, {0x5000, 0x10, "__read"}, {0x5000, 0x10, "__libc_read"},
			{0x5000, 0x10, "_read"}, {0x5020, 0, "assembler"}, {0x5100, 8, "last"}}}
	p.sort()
	for offset, want := range map[uint64]string{0xfff: "", 0x1000: "read", 0x100f: "read", 0x1010: "",
		0x1020: "assembler",
		0x10ff: "assembler", 0x1107: "last", 0x1108: "", 0x3000: ""} {
		if got := p.name(offset); got != want {
			t.Errorf("%x is %q, want %q", offset, got, want)
		}
	}
}

// named returns the name of an address like a caller that resolves samples.
func named(p *ProcessSymbols, pid int, address uint64) (string, bool) {
	at, ok := p.Find(pid, address)
	if !ok {
		return "", false
	}
	return at.Name(), true
}

// A process that does not exist has no names, and the mappings of one are read again, but not for each address.
func TestProcessesAreReadAgain(t *testing.T) {
	proc, now := t.TempDir(), time.Unix(0, 0)
	p := NewProcessSymbols(proc)
	p.now = func() time.Time { return now }
	if name, ok := named(p, 7, 0x7f109cab0000); ok {
		t.Errorf("no process, and %s", name)
	}
	if err := os.Mkdir(filepath.Join(proc, "7"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(proc, "7", "maps"), []byte(mapsOfCat), 0o644); err != nil {
		t.Fatal(err)
	}
	if name, ok := named(p, 7, 0x7f109cab0000); ok {
		t.Errorf("read again at once: %s", name)
	}
	now = now.Add(again)
	if name, ok := named(p, 7, 0x7f109cab0000); !ok || name != "libc:?" {
		t.Errorf("%q, %v", name, ok)
	}
	if name, ok := named(p, 7, 0x7f109cc06000); !ok || name != "anonymous:?" {
		t.Errorf("%q, %v", name, ok)
	}
	p.Forget(7)
	if len(p.processes) != 0 {
		t.Error("not forgotten")
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add(mapsOfCat)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parseMaps(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, m := range all {
			if strings.ContainsAny(m.title(), "; :\n\t") {
				t.Errorf("%+v is called %q", m, m.title())
			}
		}
	})
}
