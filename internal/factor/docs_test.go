package factor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/testing/golden"
)

const factorsDoc = "../../docs/reference/factors.md"

// docs/reference/factors.md is written from Schemes and the lists beside it, so that it says what the code does.
func TestFactorsDoc(t *testing.T) {
	want := factorsPage()
	golden.Equal(t, factorsDoc, want)
	if n := strings.Count(want, "\n## `"); n != len(Schemes()) {
		t.Errorf("docs/reference/factors.md has %d schemes, Schemes %d", n, len(Schemes()))
	}
}

func factorsPage() string {
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(factorsPreface, "'", "`"))
	for _, s := range Schemes() {
		fmt.Fprintf(&b, "| [`%s:`](#%s) | %s | %s | %s |\n", s.Name, s.Name, s.Title, s.Class, s.Needs)
	}
	b.WriteString(strings.ReplaceAll(changesOfFactors, "'", "`"))
	for _, s := range Schemes() {
		fmt.Fprintf(&b, "\n## `%s`\n`%s`: %s.\n\n- Levels: %s.\n- Read back from: %s.\n- Examples: `%s`\n", s.Name,
			s.Syntax, s.Title, s.Levels, s.Verified, strings.Join(s.Examples, "` `"))
		if more := moreAbout(s.Name); more != "" {
			b.WriteString("\n" + more + "\n")
		}
	}
	return b.String()
}

// factorsPreface and changesOfFactors have ' for the backticks that a raw string can't hold.
const factorsPreface = `# Factors: what can be varied, and how it is put back

A factor is something that can be set: 'SCHEME:NAME'. A level is one value of it: 'SCHEME:NAME=LEVEL,LEVEL'. Quote a
level with a comma as in CSV (RFC 4180): 'cpu:online="0-3,8",0-15'. The level 'found' leaves a factor as it is;
'absent' is a kernel argument that is left out.

On a [network](../howto/network.md) a live factor is set on both ends, or on one: 'client:sysctl:net.ipv4.tcp_wmem=…'.
'under-test' stands for the adapter of the tests, whatever each end calls it: 'nic:under-test/mtu=1500,9000'.

'headroom factors queue:scheduler /srv' prints the level in effect and, if known, the possible ones. It changes
nothing.

| scheme | what it sets | class | needs |
| --- | --- | --- | --- |
`

const changesOfFactors = `
A *load* factor takes effect when a load starts, a *live* one at once, a *boot* one at a restart: of
[guests](../howto/guests.md), or of machines that may be [rebooted](../howto/boot.md).

## How a change is made and undone

Live factors go through a journal in 'changes/' of the store, a file for each run (lines of JSON,
'headroom/changes/v1', with the path, the old and the new value):

1. The value is read, with what the kernel changes along with it.
2. Old and new values are written to the journal and flushed to disk.
3. The new value is written, by one write(2).
4. It is read back. A level that is not in effect is an error, and the change is undone.

Changes are undone backwards: at the end, after an error or a signal, and after a crash by 'headroom restore' or the
next run. Only [the user's own journals and
root's](../explanation/experiments.md#whose-runs-and-journals-are-acted-on) count. What can't be put back stays in the
journal.

- **A value that somebody else changed meanwhile** is left alone and reported. 'headroom restore --anyway' puts the
  old one back; '--accept' keeps the new one. After a crash before step 4, any other value counts as headroom's.
- **After a reboot** nothing is written: /proc, /sys, mounts and adapters have lost the change.
- **A killed run's command that may still write** carries the journal's id; undoing waits for it.
- **'--keep'** settings are not touched, by any name: 'sysctl:vm.swappiness' protects 'sysfs:/proc/sys/vm/swappiness',
  'queue:scheduler' every device's scheduler, 'queue@md0:scheduler' md0's; '*' is any text. If the kernel would change
  one along, it is held, or the change refused.
- **Refused**: files that can't be read, values that the kernel takes once (kernel.modules_disabled), and actions
  (vm.drop_caches, /sys/…/remove, delete, reset, rescan, bind, unbind, power/…).

## What changes along

These are read before, and put back afterwards:

| change | changes along |
| --- | --- |
| queue:scheduler | nr_requests, wbt_lat_usec, async_depth, iosched/* |
| queue:nr_requests | async_depth, iosched/* |
| vm.dirty_ratio, vm.dirty_background_ratio, vm.overcommit_ratio | their twins in bytes, and the reverse: set to 0 |
| cpu:online, cpu:smt | other CPUs, governors, preferences, frequency limits, interrupt affinity |
| cpu:governor | the energy preference, frequency limits |
| cpu:boost | the highest frequency |
| nic: anything | MTU, channels, rings, coalescing and offloads of the adapter |

Unknown, so not put back: the affinity of a process bound to a single CPU that went offline, and cpusets of cgroup v1.
Meanwhile a live factor holds for everything on the machine. `

// moreAbout lists what a scheme takes where that is a list in the code, and says what it refuses.
func moreAbout(scheme string) string {
	switch scheme {
	case "mount":
		var names []string
		for _, o := range spot.MountOptions() {
			text := "`" + o.Name + "`"
			if o.Only != nil {
				text += " (" + strings.Join(o.Only, ", ") + ")"
			}
			names = append(names, text)
		}
		return "Options: " + strings.Join(names, ", ") +
			". Others are refused: a remount can't change them, or mountinfo doesn't show them."
	case "queue":
		return "`queue:` sets the device under test: for a directory the block device of its file system, for a partition " +
			"its disk. `queue@DEVICE:` sets another device of its stack, by the kernel's name or device mapper's " +
			"(`queue@dm-3:`, `queue@vg0-data:`), and `queue@disks:` sets all disks at its bottom. LVM, LUKS and md pass " +
			"requests on and have no scheduler: use `queue@disks:scheduler`. For files, the read-ahead of the device " +
			"under test counts. A run's fact `device.under-test.stack` names the devices (`headroom facts RUN`)."
	case "nic":
		names := []string{"`" + spot.MTU + "`"}
		for _, p := range spot.AdapterParameters() {
			names = append(names, "`"+p.Name+"`")
		}
		return "Parameters: " + strings.Join(names, ", ") + "; `" + spot.OneFeature +
			"NAME` is one offload by the kernel's name. An MTU below 1280 is refused: it would cost the IPv6 addresses."
	case "qdisc":
		return "A discipline that somebody set up (with a handle other than 0) is refused: its options can't be put " +
			"back."
	case "bundle":
		var lines []string
		for _, b := range bundles() {
			lines = append(lines, "| "+b.Name+" | "+strings.Join(b.Levels, " | ")+" |",
				"| ---"+strings.Repeat(" | ---", len(b.Levels))+" |")
			for _, o := range b.Sysctls {
				lines = append(lines, "| "+o.Name+" | "+strings.Join(o.Values, " | ")+" |")
			}
		}
		return "esnet is what [ESnet](https://fasterdata.es.net/host-tuning/linux/test-measurement-host-tuning/) " +
			"recommends for measuring hosts, by the speed of their adapter, as " +
			"[coded by one of its authors](https://github.com/bltierney/fasterdata-tuning). What a target can't set " +
			"is left out and named ([`bundle-incomplete`](warnings.md#bundle-incomplete)). " +
			"`net.core.default_qdisc` is not in it: use `qdisc:under-test=fq`.\n\n" +
			strings.Join(lines, "\n")
	case "module":
		return "A parameter that is read only when the module is loaded is refused: use `cmdline:MODULE.PARAMETER`."
	case "guest":
		return "Settings: `" + strings.Join(guestSettings(), "`, `") + "`."
	case "exec":
		return "The experiment file has argument lists: `apply`, `verify`, which prints only the level in effect, " +
			"and `undo`. `{level}` stands for the level, `{old}` in `undo` for the one to restore. `undo` is required."
	case "irq":
		return "A device's interrupts are its message-signalled ones. On x86 without interrupt remapping they move " +
			"at the next interrupt, so they are read before and after a load. The kernel refuses to move those that " +
			"it manages itself (NVMe queues)."
	case "cpu":
		return "Every set needs the CPUs that can't be switched off (mostly CPU 0). `boost` is cpufreq/boost, or " +
			"the opposite of intel_pstate/no_turbo."
	case "sysctl":
		return "Write a dot inside a part of the name as a slash, as in sysctl(8): `net.ipv4.conf.eth0/100.rp_filter`."
	}
	return ""
}
