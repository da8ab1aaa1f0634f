package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/profile"
)

// ErrHidden means that /proc/kallsyms has names, but 0 for all addresses.
var ErrHidden = errors.New("/proc/kallsyms shows 0 for all addresses (kernel.kptr_restrict, or no CAP_SYSLOG)")

// KernelSymbols is the kernel's functions by address, including those of its modules and of BPF programs.
type KernelSymbols struct {
	functions []function
	names     []byte
	modules   []string // the first is "", the kernel itself
}

// function is kept small: a kernel has 60,000 or more. One without a name marks the beginning of other data.
type function struct {
	address uint64
	name    uint32 // where it begins in names
	length  uint16
	module  uint16
}

// ReadKernelSymbols reads the kernel's functions from a proc file system, "/proc".
func ReadKernelSymbols(proc string) (*KernelSymbols, error) {
	f, err := os.Open(filepath.Join(proc, "kallsyms"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ParseKernelSymbols(f)
}

// missingSymbols describes an error of ReadKernel.
func missingSymbols(err error) profile.Missing {
	m := profile.Missing{What: "kernel symbols", Why: err.Error(),
		Hint: "sysctl kernel.kptr_restrict=1, and run as root (CAP_SYSLOG)"}
	if errors.Is(err, os.ErrNotExist) {
		m.Hint = "a kernel with CONFIG_KALLSYMS, as distributions have it"
	}
	return m
}

// ParseKernelSymbols parses /proc/kallsyms: address, type, name, and the module in brackets.
//
//	ffffffff81000080 T entry_SYSCALL_64
//	ffffffffc0201000 t ftrace_trampoline	[__builtin__ftrace]
//	ffffffffc09d5000 t nvme_queue_rq	[nvme]
//
// Of several names of one address it keeps the first, like the kernel when it prints one. Names that begin with __pfx_
// belong to the empty space before a function, which is never executed.
func ParseKernelSymbols(r io.Reader) (*KernelSymbols, error) {
	k := &KernelSymbols{modules: []string{""}}
	known := map[string]uint16{"": 0}
	shown := false
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		address, kind, name, module, err := kernelLine(lines.Bytes())
		if err != nil {
			return nil, err
		}
		shown = shown || address != 0
		if bytes.HasPrefix(name, []byte("__pfx_")) || len(name) > 1<<15 {
			continue
		}
		f := function{address: address, name: uint32(len(k.names))}
		if strings.IndexByte("tTwW", kind) >= 0 {
			f.length, f.module = uint16(len(name)), k.module(known, string(module))
			k.names = append(k.names, name...)
		}
		k.functions = append(k.functions, f)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("/proc/kallsyms: %w", err)
	}
	if !shown {
		return nil, ErrHidden
	}
	k.sort()
	return k, nil
}

// kernelLine parses one line.
func kernelLine(line []byte) (address uint64, kind byte, name, module []byte, err error) {
	fields := bytes.Fields(line)
	if len(fields) < 3 || len(fields[1]) != 1 {
		return 0, 0, nil, nil, fmt.Errorf("/proc/kallsyms: %.80q is no address, type and name", line)
	}
	if address, err = strconv.ParseUint(string(fields[0]), 16, 64); err != nil {
		return 0, 0, nil, nil, fmt.Errorf("/proc/kallsyms: the address in %.80q: %w", line, err)
	}
	if len(fields) > 3 {
		module = bytes.Trim(fields[3], "[]")
	}
	return address, fields[1][0], fields[2], module, nil
}

// module returns the number of a module. Beyond 65,535, which no kernel has, all are one without a name.
func (k *KernelSymbols) module(known map[string]uint16, name string) uint16 {
	n, ok := known[name]
	if !ok && len(k.modules) < 1<<16 {
		n = uint16(len(k.modules))
		known[name] = n
		k.modules = append(k.modules, name)
	}
	return n
}

// sort orders functions by address and keeps one for each: the first that has a name.
func (k *KernelSymbols) sort() {
	slices.SortStableFunc(k.functions, func(a, b function) int {
		switch {
		case a.address < b.address:
			return -1
		case a.address > b.address:
			return 1
		case a.length == 0 && b.length > 0:
			return 1
		case a.length > 0 && b.length == 0:
			return -1
		}
		return 0
	})
	k.functions = slices.CompactFunc(k.functions, func(a, b function) bool { return a.address == b.address })
	k.functions = slices.Clip(k.functions)
	k.names = slices.Clip(k.names)
}

// Name returns the function at an address, with its module, which is empty for the kernel itself. It returns false if
// there is none.
func (k *KernelSymbols) Name(address uint64) (name, module string, ok bool) {
	if k == nil {
		return "", "", false
	}
	at, found := slices.BinarySearchFunc(k.functions, address, func(f function, a uint64) int {
		switch {
		case f.address < a:
			return -1
		case f.address > a:
			return 1
		}
		return 0
	})
	if !found {
		at--
	}
	if at < 0 || k.functions[at].length == 0 {
		return "", "", false
	}
	f := k.functions[at]
	return k.name(f), k.modules[f.module], true
}

func (k *KernelSymbols) name(f function) string {
	return string(k.names[f.name : f.name+uint32(f.length)])
}

// Modules returns the module of each of these functions that is in one. If several modules have functions with the same
// name, it is the one with the lowest address.
func (k *KernelSymbols) Modules(functions map[string]bool) map[string]string {
	in := map[string]string{}
	if k == nil {
		return in
	}
	for _, f := range k.functions {
		name := k.name(f)
		if f.module != 0 && functions[name] && in[name] == "" {
			in[name] = k.modules[f.module]
		}
	}
	return in
}
