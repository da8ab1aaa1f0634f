package diff

import (
	"slices"
	"strings"
)

// cmdline is the boot arguments of one side.
type cmdline struct {
	known bool
	order []string
	// values of each argument, in order; "on" for one without a value.
	values map[string][]string
}

// parseCmdline splits boot arguments. Quotes keep spaces together; arguments after a lone -- are for init.
//
//	BOOT_IMAGE=/boot/vmlinuz-6.1.0-50-amd64 root=UUID=1f2e ro quiet iommu.strict=0 dyndbg="file drivers/usb/* +p"
//
// Source: the kernel's lib/cmdline.c (next_arg) and kernel/params.c (dash2underscore).
func parseCmdline(text string) cmdline {
	c := cmdline{known: true, values: map[string][]string{}}
	for _, word := range splitQuoted(text) {
		if word == "--" {
			break
		}
		name, value := splitArgument(word)
		if _, seen := c.values[name]; !seen {
			c.order = append(c.order, name)
		}
		c.values[name] = append(c.values[name], value)
	}
	return c
}

func splitQuoted(text string) []string {
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && (r == ' ' || r == '\t' || r == '\n')
	})
}

// splitArgument reads "name=value"; an argument without a value is "on".
func splitArgument(word string) (name, value string) {
	word = strings.ReplaceAll(word, `"`, "")
	name, value, found := strings.Cut(word, "=")
	if !found {
		value = "on"
	}
	return argumentName(name), value
}

// argumentName makes dashes and underscores equal, as the kernel does.
func argumentName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// lastCounts reports whether the kernel uses the last of several values of an argument. For other arguments each value
// adds something: console=tty0 console=ttyS0, intel_iommu=on intel_iommu=strict.
func (k *Knowledge) lastCounts(name string) bool {
	switch name {
	case "console", "crashkernel", "earlyprintk", "hugepages", "iommu", "intel_iommu", "amd_iommu", "pci",
		"swiotlb", "libata.force",
		"ima_policy", "initrd", "mem", "cgroup_disable":
		return false
	}
	return k.named(argumentKind, name) || len(k.linked[name]) > 0
}

// value returns an argument's effective value: the last one, or all values as a sorted set if they accumulate, or "" if
// the argument is not given.
func (c cmdline) value(name string, lastCounts bool) string {
	if n := len(c.values[name]); n > 0 && lastCounts {
		return c.values[name][n-1]
	}
	values := slices.Clone(c.values[name])
	slices.Sort(values)
	return strings.Join(slices.Compact(values), ", ")
}

// wide is the number of options from which an argument (mitigations=off) is listed in place of them. Otherwise an
// option is listed in place of the argument.
const wide = 3

// arguments compares the boot arguments one by one.
func (c *comparison) arguments() {
	a, b := c.a.cmdline, c.b.cmdline
	if !a.known || !b.known {
		c.compareUnknown(cmdlineKey)
		return
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.order, b.order)))) {
		last := c.lastCounts(name)
		valueA, valueB := a.value(name, last), b.value(name, last)
		if valueA == valueB {
			continue
		}
		e := c.lookup(argumentKind, name)
		if e.Weight == 0 {
			continue
		}
		c.counts.Arguments++
		d := &candidate{Difference: Difference{Kind: argumentKind, Fact: cmdlinePrefix + name, Name: name, A: valueA,
			B: valueB}, entry: e}
		d.Weight, d.Slower = e.weigh(valueA, valueB)
		c.linkArgument(d)
		c.addCandidate(d)
	}
}

// linkArgument weighs an argument by the options that it overrides, if the builds are known: it matters as much as the
// option that it changes most.
func (c *comparison) linkArgument(d *candidate) {
	linked := c.linked[d.Name]
	if len(linked) == 0 {
		return
	}
	if len(c.a.config) == 0 || len(c.b.config) == 0 {
		c.linkUnbuilt(d)
		return
	}
	var heaviest *entry
	known, weight, slower := false, 0.0, ""
	for _, e := range linked {
		builtA, inA := c.a.config[e.Option]
		builtB, inB := c.b.config[e.Option]
		if e.Option == "" || !inA && !inB {
			continue
		}
		known = true
		effectiveA, _ := c.effective(e, orN(builtA), inA, c.a)
		effectiveB, _ := c.effective(e, orN(builtB), inB, c.b)
		if effectiveA == effectiveB {
			continue
		}
		if w, s := e.weigh(effectiveA, effectiveB); w > weight {
			heaviest, weight, slower = e, w, s
		}
	}
	switch {
	case heaviest != nil:
		if c.named(argumentKind, d.Name) && len(linked) >= wide {
			return
		}
		d.Weight, d.Slower, d.Why, d.Argument = weight, slower, heaviest.Why, heaviest.fastArgument()
		d.Note = "it overrides the build's " + heaviest.Option
		if !c.named(argumentKind, d.Name) {
			d.entry = heaviest
		}
	case known && len(linked) < wide:
		d.Weight, d.Slower = d.entry.Weight*sameInEffect, ""
		d.Note = "with what was built, both sides behave alike"
	}
}

// linkUnbuilt weighs an argument by the options that it overrides if no builds are known: by half if only one side
// gives it, since the other's build may have the same effect.
func (c *comparison) linkUnbuilt(d *candidate) {
	if c.named(argumentKind, d.Name) {
		return // it has its own weight
	}
	for _, e := range c.linked[d.Name] {
		a, givenA := e.resultOf(d.Name, d.A)
		b, givenB := e.resultOf(d.Name, d.B)
		weight, slower := 0.0, ""
		switch {
		case givenA && givenB && a != b:
			weight, slower = e.weigh(a, b)
		case givenA && d.B == "":
			weight, slower = e.weigh(a, opposite(a))
			weight /= 2
		case givenB && d.A == "":
			weight, slower = e.weigh(opposite(b), b)
			weight /= 2
		}
		if weight > d.Weight {
			d.Weight, d.Slower, d.Why, d.Argument, d.entry = weight, slower, e.Why, e.fastArgument(), e
			d.Note = "it overrides the build's " + e.Option + ", which is not known"
		}
	}
}

// resultOf returns the value that an argument with this value gives an option.
func (e *entry) resultOf(argument, value string) (result string, ok bool) {
	for _, o := range e.boot {
		if o.name == argument && o.value == value {
			return o.result, true
		}
	}
	return "", false
}

func opposite(result string) string {
	if on(result) {
		return "n"
	}
	return "y"
}

func orN(value string) string {
	if value == "" {
		return "n"
	}
	return value
}
