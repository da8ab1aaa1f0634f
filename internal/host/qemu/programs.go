package qemu

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Programs adds programs of this machine, by name or by path, with the libraries that the loader loads for them.
func (a *Archive) Programs(ctx context.Context, programs ...string) error {
	for _, p := range programs {
		files, err := withLibraries(ctx, p)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := a.Copy(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// FindProgram returns the path of a program of this machine. It also searches the folders of system tools, which a
// plain user's PATH lacks on Debian.
func FindProgram(program string) (string, error) {
	file, err := exec.LookPath(program)
	if err == nil || strings.ContainsRune(program, '/') {
		return file, err
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if file, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return file, nil
		}
	}
	return "", err
}

// withLibraries returns a program and the libraries that the loader would load for it.
//
//	linux-vdso.so.1 (0x00007ffd5a9f2000)
//	libudev.so.1 => /lib/x86_64-linux-gnu/libudev.so.1 (0x00007f3a1c1d5000)
//	/lib64/ld-linux-x86-64.so.2 (0x00007f3a1c3f8000)
func withLibraries(ctx context.Context, program string) ([]string, error) {
	file, err := FindProgram(program)
	if err != nil {
		return nil, err
	}
	if file, err = filepath.Abs(file); err != nil {
		return nil, err
	}
	if static, err := isStatic(file); err != nil || static {
		return []string{file}, err
	}
	var stderr bytes.Buffer
	ldd := exec.CommandContext(ctx, "ldd", file)
	ldd.Stderr = &stderr
	out, err := ldd.Output()
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w %s", file, err, bytes.TrimSpace(stderr.Bytes()))
	}
	all := []string{file}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "=> not found") {
			return nil, fmt.Errorf("%s needs a library that is not there: %s", file, strings.TrimSpace(line))
		}
		for field := range strings.FieldsSeq(line) {
			if strings.HasPrefix(field, "/") {
				all = append(all, field)
			}
		}
	}
	return all, nil
}

// isStatic reports whether a program needs no loader; ldd fails on such programs. A script needs none either.
func isStatic(file string) (bool, error) {
	data, err := os.ReadFile(file)
	if err != nil || !bytes.HasPrefix(data, []byte(elf.ELFMAG)) {
		return true, err
	}
	e, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	return !slices.ContainsFunc(e.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }), nil
}
