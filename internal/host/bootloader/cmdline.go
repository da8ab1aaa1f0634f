package bootloader

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// maxBytes is the length of boot arguments that every kernel accepts: COMMAND_LINE_SIZE of x86 and arm64, minus the
// final zero. The kernel silently truncates a longer line.
const maxBytes = 2047

// argument is one boot argument as the kernel parses it, without quotes.
type argument struct {
	name, value string
	// valued is set if there is an equals sign.
	valued bool
}

// cmdline is a line of boot arguments: those of the kernel, and those after a lone --, which are for init.
type cmdline struct {
	kernel []argument
	init   []argument
}

// parseCmdline parses boot arguments. A double quote keeps spaces together, around the whole argument or around its
// value; there is no other quoting and no escape. GRUB quotes a value with spaces, but not one with other blanks.
func parseCmdline(text string) (cmdline, error) {
	var c cmdline
	toInit := false
	words, closed := host.SplitArguments(text)
	if !closed {
		return cmdline{}, fmt.Errorf("a quote is not closed in the boot arguments %s", strings.TrimSpace(text))
	}
	for _, word := range words {
		if word == "--" && !toInit {
			toInit = true
			continue
		}
		a, err := parseArgument(word)
		if err != nil {
			return cmdline{}, err
		}
		if toInit {
			c.init = append(c.init, a)
		} else {
			c.kernel = append(c.kernel, a)
		}
	}
	return c, nil
}

func parseArgument(word string) (argument, error) {
	if whole, ok := strings.CutPrefix(word, `"`); ok {
		word = strings.TrimSuffix(whole, `"`)
	}
	var a argument
	a.name, a.value, a.valued = strings.Cut(word, "=")
	if value, ok := strings.CutPrefix(a.value, `"`); ok {
		a.value = strings.TrimSuffix(value, `"`)
	}
	if strings.Contains(a.text(), `"`) || strings.ContainsAny(a.text(), "\x00\t\r\n\v\f") || a.name == "" ||
		strings.Contains(a.name, " ") {
		return argument{}, fmt.Errorf("%q is no boot argument that every loader hands on unchanged", word)
	}
	return a, nil
}

// text returns the argument without quotes.
func (a argument) text() string {
	if !a.valued {
		return a.name
	}
	return a.name + "=" + a.value
}

// String returns the argument as the kernel parses it, in quotes if needed.
func (a argument) String() string {
	if strings.Contains(a.value, " ") {
		return a.name + `="` + a.value + `"`
	}
	return a.text()
}

// is reports whether the argument has this name, or this name and value if name contains "=". In names the kernel
// treats dashes as underscores.
func (a argument) is(name string) bool {
	name, value, valued := strings.Cut(name, "=")
	return strings.ReplaceAll(a.name, "-", "_") == strings.ReplaceAll(name, "-", "_") &&
		(!valued || a.valued && a.value == value)
}

func (c cmdline) String() string {
	words := make([]string, 0, len(c.kernel)+len(c.init)+1)
	for _, a := range c.kernel {
		words = append(words, a.String())
	}
	if len(c.init) > 0 {
		words = append(words, "--")
	}
	for _, a := range c.init {
		words = append(words, a.String())
	}
	return strings.Join(words, " ")
}

// loaders are the arguments that boot loaders add, and so would add again.
func loaders() []string { return []string{"BOOT_IMAGE", "initrd"} }

// own returns the command line without the arguments of boot loaders.
func (c cmdline) own() cmdline {
	return cmdline{kernel: slices.DeleteFunc(slices.Clone(c.kernel), func(a argument) bool {
		return slices.ContainsFunc(loaders(), func(l string) bool { return a.name == l })
	}), init: c.init}
}

// with returns the command line changed according to the spec. Added arguments are last, because the kernel uses the
// last of several.
func (c cmdline) with(spec host.BootSpec) (cmdline, error) {
	wanted := cmdline{init: c.init}
	for _, a := range c.kernel {
		if !slices.ContainsFunc(spec.Without, a.is) {
			wanted.kernel = append(wanted.kernel, a)
		}
	}
	for _, word := range spec.Arguments {
		added, err := parseCmdline(word)
		if err == nil && (len(added.kernel) != 1 || len(added.init) > 0) {
			err = fmt.Errorf("%q is not one boot argument; put the value in double quotes if it has spaces", word)
		}
		if err != nil {
			return cmdline{}, &lab.Error{Kind: lab.Usage, What: "can't boot with this argument", Err: err}
		}
		wanted.kernel = append(wanted.kernel, added.kernel...)
	}
	if n := len(wanted.String()); n > maxBytes {
		return cmdline{}, &lab.Error{Kind: lab.Refused,
			What: fmt.Sprintf("the boot arguments are %d bytes long, and a kernel takes %d", n, maxBytes)}
	}
	return wanted, nil
}

// missing returns the arguments of the spec that this command line lacks, and those that should have been removed.
func (c cmdline) missing(spec host.BootSpec) (lacks, keeps []string) {
	for _, word := range spec.Arguments {
		added, err := parseCmdline(word)
		if err != nil || len(added.kernel) == 0 || !slices.Contains(c.kernel, added.kernel[0]) {
			lacks = append(lacks, word)
		}
	}
	for _, name := range spec.Without {
		for _, a := range c.kernel {
			if a.is(name) && !slices.Contains(spec.Arguments, a.text()) &&
				!slices.Contains(spec.Arguments, a.String()) {
				keeps = append(keeps, a.String())
			}
		}
	}
	return lacks, keeps
}

// value returns the value of the last argument with this name.
func (c cmdline) value(name string) (string, bool) {
	for _, a := range slices.Backward(c.kernel) {
		if a.name == name {
			return a.value, true
		}
	}
	return "", false
}
