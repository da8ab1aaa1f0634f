package qemu

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// entries parses an archive like the kernel: name, mode in octal, contents.
func entries(t *testing.T, archive []byte) []string {
	t.Helper()
	number := func(field int) int {
		n, err := strconv.ParseInt(string(archive[6+8*field:14+8*field]), 16, 64)
		if err != nil || string(archive[:6]) != "070701" {
			t.Fatalf("not the head of a file: %q", archive[:110])
		}
		return int(n)
	}
	padded := func(n int) int { return (n + 3) &^ 3 }
	if len(archive)%pageSize != 0 {
		t.Errorf("%d bytes are not whole pages", len(archive))
	}
	var all []string
	for archive = bytes.TrimLeft(archive, "\x00"); len(archive) > 0; archive = bytes.TrimLeft(archive, "\x00") {
		mode, size, nameSize := number(1), number(6), number(11)
		name := string(archive[110 : 110+nameSize-1])
		begin := padded(110 + nameSize)
		if name != "TRAILER!!!" {
			all = append(all, fmt.Sprintf("%s %o %s", name, mode, archive[begin:begin+size]))
		}
		archive = archive[padded(begin+size):]
	}
	return all
}

func TestArchive(t *testing.T) {
	a := NewArchive()
	a.File("usr/bin/tool", 0o755, []byte("first"))
	a.File("usr/bin/tool", 0o644, []byte("second"))
	a.Folder("usr")
	a.Link("bin/sh", "/usr/bin/tool")
	a.File("empty", 0o600, nil)
	b := NewArchive()
	b.File("etc/key", 0o600, []byte("xyz"))
	got := entries(t, append(a.Bytes(), b.Bytes()...))
	want := []string{"usr 40755 ", "usr/bin 40755 ", "usr/bin/tool 100755 first", "bin 40755 ",
		"bin/sh 120777 /usr/bin/tool", "empty 100600 ",
		"etc 40755 ", "etc/key 100600 xyz"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// moduleEntry returns an ELF file with only the sections .modinfo and .shstrtab.
func moduleEntry(t *testing.T, info string) []byte {
	t.Helper()
	names := "\x00.modinfo\x00.shstrtab\x00"
	var b bytes.Buffer
	header := elf.Header64{Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: 64,
		Shentsize: 64, Shnum: 3, Shstrndx: 2,
		Shoff: uint64(64 + len(info) + len(names))}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	sections := []elf.Section64{{},
		{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: 64, Size: uint64(len(info))},
		{Name: 10, Type: uint32(elf.SHT_STRTAB), Off: uint64(64 + len(info)), Size: uint64(len(names))}}
	for _, part := range []any{header, []byte(info), []byte(names), sections} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestModulesInOrder(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var gz, zst bytes.Buffer
	g := gzip.NewWriter(&gz)
	z, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		to interface {
			Write([]byte) (int, error)
			Close() error
		}
		info string
	}{{g, "license=GPL\x00depends=\x00"}, {z, "depends=t10-pi\x00"}} {
		if _, err := w.to.Write(moduleEntry(t, w.info)); err != nil {
			t.Fatal(err)
		}
		if err := w.to.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("kernel/drivers/nvme/nvme.ko", moduleEntry(t, "depends=nvme-core,t10-pi\x00license=GPL\x00"))
	write("kernel/drivers/nvme/nvme-core.ko.zst", zst.Bytes())
	write("kernel/block/t10-pi.ko.gz", gz.Bytes())
	write("kernel/fs/ext4.ko", moduleEntry(t, "softdep=pre: crc32c post: never\x00depends=mbcache\x00"))
	write("kernel/crypto/crc32c-soft.ko", moduleEntry(t, "alias=crypto-crc32c\x00alias=crc32c\x00depends=\x00"))
	write("kernel/lib/never.ko", moduleEntry(t, "alias=crc32c\x00depends=\x00"))
	write("modules.builtin", []byte("kernel/drivers/virtio/virtio-ring.ko\nkernel/fs/mbcache.ko\n"))
	m, err := FindModules(dir)
	if err != nil {
		t.Fatal(err)
	}
	order, err := m.InOrder(t.Context(), "ext4", "virtio_ring", "nvme", "nvme-core")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range order {
		names = append(names, o.Name)
	}
	if got, want := strings.Join(names, " "), "crc32c_soft ext4 t10_pi nvme_core nvme"; got != want {
		t.Errorf("the order is %s, want %s", got, want)
	}
	if _, err := m.InOrder(t.Context(), "nvme", "zfs", "btrfs"); err == nil ||
		!strings.Contains(err.Error(), "no module zfs, btrfs") {
		t.Errorf("modules that are not there: %v", err)
	}
}

// FuzzNeeds checks that no module file, whoever made it, crashes headroom.
func FuzzNeeds(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Add([]byte{})
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = needsOf(data) })
}

func TestProgramWithoutLibraries(t *testing.T) {
	script := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	a := NewArchive()
	if err := a.Programs(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, a.Bytes()); !slices.Contains(got, strings.TrimPrefix(script, "/")+" 100700 #!/bin/sh\n") {
		t.Errorf("the archive holds %q", got)
	}
	if err := a.Programs(t.Context(), "no-such-program-anywhere"); err == nil {
		t.Error("a program that is not there is no error")
	}
}
