package kbuild

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/kconfig"
	"github.com/headroom/headroom/internal/lab"
)

// Between has two configurations of one tree, and their differences.
type Between struct {
	tree *Tree
	// Good and Bad are the two ends as the tree completes them.
	Good, Bad kconfig.Config
	// Groups of the options that can be chosen and differ. Each can be switched alone in either end; a group is named
	// after its first option.
	Groups [][]string
	// Follows are options that differ and can't be chosen: in every mixture the tree gives them the value that follows
	// from the others. Several groups may change the same one, and are not joined for that.
	Follows []string
	// common has the lines that both ends share.
	common []byte
}

// Mixed is a configuration between two.
type Mixed struct {
	Config kconfig.Config
	// Refused are options of the groups that did not get the requested value.
	Refused []string
}

// Between completes two configurations and groups the differences. Options that are known to follow from others are
// passed as groups, each beginning with the option that the rest follows from; an option in none of them is a separate
// group. Then the tree is queried for options that can't be switched alone, and these are joined with the options that
// they need or take along. Options that are determined by the compiler and can't be chosen are omitted.
//
// It takes two queries of a second or so for each group; say reports how many are answered, and of how many.
func (t *Tree) Between(ctx context.Context, good, bad []byte, known [][]string, say func(done, of int)) (*Between,
	error) {
	var b *Between
	err := t.locked(ctx, func() (err error) {
		if b, err = t.ends(ctx, good, bad); err != nil {
			return err
		}
		left := map[string]bool{}
		for _, c := range kconfig.Compare(b.Good, b.Bad) {
			left[c.Option] = !found(c.Option)
		}
		options, ties := initial(left, known)
		b.Groups = options
		b.findCommon()
		if err := b.close(ctx, ties, say); err != nil {
			return err
		}
		return b.check(ctx)
	})
	return b, err
}

// Regroup is Between with the groups that it found before, and the options that follow from them.
func (t *Tree) Regroup(ctx context.Context, good, bad []byte, groups [][]string, follows []string) (*Between, error) {
	var b *Between
	err := t.locked(ctx, func() (err error) {
		if b, err = t.ends(ctx, good, bad); err != nil {
			return err
		}
		b.Groups, b.Follows = groups, follows
		b.findCommon()
		return b.check(ctx)
	})
	return b, err
}

func (t *Tree) ends(ctx context.Context, good, bad []byte) (*Between, error) {
	g, err := t.complete(ctx, good)
	if err != nil {
		return nil, err
	}
	b, err := t.complete(ctx, bad)
	return &Between{tree: t, Good: g.config, Bad: b.config}, err
}

// initial returns groups of one option each: first those that are known to lead or to follow, in their order, then the
// rest. leaders has for each known option the index of its leader; the rest have none.
func initial(left map[string]bool, known [][]string) (groups [][]string, leaders []int) {
	left = maps.Clone(left)
	for _, g := range known {
		leader := len(groups)
		for _, option := range g {
			if left[option] {
				groups, leaders = append(groups, []string{option}), append(leaders, leader)
				left[option] = false
			}
		}
	}
	for _, option := range slices.Sorted(maps.Keys(left)) {
		if left[option] {
			groups, leaders = append(groups, []string{option}), append(leaders, -1)
		}
	}
	return groups, leaders
}

// found reports whether an option is determined by the compiler or similar tools. CC_OPTIMIZE_FOR_SIZE and
// LD_DEAD_CODE_DATA_ELIMINATION are not: they can be chosen. Source: the kernel's init/Kconfig,
// arch/x86/Kconfig.assembler.
func found(option string) bool {
	for _, prefix := range []string{"CC_HAS_", "CC_IS_", "CC_CAN_", "AS_", "LD_IS_", "LD_CAN_"} {
		if strings.HasPrefix(option, prefix) {
			return true
		}
	}
	switch option {
	case "CC_VERSION_TEXT", "GCC_VERSION", "CLANG_VERSION", "LD_VERSION", "LLD_VERSION", "PAHOLE_VERSION",
		"RUST_IS_AVAILABLE", "RUSTC_VERSION", "RUSTC_VERSION_TEXT", "BINDGEN_VERSION_TEXT",
		"TOOLS_SUPPORT_RELR":
		return true
	}
	return false
}

// findCommon collects the lines that both ends have.
func (b *Between) findCommon() {
	grouped := map[string]bool{}
	for _, g := range append(slices.Clone(b.Groups), b.Follows) {
		for _, option := range g {
			grouped[option] = true
		}
	}
	// An option that only one end mentions, as not set, depends on an option that only this end has.
	all := maps.Clone(b.Bad)
	maps.Copy(all, b.Good)
	var text bytes.Buffer
	for _, option := range slices.Sorted(maps.Keys(all)) {
		if !grouped[option] {
			text.WriteString(b.tree.line(option, all[option]))
		}
	}
	b.common = text.Bytes()
}

// Mix combines the switched groups from the bad configuration with the other groups from the good one.
func (b *Between) Mix(ctx context.Context, switched []bool) (Mixed, error) {
	var m Mixed
	err := b.tree.locked(ctx, func() (err error) {
		m, err = b.mix(ctx, switched, -1)
		return err
	})
	return m, err
}

// mix combines groups; one of them can be placed last, which matters if only one of several options can be on.
func (b *Between) mix(ctx context.Context, switched []bool, last int) (Mixed, error) {
	if len(switched) != len(b.Groups) {
		return Mixed{}, fmt.Errorf("%d switches for %d groups", len(switched), len(b.Groups))
	}
	text := bytes.NewBuffer(slices.Clone(b.common))
	for i := range b.Groups {
		if i != last {
			text.WriteString(b.lines(i, switched[i]))
		}
	}
	if last >= 0 {
		text.WriteString(b.lines(last, switched[last]))
	}
	s, err := b.tree.complete(ctx, text.Bytes())
	if err != nil {
		return Mixed{}, err
	}
	m := Mixed{Config: s.config}
	for i, on := range switched {
		m.Refused = append(m.Refused, b.differ(s.config, i, on)...)
	}
	return m, nil
}

// end returns the good configuration or the bad one.
func (b *Between) end(bad bool) kconfig.Config {
	if bad {
		return b.Bad
	}
	return b.Good
}

// lines returns the lines of a group in one end.
func (b *Between) lines(group int, bad bool) string {
	var text strings.Builder
	for _, option := range b.Groups[group] {
		value, in := b.end(bad)[option]
		other, inOther := b.end(!bad)[option]
		switch {
		case in:
			text.WriteString(b.tree.line(option, value))
		case inOther && (other == "y" || other == "m"):
			text.WriteString(b.tree.line(option, "n")) // not omitted, or it would get its default
		}
	}
	return text.String()
}

// differ returns the options of a group that differ between a configuration and an end.
func (b *Between) differ(c kconfig.Config, group int, bad bool) []string {
	var options []string
	for _, option := range b.Groups[group] {
		if value(c, option) != value(b.end(bad), option) {
			options = append(options, option)
		}
	}
	return options
}

func value(c kconfig.Config, option string) string {
	if v, in := c[option]; in {
		return v
	}
	return "n"
}

// check verifies that the two ends are reproduced from their groups.
func (b *Between) check(ctx context.Context) error {
	for _, bad := range []bool{false, true} {
		m, err := b.mix(ctx, slices.Repeat([]bool{bad}, len(b.Groups)), -1)
		if err != nil {
			return err
		}
		var differ []string
		for _, c := range kconfig.Compare(b.end(bad), m.Config) {
			if !found(c.Option) {
				differ = append(differ, fmt.Sprintf("%s (%s, not %s)", c.Option, c.B, c.A))
			}
		}
		if len(differ) > 0 {
			return &lab.Error{What: fmt.Sprintf("the %s configuration can't be put together again from the options "+
				"that differ: %s", map[bool]string{false: "good", true: "bad"}[bad],
				strings.Join(differ[:min(len(differ), 5)], ", "))}
		}
	}
	return nil
}
