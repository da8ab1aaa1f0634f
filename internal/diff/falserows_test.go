package diff

import (
	"strings"
	"testing"
)

// build makes a configuration of a few lines: its release, options that are on or off ("-NAME"), and NAME=VALUE.
func build(t *testing.T, release, options string) Side {
	t.Helper()
	var b strings.Builder
	if release != "" {
		b.WriteString("#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 " + release +
			" Kernel Configuration\n#\n")
	}
	for _, o := range append(strings.Fields(options), "X86_64") {
		if off, ok := strings.CutPrefix(o, "-"); ok {
			b.WriteString("# CONFIG_" + off + " is not set\n")
		} else if strings.Contains(o, "=") {
			b.WriteString("CONFIG_" + o + "\n")
		} else {
			b.WriteString("CONFIG_" + o + "=y\n")
		}
	}
	s, err := Decode("build", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// claim is the expected result for one option of two builds. Among the claims are former errors of facts diff, found
// between published kernels.
type claim struct {
	name               string
	releaseA, a        string
	releaseB, b        string
	option, slower     string
	light              bool // its weight is close to zero
	argument, note     string
	follows, notListed string
}

func claims() []claim {
	return []claim{
		{name: "removed, and the work stayed", releaseA: "6.15.11", a: "X86_5LEVEL", releaseB: "6.16.4",
			option: "X86_5LEVEL", light: true, note: "kernels from 6.16 on"},
		{name: "the older kernel is B", releaseA: "6.18.4", releaseB: "6.12.1", b: "X86_5LEVEL",
			option: "X86_5LEVEL", light: true, note: "kernels from 6.16 on"},
		{name: "a distribution removed it before", releaseA: "5.15.0-144-generic", a: "UBSAN UBSAN_SANITIZE_ALL",
			releaseB: "6.8.0-52-generic", b: "UBSAN", option: "UBSAN_SANITIZE_ALL", light: true,
			note: "like kernels from 6.9 on"},
		{name: "a distribution removed what is always on now", releaseA: "6.12.0-144.el10", releaseB: "6.12.43",
			b: "SCHED_DEBUG", option: "SCHED_DEBUG", light: true, note: "like kernels from 6.15 on"},
		{name: "a check was gone already, or is off", releaseA: "6.1.129", a: "DEBUG_CREDENTIALS",
			releaseB: "6.6.72", option: "DEBUG_CREDENTIALS", slower: "a", note: "what it depends on is off"},
		{name: "a part of a sanitizer that is off", releaseA: "5.4.0-204-generic", a: "-UBSAN UBSAN_ALIGNMENT",
			releaseB: "5.15.0-144-generic", b: "UBSAN -UBSAN_ALIGNMENT", option: "UBSAN_ALIGNMENT", light: true},
		{name: "a number of a sanitizer that is off", releaseA: "5.4.0-204-generic", a: "-KASAN KASAN_STACK=1",
			releaseB: "5.15.0-144-generic", b: "-KASAN", option: "KASAN_STACK", light: true},
		{name: "pages can be unmapped, and are not", a: "DEBUG_PAGEALLOC -DEBUG_PAGEALLOC_ENABLE_DEFAULT",
			b: "-DEBUG_PAGEALLOC", option: "DEBUG_PAGEALLOC", light: true},
		{name: "pages are unmapped", a: "DEBUG_PAGEALLOC DEBUG_PAGEALLOC_ENABLE_DEFAULT",
			b: "-DEBUG_PAGEALLOC", option: "DEBUG_PAGEALLOC_ENABLE_DEFAULT", slower: "a"},
		{name: "calls to other CPUs can be watched, and are not", a: "CSD_LOCK_WAIT_DEBUG -CSD_LOCK_WAIT_DEBUG_DEFAULT",
			b: "-CSD_LOCK_WAIT_DEBUG", option: "CSD_LOCK_WAIT_DEBUG", light: true},
		{name: "checks that the compiler leaves out", a: "UBSAN UBSAN_SIGNED_WRAP", b: "UBSAN -UBSAN_SIGNED_WRAP",
			option: "UBSAN_SIGNED_WRAP", light: true},
		{name: "a security module that is built, and not asked", a: "SECURITY_TOMOYO LSM=\"yama,selinux\"",
			b: "-SECURITY_TOMOYO LSM=\"yama,selinux\"", option: "SECURITY_TOMOYO", light: true,
			note: "LSM does not name tomoyo"},
		{name: "a security module that is asked", a: "SECURITY_SELINUX LSM=\"yama,selinux\"",
			b: "-SECURITY_SELINUX LSM=\"yama,selinux\"", option: "SECURITY_SELINUX", slower: "a"},
		{name: "nothing is made to fail", a: "FAULT_INJECTION -FAILSLAB", b: "-FAULT_INJECTION",
			option: "FAULT_INJECTION", light: true},
		{name: "a disk without a driver is not slow", a: "-VIRTIO_BLK", b: "VIRTIO_BLK", option: "VIRTIO_BLK",
			light: true},
		{name: "what follows from a bus", releaseA: "6.12.0-144.el10", releaseB: "6.12.43", b: "BLK_MQ_PCI",
			option: "BLK_MQ_PCI", light: true},
		{name: "another option stands for it", releaseA: "6.12.1", a: "CRYPTO_CRC32C_INTEL=m", releaseB: "6.18.4",
			b: "CRC32_ARCH", option: "CRYPTO_CRC32C_INTEL", light: true, note: "CRC32_ARCH"},
		{name: "nothing says what stands for it", releaseA: "6.12.1", a: "CRYPTO_CRC32C_INTEL=m", releaseB: "6.18.4",
			option: "CRYPTO_CRC32C_INTEL", light: true, note: undecided},
		{name: "off in the older kernel, always in the newer", releaseA: "6.12.1", a: "-CRYPTO_CRC32C_INTEL",
			releaseB: "6.18.4", b: "CRC32_ARCH", option: "CRYPTO_CRC32C_INTEL", slower: "a"},
		{name: "removed for something else", releaseA: "6.18.3", a: "SLUB_CPU_PARTIAL", releaseB: "7.2.0",
			option: "SLUB_CPU_PARTIAL", light: true, note: undecided},
		{name: "only a pattern knows it", releaseA: "6.18.3", a: "CRYPTO_DES3_EDE_X86_64=m", releaseB: "7.2.0",
			option: "CRYPTO_DES3_EDE_X86_64", light: true, note: undecided},
		{name: "it was on before there was an option", releaseA: "6.12.1", a: "HARDENED_USERCOPY", releaseB: "6.18.3",
			b: "HARDENED_USERCOPY HARDENED_USERCOPY_DEFAULT_ON", option: "HARDENED_USERCOPY_DEFAULT_ON", light: true},
		{name: "it was on before, and is off now", releaseA: "6.12.1", a: "HARDENED_USERCOPY", releaseB: "6.18.3",
			b: "HARDENED_USERCOPY -HARDENED_USERCOPY_DEFAULT_ON", option: "HARDENED_USERCOPY_DEFAULT_ON", slower: "a"},
		{name: "a kernel that was looked through has it off", releaseA: "6.12.1", a: "KASAN", releaseB: "6.18.3",
			option: "KASAN", slower: "a"},
		{name: "a kernel newer than those", releaseA: "6.12.1", a: "INIT_ON_FREE_DEFAULT_ON", releaseB: "9.9.1",
			option: "INIT_ON_FREE_DEFAULT_ON", light: true, note: undecided},
		{name: "a fragment", a: "INIT_ON_FREE_DEFAULT_ON", option: "INIT_ON_FREE_DEFAULT_ON", light: true,
			note: undecided},
		{name: "the option that it follows from is off", a: "DEBUG_OBJECTS DEBUG_OBJECTS_WORK", b: "-DEBUG_OBJECTS",
			option: "DEBUG_OBJECTS", slower: "a", follows: "DEBUG_OBJECTS_WORK"},
		{name: "a distribution's option", releaseA: "6.12.1",
			a: "INTEL_IOMMU_DEFAULT_ON_INTGPU_OFF -INTEL_IOMMU_DEFAULT_ON", releaseB: "6.18.3",
			b: "INTEL_IOMMU_DEFAULT_ON", option: "INTEL_IOMMU_DEFAULT_ON", light: true},
		{name: "lazy and passthrough",
			a:      "IOMMU_DEFAULT_DMA_LAZY -IOMMU_DEFAULT_PASSTHROUGH -IOMMU_DEFAULT_DMA_STRICT",
			b:      "-IOMMU_DEFAULT_DMA_LAZY IOMMU_DEFAULT_PASSTHROUGH -IOMMU_DEFAULT_DMA_STRICT",
			option: "IOMMU_DEFAULT_DMA_LAZY", slower: "a", light: true, argument: "iommu.passthrough=1",
			follows: "IOMMU_DEFAULT_PASSTHROUGH"},
		{name: "passthrough and strict",
			a:      "-IOMMU_DEFAULT_DMA_LAZY IOMMU_DEFAULT_PASSTHROUGH -IOMMU_DEFAULT_DMA_STRICT",
			b:      "-IOMMU_DEFAULT_DMA_LAZY -IOMMU_DEFAULT_PASSTHROUGH IOMMU_DEFAULT_DMA_STRICT",
			option: "IOMMU_DEFAULT_DMA_STRICT", slower: "b", argument: "iommu.passthrough=1"},
		{name: "lazy is off, and nothing says what is on", a: "IOMMU_DEFAULT_DMA_LAZY", b: "-IOMMU_DEFAULT_DMA_LAZY",
			option: "IOMMU_DEFAULT_DMA_LAZY", light: true},
		{name: "lazy and full preemption", releaseA: "6.18.1", a: "PREEMPT_LAZY -PREEMPT", releaseB: "6.18.1",
			b: "-PREEMPT_LAZY PREEMPT", option: "PREEMPT", slower: "b", light: true, follows: "PREEMPT_LAZY"},
		{name: "no and lazy preemption", a: "PREEMPT_NONE -PREEMPT_LAZY", b: "-PREEMPT_NONE PREEMPT_LAZY",
			option: "PREEMPT_LAZY", slower: "b"},
		{name: "an argument only where the kernel takes it", a: "PREEMPT_NONE -PREEMPT",
			b: "-PREEMPT_NONE PREEMPT PREEMPT_DYNAMIC", option: "PREEMPT", slower: "b", argument: "preempt=none"},
		{name: "from 7.0 on there is no preempt=none", releaseA: "7.1.0", a: "PREEMPT_NONE -PREEMPT",
			releaseB: "7.1.0", b: "-PREEMPT_NONE PREEMPT PREEMPT_DYNAMIC ARCH_HAS_PREEMPT_LAZY", option: "PREEMPT",
			slower: "b"},
		{name: "no argument undoes PREEMPT_RT", a: "PREEMPT_RT PREEMPT_DYNAMIC -PREEMPT_NONE",
			b:      "-PREEMPT_RT PREEMPT_NONE",
			option: "PREEMPT_RT", slower: "a"},
		{name: "what follows from preemption stands below it", releaseA: "6.12.1", a: "PREEMPT_NONE -PREEMPT",
			releaseB: "6.12.1", b: "-PREEMPT_NONE PREEMPT PREEMPTION DEBUG_PREEMPT", option: "PREEMPT", slower: "b",
			follows: "DEBUG_PREEMPT", note: "DEBUG_PREEMPT"},
		{name: "from choosing it at boot, too", releaseA: "6.12.1", a: "PREEMPT_NONE -PREEMPT_DYNAMIC",
			releaseB: "6.12.1", b: "PREEMPT_NONE PREEMPT_DYNAMIC PREEMPTION DEBUG_PREEMPT",
			option: "PREEMPT_DYNAMIC", slower: "b",
			follows: "DEBUG_PREEMPT"},
		{name: "-O3 is not small code", a: "CC_OPTIMIZE_FOR_PERFORMANCE -CC_OPTIMIZE_FOR_SIZE",
			b:      "-CC_OPTIMIZE_FOR_PERFORMANCE CC_OPTIMIZE_FOR_PERFORMANCE_O3 -CC_OPTIMIZE_FOR_SIZE",
			option: "CC_OPTIMIZE_FOR_PERFORMANCE", light: true, follows: "CC_OPTIMIZE_FOR_PERFORMANCE_O3"},
		{name: "-Os against -O3", a: "-CC_OPTIMIZE_FOR_PERFORMANCE_O3 CC_OPTIMIZE_FOR_SIZE",
			b: "CC_OPTIMIZE_FOR_PERFORMANCE_O3 -CC_OPTIMIZE_FOR_SIZE", option: "CC_OPTIMIZE_FOR_SIZE", slower: "a"},
		{name: "thin and full LTO", a: "LTO_CLANG_THIN -LTO_CLANG_FULL", b: "-LTO_CLANG_THIN LTO_CLANG_FULL",
			option: "LTO_CLANG_FULL", light: true},
		{name: "two ways of clearing the stack", a: "GCC_PLUGIN_STRUCTLEAK_BYREF_ALL -INIT_STACK_ALL_ZERO",
			b: "-GCC_PLUGIN_STRUCTLEAK_BYREF_ALL INIT_STACK_ALL_ZERO", option: "GCC_PLUGIN_STRUCTLEAK_BYREF_ALL",
			light: true, notListed: "INIT_STACK_ALL_ZERO"},
		{name: "what one of them selects",
			a: "GCC_PLUGIN_STRUCTLEAK GCC_PLUGIN_STRUCTLEAK_BYREF_ALL -INIT_STACK_ALL_ZERO",
			b: "INIT_STACK_ALL_ZERO", option: "GCC_PLUGIN_STRUCTLEAK_BYREF_ALL", light: true,
			follows: "GCC_PLUGIN_STRUCTLEAK"},
		{name: "nothing is traced", a: "FUNCTION_TRACER DYNAMIC_FTRACE", b: "-FUNCTION_TRACER -DYNAMIC_FTRACE",
			option: "FUNCTION_TRACER", slower: "a", light: true, follows: "DYNAMIC_FTRACE"},
		{name: "translated nowhere, since passthrough is built in",
			a: "INTEL_IOMMU_DEFAULT_ON AMD_IOMMU IOMMU_DEFAULT_PASSTHROUGH",
			b: "-INTEL_IOMMU_DEFAULT_ON -AMD_IOMMU IOMMU_DEFAULT_PASSTHROUGH", option: "AMD_IOMMU", light: true,
			note: "IOMMU_DEFAULT_PASSTHROUGH is on"},
		{name: "everything is traced", a: "FUNCTION_TRACER DYNAMIC_FTRACE", b: "FUNCTION_TRACER -DYNAMIC_FTRACE",
			option: "DYNAMIC_FTRACE", slower: "b"},
		{name: "the old name is a leftover", releaseA: "7.2.0", a: "-KSTACK_ERASE", releaseB: "7.1.8",
			b: "KSTACK_ERASE GCC_PLUGIN_STACKLEAK", option: "KSTACK_ERASE", slower: "b",
			notListed: "GCC_PLUGIN_STACKLEAK"},
		{name: "both have the driver", a: "VIRTIO_BLK=m", b: "VIRTIO_BLK", option: "VIRTIO_BLK", light: true},
		{name: "it costs when it is switched on", a: "LATENCYTOP PAGE_OWNER", b: "-LATENCYTOP -PAGE_OWNER",
			option: "LATENCYTOP", light: true},
		{name: "an option that menus came with", releaseA: "5.15.82", releaseB: "6.12.1", b: "CPU_MITIGATIONS",
			option: "CPU_MITIGATIONS", light: true},
	}
}

// Statements about options, and their weights, are true of real kernels.
func TestClaims(t *testing.T) {
	const much = 0.0125
	for _, c := range claims() {
		d := knowledge(t).Compare(build(t, c.releaseA, c.a), build(t, c.releaseB, c.b))
		x := find(d, c.option)
		if x == nil {
			t.Errorf("%s: %s is not listed: %s", c.name, c.option, listed(d))
			continue
		}
		if x.Slower != c.slower || x.Weight < much && !c.light && c.slower != "" && x.Weight < 0.006 ||
			c.light && x.Weight > much || x.Argument != c.argument && c.argument != "" {
			t.Errorf("%s: %+v", c.name, *x)
		}
		if c.argument == "" && strings.HasPrefix(x.Argument, "preempt=") {
			t.Errorf("%s: the kernel does not take %s", c.name, x.Argument)
		}
		if !strings.Contains(x.Note, c.note) {
			t.Errorf("%s: note %q", c.name, x.Note)
		}
		if c.follows != "" && !strings.Contains(strings.Join(x.Follows, " "), configPrefix+c.follows) {
			t.Errorf("%s: %v follow", c.name, x.Follows)
		}
		if c.notListed != "" && find(d, c.notListed) != nil {
			t.Errorf("%s: %s is listed, too", c.name, c.notListed)
		}
		if x.Slower == "" && !strings.Contains(x.Why, "both sides") && strings.Contains(x.Note, "both behave") {
			t.Errorf("%s: %q", c.name, x.Why)
		}
	}
}

// TestArgumentsOfWhatIsNotBuilt checks that a boot argument does not count if its option is not built.
func TestArgumentsOfWhatIsNotBuilt(t *testing.T) {
	for option, argument := range map[string]string{"MITIGATION_PAGE_TABLE_ISOLATION": "pti=on", "AUDIT": "audit=1",
		"DEBUG_KMEMLEAK": "kmemleak=on", "HARDENED_USERCOPY": "hardened_usercopy=on", "PSI": "psi=1",
		"NVME_MULTIPATH": "nvme_core.multipath=Y", "X86_KERNEL_IBT": "ibt=on"} {
		side := func(built string) Side {
			return snapshot("kernel.config."+option+"="+built, "kernel.cmdline="+argument)
		}
		x := find(knowledge(t).Compare(side("y"), side("n")), option)
		if x == nil || x.Slower == "" && x.Why == "both sides behave alike" {
			t.Errorf("%s with %s: %+v", option, argument, x)
		}
	}
	side := func(built string) Side {
		return snapshot("kernel.config.INIT_ON_ALLOC_DEFAULT_ON="+built, "kernel.cmdline=init_on_alloc=1")
	}
	if x := find(knowledge(t).Compare(side("y"), side("n")), "INIT_ON_ALLOC_DEFAULT_ON"); x == nil || x.Slower != "" {
		t.Errorf("a default: %+v", x)
	}
}

// TestSecurityModules checks whether a built security module has a cost: the build's list of modules decides, or the
// boot arguments.
func TestSecurityModules(t *testing.T) {
	for cmdline, slower := range map[string]string{"ro": "", "lsm=yama,tomoyo": "a", "lsm=tomoyo lsm=yama": "",
		"security=tomoyo": "a", "security=tomoyo security=selinux": ""} {
		side := func(built string) Side {
			return snapshot("kernel.config.SECURITY_TOMOYO="+built, "kernel.config.LSM=yama,selinux",
				"kernel.cmdline="+cmdline)
		}
		if x := find(knowledge(t).Compare(side("y"), side("n")), "SECURITY_TOMOYO"); x == nil || x.Slower != slower {
			t.Errorf("%s: %+v", cmdline, x)
		}
	}
}

// Choices, causes and the history name only options that the knowledge weighs.
func TestWhatGoesTogether(t *testing.T) {
	k, err := readBuiltIn() // the test changes it by learning, and the result of Load is shared
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range k.ordered {
		weight := 0.0
		for _, level := range o.Levels {
			for _, name := range strings.Fields(level) {
				e := k.exact[optionKind+":"+name]
				if e == nil || e.Weight <= 0 {
					t.Fatalf("%s has no weight", name)
				}
				if e.Weight < weight {
					t.Errorf("%s costs %v, less than a faster one", name, e.Weight)
				}
			}
			weight = k.exact[optionKind+":"+strings.Fields(level)[0]].Weight
		}
	}
	if k.kernels.From == "" || !older(k.kernels.From, k.kernels.To) {
		t.Errorf("kernels %+v", k.kernels)
	}
	for _, p := range []past{
		{Foreign: []string{"NO_SUCH"}},
		{Changed: []changed{{Option: "NO_SUCH", Since: "6.1"}}},
		{Changed: []changed{{Option: "KASAN"}}},
		// it exists in the kernels that were looked through
		{Changed: []changed{{Option: "X86_5LEVEL", Until: "6.16"}}},
	} {
		if err := k.learn(p); err == nil {
			t.Errorf("%+v is no fault", p)
		}
	}
}
