package kconfig

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

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
