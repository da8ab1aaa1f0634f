package qemu

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/headroom/headroom/internal/lab"
)

// kernel is a kernel with its modules.
type kernel struct {
	// image is the bzImage; modules is the folder that contains its modules, empty if it has none.
	image, modules string
}

// findKernel finds the kernel with a name. Package files are unpacked below folder.
func findKernel(ctx context.Context, name, folder string) (kernel, error) {
	if !strings.ContainsRune(name, '/') {
		return installed(name)
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return kernel{}, &lab.Error{Kind: lab.Usage, What: "no kernel " + name, Err: err}
	case info.IsDir():
		return inFolder(name)
	case strings.HasSuffix(name, ".deb"):
		to, err := os.MkdirTemp(folder, "package-")
		if err != nil {
			return kernel{}, err
		}
		argv := []string{"dpkg-deb", "-x", name, to}
		if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return kernel{}, &lab.Error{What: "can't unpack " + name, Command: argv, Output: string(out), Err: err}
		}
		return inFolder(to)
	}
	return image(name)
}

// installed returns a kernel of this machine, by its version.
func installed(version string) (kernel, error) {
	k := kernel{"/boot/vmlinuz-" + version, "/lib/modules/" + version}
	for _, p := range []string{k.image, k.modules} {
		if _, err := os.Stat(p); err != nil {
			all, _ := filepath.Glob("/boot/vmlinuz-*") // the pattern is valid
			hint := "no kernel is installed here; name a package file or a folder"
			if len(all) > 0 {
				hint = "installed are " + strings.ReplaceAll(strings.Join(all, ", "), "/boot/vmlinuz-", "")
			}
			return k, &lab.Error{Kind: lab.Usage, What: "no kernel " + version + " is installed: " + p +
				" is not there", Hints: []string{hint}}
		}
	}
	return k, nil
}

// inFolder finds the kernel of an unpacked package, or of the tree that it was built in.
func inFolder(dir string) (kernel, error) {
	if built := filepath.Join(dir, "arch/x86/boot/bzImage"); exists(built) {
		return kernel{built, dir}, nil
	}
	images, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "boot", "vmlinuz-*"))
	if len(images) != 1 {
		return kernel{}, &lab.Error{Kind: lab.Usage,
			What: fmt.Sprintf("%s has %d kernels boot/vmlinuz-*, and no arch/x86/boot/bzImage", dir, len(images)),
			Hints: []string{"a meta-package has no kernel; take the package that it depends on, " +
				"linux-image-6.1.0-50-amd64"}}
	}
	k := kernel{image: images[0]}
	version := strings.TrimPrefix(filepath.Base(images[0]), "vmlinuz-")
	for _, lib := range []string{"lib", "usr/lib"} {
		if modules := filepath.Join(dir, lib, "modules", version); exists(modules) {
			k.modules = modules
		}
	}
	return k, nil
}

// image returns a bzImage by its path. Its modules are in the tree or folder that contains it, or are the installed
// ones of its version; it has none if its drivers are built in.
func image(path string) (kernel, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return kernel{}, err
	}
	release, err := releaseOf(data)
	if err != nil {
		return kernel{}, &lab.Error{Kind: lab.Usage, What: path + " is no kernel", Err: err}
	}
	dir := filepath.Dir(path)
	if tree, ok := strings.CutSuffix(dir, "/arch/x86/boot"); ok {
		return kernel{path, tree}, nil
	}
	for _, modules := range []string{filepath.Join(dir, "..", "lib/modules", release), "/lib/modules/" + release} {
		if exists(modules) {
			return kernel{path, modules}, nil
		}
	}
	return kernel{image: path}, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// The fields of the header of a bzImage that are read. Source: the kernel's Documentation/arch/x86/boot.rst.
const (
	atSetupSectors  = 0x1f1
	atMagic         = 0x202 // "HdrS"
	atVersion       = 0x206
	atKernelVersion = 0x20e
	atPayload       = 0x248 // offset and length, from protocol 2.8 on
	headerLength    = 0x268
)

// releaseOf returns the kernel's release from the file: "6.1.0-50-amd64 (debian-kernel@…) #1 SMP …".
func releaseOf(bzImage []byte) (string, error) {
	if err := isKernel(bzImage); err != nil {
		return "", err
	}
	at := int(binary.LittleEndian.Uint16(bzImage[atKernelVersion:])) + 0x200
	if at >= len(bzImage) {
		return "", errors.New("its version lies behind its end")
	}
	text, _, _ := bytes.Cut(bzImage[at:], []byte{0})
	release, _, _ := strings.Cut(string(text), " ")
	if release == "" || strings.ContainsRune(release, '/') || len(release) > 128 {
		return "", errors.New("it does not say its version")
	}
	return release, nil
}

func isKernel(bzImage []byte) error {
	if len(bzImage) < headerLength || string(bzImage[atMagic:atMagic+4]) != "HdrS" {
		return errors.New("it has no header of a bzImage")
	}
	return nil
}

// Unpacked returns the ELF file within a bzImage, if it can be started directly. An emulated processor takes half as
// long to unpack a kernel as it then takes to start it, so the host unpacks it. Without the unpacking step, the
// kernel's text stays at the address that it was linked for, so this is for emulation, where rates mean nothing anyway.
func Unpacked(ctx context.Context, bzImage []byte) ([]byte, error) {
	if err := isKernel(bzImage); err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint16(bzImage[atVersion:]) < 0x208 {
		return nil, errors.New("the boot protocol is older than 2.8")
	}
	sectors := int(bzImage[atSetupSectors])
	if sectors == 0 {
		sectors = 4
	}
	begin := uint64(sectors+1)*512 + uint64(binary.LittleEndian.Uint32(bzImage[atPayload:]))
	end := begin + uint64(binary.LittleEndian.Uint32(bzImage[atPayload+4:]))
	if begin >= end || end > uint64(len(bzImage)) {
		return nil, errors.New("the payload lies behind the end of the file")
	}
	elf, err := decompress(ctx, bzImage[begin:end])
	if err != nil {
		return nil, err
	}
	// The note with the entry point (XEN_ELFNOTE_PHYS32_ENTRY) exists with CONFIG_PVH=y.
	note := []byte{4, 0, 0, 0, 4, 0, 0, 0, 18, 0, 0, 0, 'X', 'e', 'n', 0}
	note8 := []byte{4, 0, 0, 0, 8, 0, 0, 0, 18, 0, 0, 0, 'X', 'e', 'n', 0}
	if !bytes.HasPrefix(elf, []byte("\x7fELF")) || !bytes.Contains(elf, note) && !bytes.Contains(elf, note8) {
		return nil, errors.New("it was built without CONFIG_PVH")
	}
	return elf, nil
}

// maxKernel in bytes, unpacked; a kernel with all of its options built in has 200 MB.
const maxKernel = 1 << 30

// decompress unpacks the payload. It ends with the unpacked size in four bytes after the compressed data, so data after
// the compressed stream is ignored.
func decompress(ctx context.Context, payload []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(payload, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(bytes.NewReader(payload))
		if err != nil {
			return nil, err
		}
		z.Multistream(false)
		return io.ReadAll(io.LimitReader(z, maxKernel))
	case bytes.HasPrefix(payload, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(bytes.NewReader(payload[:len(payload)-4]), zstd.WithDecoderMaxMemory(maxKernel),
			zstd.WithDecoderMaxWindow(maxKernel/2))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		return io.ReadAll(io.LimitReader(z, maxKernel))
	case bytes.HasPrefix(payload, []byte("\xfd7zXZ")):
		xz := exec.CommandContext(ctx, "xz", "-dc", "--single-stream", "-qq")
		xz.Stdin = bytes.NewReader(payload)
		var out bytes.Buffer
		xz.Stdout = &out
		if err := xz.Run(); err != nil && out.Len() == 0 {
			return nil, fmt.Errorf("xz: %w", err)
		}
		return out.Bytes(), nil
	}
	return nil, errors.New("it is compressed in a way that headroom does not read")
}
