// Package kconfig parses the configurations that kernels were built with, and compares them.
package kconfig

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
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

// Rename is an option that was renamed without a change of meaning.
type Rename struct {
	Old, New string
	// Since is the first kernel with the new name.
	Since string
	// Commit is the change in the kernel's history, if it is known for certain; for a series, its merge.
	Commit string
}

// Renames is the list of renamed options, the newest first. Options whose meaning changed with the name are not
// included, with one exception: STACKLEAK became KSTACK_ERASE when it stopped being a plugin of one compiler; its
// effect is the same.
func Renames() []Rename {
	// "x86/bugs: Rename CONFIG_… => CONFIG_MITIGATION_…", ten commits, merged for 6.9.
	const mitigations = "685d98211273f60e38a6d361b62d7016c545297e"
	return []Rename{
		{Old: "CFI_CLANG", New: "CFI", Since: "6.18"},
		{Old: "GCC_PLUGIN_STACKLEAK", New: "KSTACK_ERASE", Since: "6.17"},
		{Old: "STACKLEAK_TRACK_MIN_SIZE", New: "KSTACK_ERASE_TRACK_MIN_SIZE", Since: "6.17"},
		{Old: "STACKLEAK_METRICS", New: "KSTACK_ERASE_METRICS", Since: "6.17"},
		{Old: "STACKLEAK_RUNTIME_DISABLE", New: "KSTACK_ERASE_RUNTIME_DISABLE", Since: "6.17"},
		{Old: "CALL_DEPTH_TRACKING", New: "MITIGATION_CALL_DEPTH_TRACKING", Since: "6.9", Commit: mitigations},
		{Old: "CPU_IBPB_ENTRY", New: "MITIGATION_IBPB_ENTRY", Since: "6.9", Commit: mitigations},
		{Old: "CPU_IBRS_ENTRY", New: "MITIGATION_IBRS_ENTRY", Since: "6.9", Commit: mitigations},
		{Old: "CPU_SRSO", New: "MITIGATION_SRSO", Since: "6.9", Commit: mitigations},
		{Old: "CPU_UNRET_ENTRY", New: "MITIGATION_UNRET_ENTRY", Since: "6.9", Commit: mitigations},
		{Old: "GDS_FORCE_MITIGATION", New: "MITIGATION_GDS_FORCE", Since: "6.9", Commit: mitigations},
		{Old: "PAGE_TABLE_ISOLATION", New: "MITIGATION_PAGE_TABLE_ISOLATION", Since: "6.9", Commit: mitigations},
		{Old: "RETHUNK", New: "MITIGATION_RETHUNK", Since: "6.9", Commit: mitigations},
		{Old: "RETPOLINE", New: "MITIGATION_RETPOLINE", Since: "6.9", Commit: mitigations},
		{Old: "SLS", New: "MITIGATION_SLS", Since: "6.9", Commit: mitigations},
		{Old: "SPECTRE_BHI_ON", New: "MITIGATION_SPECTRE_BHI", Since: "6.9"},
		{Old: "SPECULATION_MITIGATIONS", New: "CPU_MITIGATIONS", Since: "6.9"},
		{Old: "ARCH_WANT_HUGETLB_PAGE_OPTIMIZE_VMEMMAP", New: "ARCH_WANT_OPTIMIZE_HUGETLB_VMEMMAP", Since: "6.5"},
		{Old: "CONTEXT_TRACKING_FORCE", New: "CONTEXT_TRACKING_USER_FORCE", Since: "6.0"},
		{Old: "HUGETLB_PAGE_FREE_VMEMMAP", New: "HUGETLB_PAGE_OPTIMIZE_VMEMMAP", Since: "5.19"},
		{Old: "HUGETLB_PAGE_FREE_VMEMMAP_DEFAULT_ON", New: "HUGETLB_PAGE_OPTIMIZE_VMEMMAP_DEFAULT_ON", Since: "5.19"},
		{Old: "X86_X32", New: "X86_X32_ABI", Since: "5.18"},
		{Old: "CC_STACKPROTECTOR", New: "STACKPROTECTOR", Since: "4.18"},
		{Old: "CC_STACKPROTECTOR_STRONG", New: "STACKPROTECTOR_STRONG", Since: "4.18"},
		{Old: "FRAME_POINTER_UNWINDER", New: "UNWINDER_FRAME_POINTER", Since: "4.15"},
		{Old: "ORC_UNWINDER", New: "UNWINDER_ORC", Since: "4.15"},
		{Old: "GUESS_UNWINDER", New: "UNWINDER_GUESS", Since: "4.15"},
		{Old: "DEBUG_RODATA", New: "STRICT_KERNEL_RWX", Since: "4.11"},
		{Old: "DEBUG_SET_MODULE_RONX", New: "STRICT_MODULE_RWX", Since: "4.11"},
	}
}

// Pair gives options that were renamed between the two kernels one name, the new one, so that Compare treats them as
// one. Options with the same name on both sides are unchanged. An old name next to the new one with the same value is a
// leftover that no kernel reads, and is removed. The map has the previous name of each name that was given; a and b are
// not changed.
func Pair(a, b Config) (Config, Config, map[string]string) {
	pairedA, pairedB := maps.Clone(a), maps.Clone(b)
	before := map[string]string{}
	// The oldest rename first, so that an option that was renamed twice gets its newest name.
	all := Renames()
	for i := len(all) - 1; i >= 0; i-- {
		r := all[i]
		pairedA.dropLeftover(r)
		pairedB.dropLeftover(r)
		if pairedA.rename(r, pairedB) || pairedB.rename(r, pairedA) {
			before[r.New] = r.Old
		}
	}
	return pairedA, pairedB, before
}

// dropLeftover removes an option's old name from a configuration that also has the new one with the same value.
func (c Config) dropLeftover(r Rename) {
	if value, in := c[r.New]; in && c[r.Old] == value {
		delete(c, r.Old)
	}
}

// rename gives an option its new name if c has only the old one and the other side only the new one.
func (c Config) rename(r Rename, other Config) bool {
	value, in := c[r.Old]
	_, already := c[r.New]
	_, otherOld := other[r.Old]
	_, otherNew := other[r.New]
	if !in || already || otherOld || !otherNew {
		return false
	}
	delete(c, r.Old)
	c[r.New] = value
	return true
}

// Change is an option that has different values in two configurations.
type Change struct {
	Option string
	// A and B are the values; "n" if a configuration does not mention the option.
	A, B string
	// InA and InB report whether the configuration mentions it. If not, its kernel does not have the option, or a
	// dependency of the option is off.
	InA, InB bool
}

// Compare lists the options that differ, by name. An option that is not mentioned is "n", so "not set" on one side and
// not mentioned on the other is no difference; "m" and "y" are different. Names are compared unchanged; call Pair
// before for options that were renamed between the two kernels.
func Compare(a, b Config) []Change {
	var found []Change
	for name, value := range a {
		if other, in := b.value(name); value != other {
			found = append(found, Change{Option: name, A: value, B: other, InA: true, InB: in})
		}
	}
	for name, value := range b {
		if _, in := a[name]; !in && value != "n" {
			found = append(found, Change{Option: name, A: "n", B: value, InB: true})
		}
	}
	slices.SortFunc(found, func(x, y Change) int { return strings.Compare(x.Option, y.Option) })
	return found
}

func (c Config) value(name string) (value string, in bool) {
	if value, in = c[name]; in {
		return value, true
	}
	return "n", false
}

// Diffconfig writes the difference in the format of the kernel's scripts/diffconfig: options that only a has, that
// changed, and that only b has, each by name. With merge it writes the lines that turn configuration a into b, like
// diffconfig -m.
//
//	-SLUB_CPU_PARTIAL y
//	 PREEMPT_NONE y -> n
//	+MITIGATION_ITS y
//
// Unlike Compare, the script distinguishes "not set" from not mentioned. A Config has no quotes; they are added again
// around every value that is not a number, hexadecimal number, y, m or n, so a string that is only a number loses its
// quotes.
//
// Source: the kernel's scripts/diffconfig.
func Diffconfig(w io.Writer, a, b Config, merge bool) error {
	out := bufio.NewWriter(w)
	line := func(format, mergeName, mergeValue string, args ...any) {
		switch {
		case !merge:
			fmt.Fprintf(out, format+"\n", args...)
		case mergeValue == "n":
			fmt.Fprintf(out, "# CONFIG_%s is not set\n", mergeName)
		case mergeValue != "":
			fmt.Fprintf(out, "CONFIG_%s=%s\n", mergeName, mergeValue)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if _, in := b[name]; !in {
			line("-%s %s", name, "", name, quote(a[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if other, in := b[name]; in && a[name] != other {
			line(" %s %s -> %s", name, quote(other), name, quote(a[name]), quote(other))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if _, in := a[name]; !in {
			line("+%s %s", name, quote(b[name]), name, quote(b[name]))
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the difference of two configurations: %w", err)
	}
	return nil
}

// Line returns a line of a configuration with an option. An option that is known to be text always has quotes.
func Line(option, value string, text bool) string {
	switch {
	case text:
		return "CONFIG_" + option + "=" + quoted(value)
	case value == "n":
		return "# CONFIG_" + option + " is not set"
	}
	return "CONFIG_" + option + "=" + quote(value)
}

// quote formats a value for a configuration.
func quote(value string) string {
	if value == "y" || value == "m" || value == "n" || isNumber(value) {
		return value
	}
	return quoted(value)
}

func quoted(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

func isNumber(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		return hex != "" && strings.Trim(hex, "0123456789abcdefABCDEF") == ""
	}
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}
