package factor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
)

// savedKernel is what a kernel showed after a boot, as an archive of its files; "$ dmesg" is its log.
type savedKernel struct {
	host.Target // nothing else is asked for
	files       fstest.MapFS
	log         string
}

func saved(t *testing.T, name string) *savedKernel {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	k := &savedKernel{files: fstest.MapFS{}}
	for _, f := range archive.Files {
		if f.Name == "$ dmesg" {
			k.log = string(f.Data)
			continue
		}
		k.files[f.Name] = &fstest.MapFile{Data: f.Data, Mode: 0o444}
	}
	return k
}

// with is the same kernel with other files; an empty one is gone.
func (k *savedKernel) with(files map[string]string) *savedKernel {
	other := &savedKernel{files: fstest.MapFS{}, log: k.log}
	for name, f := range k.files {
		other.files[name] = f
	}
	for name, text := range files {
		if delete(other.files, name); text != "" {
			other.files[name] = &fstest.MapFile{Data: []byte(text + "\n"), Mode: 0o444}
		}
	}
	return other
}

func (k *savedKernel) Name() string { return "qemu:guest.yaml" }

func (k *savedKernel) FS() fs.FS { return k.files }

func (k *savedKernel) ReadFiles(_ context.Context, paths ...string) (map[string]host.File, error) {
	read := map[string]host.File{}
	for _, p := range paths {
		data, err := fs.ReadFile(k.files, strings.TrimPrefix(p, "/"))
		read[p] = host.File{Data: data, Err: err}
	}
	return read, nil
}

func (k *savedKernel) Run(_ context.Context, argv ...string) (host.Output, error) {
	if !slices.Equal(argv, []string{"dmesg"}) {
		return host.Output{}, errors.New("not asked for: " + strings.Join(argv, " "))
	}
	return host.Output{Stdout: []byte(k.log)}, nil
}

// The three boots of Debian's 6.1 in QEMU, of four emulated processors of which one argument leaves three, with what a
// person reads in their files.
func TestEffectsOfRealKernels(t *testing.T) {
	const verified, missed, open = "verified", "missed", "open"
	for name, want := range map[string]map[string]string{
		"mitigations-off": {
			"mitigations": verified, "nvme.io_queue_depth": verified, "nvme.io_queue_dept": missed,
			"slub_debug": verified, "init_on_alloc": verified, "init_on_free": verified,
			"hugepages": verified, "transparent_hugepage": verified, "maxcpus": verified, "audit": verified,
			"iommu.strict": verified, "printk.devkmsg": verified,
			"page_alloc.shuffle": verified, "nowatchdog": verified, "nosuch": open, "elevator": missed,
			"apparmor": verified, "sysctl.vm.swappiness": verified,
			"printk.time": verified, "mem": verified, "consoleblank": verified, "randomize_kstack_offset": open,
			"threadirqs": open, "nosmt": open, "pcie_aspm": verified,
			"intel_iommu": verified, "quiet": verified, "console": open, "panic": verified, "no_timer_check": open,
		},
		"passthrough": {
			"iommu.passthrough": verified, "mitigations": verified, "isolcpus": missed, "nohz_full": missed,
			"slub_debug": verified, "audit": verified,
			"nvme.use_threaded_interrupts": verified, "loglevel": verified, "apparmor": verified, "selinux": missed,
			"nr_cpus": verified, "clocksource": verified,
			"lockdown": verified, "numa_balancing": verified, "preempt": open,
		},
		"single-mitigations": {
			"pti": open, "spectre_v2": verified, "nospectre_v1": verified, "mds": open, "retbleed": open,
			"iommu.strict": open, "intel_iommu": verified, "isolcpus": verified,
			"nohz_full": verified, "slub_debug": verified, "maxcpus": open, "clocksource": verified,
			"preempt": verified, "quiet": verified, "schedstats": verified,
			"delayacct": verified, "threadirqs": open, "virtio_net.nosuch": missed, "nosuchmodule.x": open,
			"vt.handoff": open, "splash": open,
		},
	} {
		k := saved(t, name)
		var names []string
		for n := range want {
			names = append(names, n)
		}
		got, err := Effects(t.Context(), k, append(names, "not-there")...)
		if err != nil {
			t.Fatal(err)
		}
		for n, w := range want {
			e := got[n]
			if e.Verified != (w == verified) || e.Missed != (w == missed) || e.Why == "" {
				t.Errorf("%s: %s is not %s: %+v", name, n, w, e)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d effects of %d arguments: %v", name, len(got), len(want), got)
		}
	}
}

// What was asked for and is not in effect is an error that says what was asked and what is shown; what the machine has
// by itself is none.
func TestALevelWithoutEffectIsRefused(t *testing.T) {
	k := saved(t, "mitigations-off")
	depth := k.with(map[string]string{"sys/module/nvme/parameters/io_queue_depth": "1024"})
	for _, c := range []struct {
		k          *savedKernel
		name, says string
	}{
		{k, "cmdline:nvme.io_queue_dept",
			`nvme.io_queue_dept=3, which has no effect: the kernel's log says "nvme: unknown parameter 'io_queue_dept' ignored"`},
		{depth, "cmdline:nvme.io_queue_depth",
			"nvme.io_queue_depth=2, which has no effect: /sys/module/nvme/parameters/io_queue_depth shows 1024"},
		{k.with(map[string]string{"sys/devices/system/cpu/vulnerabilities/spectre_v1": "Not affected",
			"sys/devices/system/cpu/vulnerabilities/spectre_v2": "Mitigation: Retpolines"}),
			"cmdline:mitigations", "mitigations=off, which has no effect: " +
				"/sys/devices/system/cpu/vulnerabilities/spectre_v2 shows Mitigation: Retpolines"},
		{k.with(map[string]string{"sys/kernel/iommu_groups/2/type": "DMA-FQ"}), "cmdline:iommu.strict",
			"/sys/kernel/iommu_groups/2/type shows DMA-FQ"},
		{k.with(map[string]string{"sys/kernel/slab/kmalloc-64/red_zone": "0"}), "cmdline:slub_debug",
			"/sys/kernel/slab/kmalloc-64/red_zone shows 0"},
	} {
		_, err := UnverifiedLevels(t.Context(), c.k, map[string]string{c.name: "any", "queue:scheduler": "none"})
		if _, is := errors.AsType[*NoEffect](err); !is || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), "qemu:guest.yaml") {
			t.Errorf("%s: %v", c.name, err)
		}
		unverified, err := UnverifiedLevels(t.Context(), c.k, map[string]string{c.name: scheme.Found})
		if err != nil || unverified[c.name] == "" {
			t.Errorf("%s as found: %v, %v", c.name, unverified, err)
		}
		if unverified, err := UnverifiedLevels(t.Context(), c.k, map[string]string{c.name: spot.Absent}); err != nil ||
			len(unverified) > 0 {
			t.Errorf("%s absent: %v, %v", c.name, unverified, err)
		}
	}
}

// Where a file is missing, closed, or says what nobody can compare, nothing is reported either way, and why.
func TestWhatNothingShowsIsNotVerified(t *testing.T) {
	k := saved(t, "mitigations-off")
	for name, c := range map[string]struct {
		files map[string]string
		why   string
	}{
		"threadirqs": {nil, "no place is known where a kernel shows it"},
		"nosuch":     {nil, "the kernel's log has it among the arguments that it does not know"},
		"nosmt":      {nil, "/sys/devices/system/cpu/smt/control shows notsupported (it takes SMT to tell)"},
		"transparent_hugepage": {map[string]string{"sys/kernel/mm/transparent_hugepage/enabled": ""},
			"there is no /sys/kernel/mm/transparent_hugepage/enabled"},
		"iommu.strict": {map[string]string{"proc/sys/kernel/osrelease": "5.10.0-33-amd64"},
			"/sys/kernel/iommu_groups/0/type shows DMA (it takes IOMMU groups with separate domains, and " +
				"Linux 5.15 to tell)"},
		"hugepages": {map[string]string{"proc/cmdline": "hugepagesz=1G hugepages=8"},
			"no place is known where a kernel shows it"},
		"nvme.io_queue_depth": {map[string]string{"sys/module/nvme/parameters/io_queue_depth": "as many as there are"},
			"/sys/module/nvme/parameters/io_queue_depth shows as many as there are"},
		"slub_debug": {map[string]string{"proc/cmdline": "slub_debug=FZ,dentry"},
			"/sys/kernel/slab/kmalloc-64/sanity_checks shows 1 (it takes CONFIG_SLUB_DEBUG, and letters of checks for all " +
				"caches to tell)"},
		"isolcpus": {map[string]string{"proc/cmdline": "isolcpus=managed_irq,2-3"},
			"/sys/devices/system/cpu/isolated shows nothing (it takes the flag domain to tell)"},
		"init_on_alloc": {map[string]string{"proc/cmdline": "init_on_alloc=perhaps"},
			"no place is known where a kernel shows it"},
	} {
		unverified, err := UnverifiedLevels(t.Context(), k.with(c.files), map[string]string{"cmdline:" + name: "any"})
		if err != nil || unverified["cmdline:"+name] != c.why {
			t.Errorf("%s: %q, %v", name, unverified, err)
		}
	}
	quiet := k.with(nil)
	quiet.log = ""
	effects, err := Effects(t.Context(), quiet, "audit", "init_on_alloc", "nvme.io_queue_dept", "elevator")
	for name, e := range effects {
		if e.Verified || e.Missed {
			t.Errorf("%s without a log: %+v", name, e)
		}
	}
	if err != nil || len(effects) != 4 {
		t.Errorf("%v, %v", effects, err)
	}
}

// Values as kernels of other machines show them; the lines are in the sources that the table names.
func TestMitigationsAsFilesHaveThem(t *testing.T) {
	for text, want := range map[string]verdict{
		"Vulnerable":                                  holds,
		"Vulnerable; SMT vulnerable":                  holds,
		"Vulnerable, IBPB: disabled, STIBP: disabled": holds,
		"Vulnerable: __user pointer sanitization and usercopy barriers only; no swapgs barriers": holds,
		"Vulnerable: Clear CPU buffers attempted, no microcode; SMT Host state unknown":          fails,
		"Mitigation: PTI": fails,
		"Mitigation: Enhanced IBRS, IBPB: conditional": fails,
		"Mitigation: __user pointer sanitization":      silent, // arm64, which can't do without
		"Vulnerable: No microcode":                     silent, // with and without the argument
		"Not affected":                                 silent,
		"Unknown: Dependent on hypervisor status":      silent,
		"": silent,
	} {
		if got := mitigationOff("", text); got != want {
			t.Errorf("%q: %d", text, got)
		}
		if opposite := mitigated("", text); (opposite == silent) != (want == silent) ||
			opposite == want && want != silent {
			t.Errorf("mitigated %q: %d", text, opposite)
		}
	}
}

func TestBranchHistoryOfARM(t *testing.T) {
	for text, want := range map[string]verdict{"Mitigation: CSV2, but not BHB": holds, "Mitigation: CSV2, BHB": fails,
		"Mitigation: Branch predictor hardening, BHB": fails, "Not affected": silent,
		"Vulnerable: Unprivileged eBPF enabled": silent} {
		if got := branchHistoryLeft("", text); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// A kernel writes values in other words than they were given in.
func TestParametersAsTheKernelReadsThem(t *testing.T) {
	for _, c := range []struct {
		asked, shown string
		want         verdict
	}{
		{"1", "Y", holds}, {"on", "Y", holds}, {"n", "0", holds}, {"off", "N", holds}, {"0x10", "16", holds},
		{"kyber", "kyber", holds}, {"1,2", "1,2", holds},
		{"2", "1024", fails}, {"1", "N", fails}, {"off", "Y", fails}, {"-1", "0", fails}, {"always", "never", fails},
		{"16M", "16777216", silent}, {"yes", "1", silent}, {"1", "", silent}, {"+p", "line 1\nline 2", silent},
	} {
		if got := equals(c.asked, c.shown); got != c.want {
			t.Errorf("%q, shown as %q: %d", c.asked, c.shown, got)
		}
	}
}

// Each row can be read, and says where it was taken from.
func TestEvidenceIsWhole(t *testing.T) {
	for _, e := range evidences() {
		if e.argument == "" || e.argument != underscored(e.argument) || len(e.in) == 0 || e.holds == nil ||
			e.source == "" {
			t.Errorf("%+v", e)
		}
		re, err := regexp.Compile(e.find)
		if err != nil || e.find != "" && re.NumSubexp() != 1 || slices.Contains(e.in, kernelLog) && e.find == "" {
			t.Errorf("%s: %q, %v", e.argument, e.find, err)
		}
		if strings.Contains(strings.Join(e.in, " "), "*") && e.find != "" {
			t.Errorf("%s: of several files the whole texts are read", e.argument)
		}
		if e.since != "" && len(versionNumbers(e.since)) != 2 {
			t.Errorf("%s: since %q", e.argument, e.since)
		}
	}
}

// docs/howto/boot.md names every argument of the table.
func TestEvidenceIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/howto/boot.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range evidences() {
		if !strings.Contains(string(text), "`"+e.argument+"`") {
			t.Errorf("%s is not in docs/howto/boot.md", e.argument)
		}
	}
}

func FuzzKernelArguments(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatal("no kernels", err)
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			f.Add(string(file.Data), "1")
		}
	}
	f.Fuzz(func(t *testing.T, text, asked string) {
		for _, a := range kernelArguments(text) {
			evidenceOf([]kernelArgument{a}, a)
		}
		for _, e := range evidences() {
			if v := e.holds(asked, text); v != silent && v != holds && v != fails {
				t.Errorf("%s: %d", e.argument, v)
			}
		}
	})
}
