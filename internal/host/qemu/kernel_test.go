package qemu

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/headroom/headroom/internal/lab"
)

// bzImage returns the parts of a kernel's file that headroom reads: the header, a version and a payload.
func bzImage(payload []byte) []byte {
	image := make([]byte, 1024)
	image[atSetupSectors] = 1
	copy(image[atMagic:], "HdrS")
	binary.LittleEndian.PutUint16(image[atVersion:], 0x20f)
	binary.LittleEndian.PutUint16(image[atKernelVersion:], 0x100)
	copy(image[0x300:], "6.1.0-50-amd64 (debian-kernel@lists.debian.org) #1 SMP\x00")
	binary.LittleEndian.PutUint32(image[atPayload:], 16)
	binary.LittleEndian.PutUint32(image[atPayload+4:], uint32(len(payload)))
	return append(append(image, make([]byte, 16)...), payload...)
}

// vmlinux returns the magic number of an ELF file and the note with the entry point.
func vmlinux() []byte {
	return append([]byte("\x7fELF"+strings.Repeat("code ", 1000)), 4, 0, 0, 0, 8, 0, 0, 0, 18, 0, 0, 0, 'X', 'e', 'n',
		0)
}

func TestUnpacked(t *testing.T) {
	size := []byte{1, 2, 3, 4} // the unpacked size after the stream, as the kernel's build appends it
	var gz, zst, not bytes.Buffer
	g, n := gzip.NewWriter(&gz), gzip.NewWriter(&not)
	z, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	for _, write := range []func() error{
		func() error { _, err := g.Write(vmlinux()); return err }, g.Close,
		func() error { _, err := z.Write(vmlinux()); return err }, z.Close,
		func() error { _, err := n.Write([]byte("\x7fELF without the note")); return err }, n.Close,
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	for name, packed := range map[string][]byte{"gzip": gz.Bytes(), "zstd": zst.Bytes()} {
		got, err := Unpacked(t.Context(), bzImage(append(packed, size...)))
		if err != nil || !bytes.Equal(got, vmlinux()) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	for name, c := range map[string]struct {
		image []byte
		want  string
	}{
		"no kernel":       {[]byte("#!/bin/sh\n"), "no header of a bzImage"},
		"without PVH":     {bzImage(append(not.Bytes(), size...)), "without CONFIG_PVH"},
		"another packing": {bzImage([]byte("BZh91AY&SY")), "a way that headroom does not read"},
		"cut off":         {bzImage(gz.Bytes())[:1060], "behind the end of the file"},
	} {
		if _, err := Unpacked(t.Context(), c.image); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// A kernel is found by any of the names that users have for it.
func TestFindKernel(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"package/boot/vmlinuz-6.1.0-50-amd64", "package/lib/modules/6.1.0-50-amd64/modules.dep",
		"usr/boot/vmlinuz-6.1.0-50-amd64",
		"usr/usr/lib/modules/6.1.0-50-amd64/modules.dep", "tree/arch/x86/boot/bzImage", "two/boot/vmlinuz-1",
		"two/boot/vmlinuz-2", "empty/boot/config", "alone/bzImage"} {
		path := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bzImage(nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]kernel{
		"package": {"package/boot/vmlinuz-6.1.0-50-amd64",
			"package/lib/modules/6.1.0-50-amd64"},
		"package/boot/vmlinuz-6.1.0-50-amd64": {"package/boot/vmlinuz-6.1.0-50-amd64",
			"package/lib/modules/6.1.0-50-amd64"},
		"usr":                        {"usr/boot/vmlinuz-6.1.0-50-amd64", "usr/usr/lib/modules/6.1.0-50-amd64"},
		"tree":                       {"tree/arch/x86/boot/bzImage", "tree"},
		"tree/arch/x86/boot/bzImage": {"tree/arch/x86/boot/bzImage", "tree"},
	} {
		got, err := findKernel(t.Context(), filepath.Join(dir, name), dir)
		if want.image, want.modules = filepath.Join(dir, want.image), filepath.Join(dir, want.modules); got != want ||
			err != nil {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		filepath.Join(dir, "two"):               "has 2 kernels",
		filepath.Join(dir, "empty"):             "has 0 kernels",
		filepath.Join(dir, "empty/boot/config"): "",
		"0.0.0-none":                            "no kernel 0.0.0-none is installed",
		"/nowhere":                              "no kernel /nowhere",
	} {
		if k, err := findKernel(t.Context(), name, dir); want != "" &&
			(err == nil || !strings.Contains(err.Error(), want) || lab.KindOf(err) != lab.Usage) {
			t.Errorf("%s: %+v, %v, want %q", name, k, err, want)
		}
	}
}

func FuzzKernel(f *testing.F) {
	f.Add(bzImage([]byte{0x1f, 0x8b, 8}))
	f.Add(bzImage([]byte{0x28, 0xb5, 0x2f, 0xfd}))
	f.Add([]byte("HdrS"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if release, err := releaseOf(data); err == nil && (release == "" || strings.ContainsRune(release, '/')) {
			t.Errorf("a release %q", release)
		}
		if len(data) < 1<<16 {
			_, _ = Unpacked(t.Context(), data)
		}
	})
}
