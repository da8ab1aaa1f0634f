package kconfig

import "maps"

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
