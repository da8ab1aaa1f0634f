package qemu

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Modules are the modules of one kernel.
type Modules struct {
	dir string
	// files by the module's name, with dashes replaced by underscores.
	files map[string]string
	// builtIn are the modules built into the kernel; nil when that is unknown.
	builtIn map[string]bool
}

// FindModules searches a folder for modules: lib/modules/VERSION, or the tree that a kernel was built in. Both have a
// list of the built-in modules:
//
//	kernel/arch/x86/events/amd/amd-uncore.ko
//	kernel/fs/binfmt_script.ko
//	kernel/drivers/virtio/virtio.ko
func FindModules(dir string) (Modules, error) {
	m := Modules{dir: dir, files: map[string]string{}}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base, compression, ok := strings.Cut(d.Name(), ".ko")
		if ok && !d.IsDir() && slices.Contains([]string{"", ".xz", ".zst", ".gz"}, compression) {
			m.files[moduleName(base)] = p
		}
		return nil
	})
	if err != nil {
		return m, err
	}
	list, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	m.builtIn = map[string]bool{}
	for line := range strings.Lines(string(list)) {
		m.builtIn[moduleName(strings.TrimSuffix(filepath.Base(strings.TrimSpace(line)), ".ko"))] = true
	}
	return m, err
}

func moduleName(s string) string { return strings.ReplaceAll(s, "-", "_") }

// Module is a kernel module, unpacked.
type Module struct {
	Name string
	Data []byte
}

// Missing returns the names that are neither modules nor built in. It returns none if the built-in modules are unknown.
func (m Modules) Missing(names ...string) []string {
	var missing []string
	for _, n := range names {
		if m.files[moduleName(n)] == "" && m.builtIn != nil && !m.builtIn[moduleName(n)] {
			missing = append(missing, n)
		}
	}
	return missing
}

// InOrder reads modules and their dependencies, dependencies first. Built-in modules need no file and are omitted.
func (m Modules) InOrder(ctx context.Context, names ...string) ([]Module, error) {
	if missing := m.Missing(names...); len(missing) > 0 {
		return nil, fmt.Errorf("%s has no module %s", m.dir, strings.Join(missing, ", "))
	}
	var order []Module
	seen := map[string]bool{}
	var visit func(string) error
	visit = func(name string) error {
		name = moduleName(name)
		if seen[name] {
			return nil
		}
		seen[name] = true
		file := m.files[name]
		if file == "" {
			behind, err := m.ciphers(ctx, name)
			for _, b := range behind {
				if err = visit(b); err != nil {
					break
				}
			}
			return err
		}
		data, err := readModule(ctx, file)
		if err != nil {
			return err
		}
		needs, err := needsOf(data)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, n := range needs {
			if err := visit(n); err != nil {
				return err
			}
		}
		order = append(order, Module{Name: name, Data: data})
		return nil
	}
	for _, n := range names {
		if err := visit(n); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// ciphers returns the modules that implement an algorithm, which other modules need by its name: ext4 needs crc32c. A
// module declares it by an alias in its section .modinfo ("alias=crc32c"). The table of aliases, modules.alias, is
// created when a package is installed, and missing if the package was only unpacked.
func (m Modules) ciphers(ctx context.Context, algorithm string) ([]string, error) {
	if m.builtIn[algorithm] {
		return nil, nil
	}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if !strings.Contains(m.files[name], "/crypto/") {
			continue
		}
		data, err := readModule(ctx, m.files[name])
		if err != nil {
			return nil, err
		}
		info, err := infoOf(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.files[name], err)
		}
		if slices.ContainsFunc(info, func(e string) bool {
			a, ok := strings.CutPrefix(e, "alias=")
			return ok && moduleName(a) == algorithm
		}) {
			found = append(found, name)
		}
	}
	return found, nil
}

// needsOf returns the dependencies of a module. They are in its section .modinfo, as entries that end with a zero byte:
//
//	depends=nvme-core,t10-pi
//	softdep=pre: crc32c
//	license=GPL
func needsOf(module []byte) ([]string, error) {
	info, err := infoOf(module)
	var needs []string
	for _, entry := range info {
		if list, ok := strings.CutPrefix(entry, "depends="); ok && list != "" {
			needs = append(needs, strings.Split(list, ",")...)
		}
		if list, ok := strings.CutPrefix(entry, "softdep="); ok {
			before, _, _ := strings.Cut(list, "post:")
			needs = append(needs, strings.Fields(strings.TrimPrefix(before, "pre:"))...)
		}
	}
	return needs, err
}

func infoOf(module []byte) ([]string, error) {
	e, err := elf.NewFile(bytes.NewReader(module))
	if err != nil {
		return nil, err
	}
	section := e.Section(".modinfo")
	if section == nil {
		return nil, errors.New("it has no section .modinfo, so it is no kernel module")
	}
	info, err := section.Data()
	return strings.Split(string(info), "\x00"), err
}

func readModule(ctx context.Context, file string) ([]byte, error) {
	switch filepath.Ext(file) {
	case ".xz":
		out, err := exec.CommandContext(ctx, "xz", "-dc", file).Output()
		if err != nil {
			return nil, fmt.Errorf("xz -dc %s: %w", file, err)
		}
		return out, nil
	case ".zst", ".gz":
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return unpack(filepath.Ext(file), bufio.NewReader(f))
	default:
		return os.ReadFile(file)
	}
}

func unpack(compression string, r io.Reader) ([]byte, error) {
	if compression == ".gz" {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(z)
	}
	z, err := zstd.NewReader(r)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return io.ReadAll(z)
}
