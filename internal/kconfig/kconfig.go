// Package kconfig parses the configurations that kernels were built with, and compares them.
package kconfig

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Config is a kernel's configuration: option names without CONFIG_, and their values without the quotes of strings:
// "y", "m", "n", "128", "0xffff", "some text". An option that the file calls "not set" is "n"; one that it does not
// mention is absent: its kernel does not have it, or a dependency of it is off.
type Config map[string]string

// The largest kernels have some 20,000 options in about 600 KiB. Anything beyond these limits is not a configuration,
// and is refused before it fills the memory.
const (
	maxBytes = 16 << 20
	maxLine  = 64 << 10
)

// Parse parses a .config file.
//
//	CONFIG_IOMMU_DEFAULT_DMA_STRICT=y
//	# CONFIG_IOMMU_DEFAULT_DMA_LAZY is not set
//	CONFIG_CC_VERSION_TEXT="gcc (GCC) 13.2.0"
//
// In a string, \" is a quote and \\ is a backslash. A last line that was cut off inside a string is ignored. If an
// option occurs twice the last one is used, like in the kernel's own tools.
//
// Source: the kernel's Documentation/kbuild/kconfig.rst and scripts/kconfig/confdata.c.
func Parse(r io.Reader) (Config, error) {
	c := Config{}
	limited := &io.LimitedReader{R: r, N: maxBytes + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if name, value, ok := parseLine(lines.Text()); ok {
			c[name] = value
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("this is no kernel configuration: a line is longer than %d bytes", maxLine)
	case err != nil:
		return nil, fmt.Errorf("can't read the kernel configuration: %w", err)
	case limited.N <= 0:
		return nil, fmt.Errorf("this is no kernel configuration: it is larger than %d MiB", maxBytes>>20)
	case len(c) == 0:
		return nil, errors.New("this is no kernel configuration: no line begins with CONFIG_")
	}
	return c, nil
}

func parseLine(line string) (name, value string, ok bool) {
	line = strings.TrimSpace(line)
	if rest, found := strings.CutPrefix(line, "# CONFIG_"); found {
		name, ok = strings.CutSuffix(rest, " is not set")
		return name, "n", ok && isName(name)
	}
	rest, found := strings.CutPrefix(line, "CONFIG_")
	if !found {
		return "", "", false
	}
	name, value, found = strings.Cut(rest, "=")
	if !found || !isName(name) {
		return "", "", false
	}
	if strings.HasPrefix(value, `"`) {
		value, ok = unquote(value)
		return name, value, ok
	}
	return name, value, value != ""
}

func isName(s string) bool {
	if s == "" {
		return false
	}
	for _, c := range []byte(s) {
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// unquote returns a string up to its closing quote; text after that is ignored, like in the kernel's own parser.
func unquote(s string) (string, bool) {
	var text strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return text.String(), true
		case '\\':
			if i++; i == len(s) {
				return "", false
			}
		}
		text.WriteByte(s[i])
	}
	return "", false
}

// Header returns the architecture and the release from the comment at the top of a configuration: "x86" and "6.1.176".
// Both are empty if there is no such comment, as in a fragment.
//
//	#
//	# Automatically generated file; DO NOT EDIT.
//	# Linux/x86 6.1.176 Kernel Configuration
//
// Source: the kernel's scripts/kconfig/confdata.c (conf_write_heading) and Kconfig's mainmenu.
func Header(text []byte) (arch, release string) {
	for range 8 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		words, ok := bytes.CutSuffix(bytes.TrimSpace(line), []byte(" Kernel Configuration"))
		if words, found := bytes.CutPrefix(words, []byte("# Linux/")); ok && found {
			name, version, _ := strings.Cut(string(words), " ")
			return name, version
		}
	}
	return "", ""
}

// leastWhole is less than the number of options in any complete configuration: the smallest kernels have some thousand.
const leastWhole = 500

// Whole reports whether a configuration is complete, so that an option that it does not mention is off: it mentions
// options of the first menu and of the last, "Kernel hacking". Source: the kernel's init/Kconfig and lib/Kconfig.debug.
//
//	CONFIG_LOCALVERSION=""
//	# CONFIG_DEBUG_KERNEL is not set
//	CONFIG_RUNTIME_TESTING_MENU=y
func (c Config) Whole() bool {
	mentions := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { _, in := c[n]; return in })
	}
	return len(c) >= leastWhole && mentions("LOCALVERSION") && mentions("RUNTIME_TESTING_MENU", "MEMTEST",
		"ARCH_USE_MEMTEST", "TEST_KSTRTOX", "STRICT_DEVMEM", "EARLY_PRINTK")
}
