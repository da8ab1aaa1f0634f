package factor

import (
	"fmt"
	"strings"
	"testing"

	"headroom/internal/factor/boot"
	"headroom/internal/factor/kernelfile"
	"headroom/internal/factor/scheme"
	"headroom/internal/factor/spot"
	"headroom/internal/golden"
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
	b.WriteString(`# Factors: what can be varied, and how it comes back

A factor is something that can be set; a level is one value of it. A factor is named ` + "`SCHEME:NAME`" + `, and with levels to try
` + "`SCHEME:NAME=LEVEL,LEVEL`" + `. Commas separate levels; one that holds a comma stands in double quotes, as in CSV (RFC 4180):
` + "`'cpu:online=\"0-3,8\",0-15'`" + `. The level ` + "`found`" + ` leaves a factor as it is; ` + "`absent`" + ` is a kernel argument that is not there.

In an experiment on a [network](../howto/network.md) a factor of the running machine is set on both ends, unless it begins with ` + "`client:` or `server:`" + `:
` + "`client:sysctl:net.ipv4.tcp_wmem=…`" + `. ` + "`under-test`" + ` stands for the adapter that the tests take, which has another name on each end: ` + "`nic:under-test/mtu=1500,9000`" + `.

` + "`headroom factors`" + ` lists the schemes, ` + "`headroom factors queue:scheduler /srv`" + ` shows the level in effect and, where the kernel tells, the
possible ones. It changes nothing.

This page is written from the list in internal/factor/schemes.go.

| scheme | what | of the | needs | read back from |
| --- | --- | --- | --- | --- |
`)
	for _, s := range Schemes() {
		fmt.Fprintf(&b, "| [`%s:`](#%s) | %s | %s | %s | %s |\n", s.Name, s.Name, s.Title, s.Class, s.Needs, s.Verified)
	}
	b.WriteString(`
## How a change is made and undone

Factors of the running machine (live) go through a journal, one file a run, in ` + "`changes/`" + ` of the store:

1. What is there is read, and so is what the kernel changes along with it (below).
2. Both are written to the journal, with the new value, and flushed to disk, the file and its folder.
3. The value is written, by one write(2). A refusal is reported with the kernel's reason.
4. It is read back. A level that is not in effect is an error that says both, and the change is undone. A level that was in effect
   already is verified and not written.

Undoing goes backwards through the journal: at the end, after an error, on a signal, by ` + "`headroom restore`" + ` after a crash, and before the next
run. [Whose journals are undone](../explanation/experiments.md#whose-runs-and-journals-are-acted-on): the user's own and root's. It goes on after an error and reports all of them. What could not be put back stays in the journal.

- **A value that somebody else has changed meanwhile**, neither the old nor the new one, is left alone and reported: whoever set it knows why.
  ` + "`headroom restore --anyway`" + ` puts the old one back all the same, ` + "`--accept`" + ` leaves what is there and forgets the change. Where headroom
  died before it could read back, any value that is not the old one counts as its own.
- **After a reboot** of the machine nothing of what /proc, /sys, mounts and adapters held is left, so nothing is written.
- **Factors of the boot** (` + "`cmdline:`, `kernel:`" + `) are varied in [guests](../howto/guests.md), and on real machines that may be rebooted ([boots](../howto/boot.md)).
- **A command that outlives its headroom** (killed, or cut off from the machine) may still be about to write. It carries the journal's id in its
  arguments, and undoing waits until none is left.
- **` + "`--keep`" + `** settings are not touched, by whatever name: keeping ` + "`sysctl:vm.swappiness`" + ` keeps ` + "`sysfs:/proc/sys/vm/swappiness`" + `, keeping
  ` + "`queue:scheduler`" + ` keeps it on every disk, and ` + "`*`" + ` stands for any text. Where the kernel would change one along with something else, it is held, or
  the change is refused.
- **What can't be put back is refused**: files that can't be read, values that the kernel takes once (kernel.modules_disabled), and
  everything that does something at once (vm.drop_caches, /sys/…/remove, delete, reset, rescan, bind, unbind, power/…).

A journal is lines of JSON, schema ` + "`headroom/changes/v1`" + `; it holds the path, the old value and the new one, so that it can be undone by hand too.

## What changes along

The kernel changes some settings along with others. They are read before, and put back after the undoing.

| change | changes along |
| --- | --- |
| queue:scheduler | nr_requests, wbt_lat_usec, async_depth, iosched/* |
| queue:nr_requests | async_depth, iosched/* |
| vm.dirty_ratio, vm.dirty_background_ratio, vm.overcommit_ratio | their twins in bytes, and the other way round: setting one sets the other to 0 |
| cpu:online, cpu:smt | the other CPUs, governors, preferences and limits of frequency, affinity of interrupts |
| cpu:governor | the energy preference, limits of frequency |
| cpu:boost | the highest frequency |
| nic: anything | the MTU, channels, rings, coalescing and every offload of the adapter |

Not put back, because nobody can tell what they were: the affinity of a process that was bound to a CPU alone which went offline, and cpusets
of cgroup v1. Between its change and its undoing a factor is what the experiment says for everything on the machine.
`)
	for _, s := range Schemes() {
		fmt.Fprintf(&b, "\n## `%s`\n%s. Form: `%s`.\n\n- Levels: %s.\n- Takes effect: %s; needs: %s.\n- Read back "+
			"from: %s.\n", s.Name,
			strings.ToUpper(s.Title[:1])+s.Title[1:], s.Syntax, s.Levels, takesEffect(s.Class), s.Needs, s.Verified)
		for _, e := range s.Examples {
			fmt.Fprintf(&b, "- For example `%s`.\n", e)
		}
		if more := moreAbout(s.Name); more != "" {
			b.WriteString("\n" + more + "\n")
		}
	}
	return b.String()
}

func takesEffect(c scheme.Class) string {
	return map[scheme.Class]string{scheme.OfLoad: "when a load is started", scheme.Live: "at once",
		scheme.OfBoot: "when the machine is restarted"}[c]
}

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
			". Others are refused: a remount does not change them, or mountinfo does not show them."
	case "nic":
		names := []string{"`" + spot.MTU + "`"}
		for _, p := range spot.AdapterParameters() {
			names = append(names, "`"+p.Name+"`")
		}
		return "Parameters: " + strings.Join(names, ", ") + "; `" + spot.OneFeature +
			"NAME` is a single offload by the kernel's name for it. An MTU below 1280 is refused: " +
			"the adapter would lose its IPv6 addresses."
	case "qdisc":
		return "One that somebody has set up (with a handle other than 0) is refused, because its options can't be " +
			"put back. What is put back is the one that the kernel gives an adapter by itself."
	case "bundle":
		var lines []string
		for _, b := range kernelfile.Bundles() {
			lines = append(lines, "| "+b.Name+" | "+strings.Join(b.Levels, " | ")+" |",
				"| ---"+strings.Repeat(" | ---", len(b.Levels))+" |")
			for _, o := range b.Sysctls {
				lines = append(lines, "| "+o.Name+" | "+strings.Join(o.Values, " | ")+" |")
			}
		}
		return "esnet is what [ESnet](https://fasterdata.es.net/host-tuning/linux/test-measurement-host-tuning/) " +
			"recommends for hosts that measure, by the speed of their adapter, as one of its authors\n[has coded " +
			"it](https://github.com/bltierney/fasterdata-tuning). What a target does not have of them, as an older " +
			"kernel, or does not let be set, as a container, is left out and named " +
			"([`bundle-incomplete`](warnings.md#bundle-incomplete)). Its `net.core.default_qdisc` is not among them: " +
			"that holds for adapters\nthat come up later; `qdisc:under-test=fq` is that of the one that is there.\n\n" +
			strings.Join(lines, "\n")
	case "module":
		return "A parameter that is read only when the module is loaded is refused; as `cmdline:MODULE.PARAMETER` it " +
			"is a factor of the boot. headroom unloads no\nmodules."
	case "guest":
		return "Settings: `" + strings.Join(boot.GuestSettings(), "`, `") + "`."
	case "exec":
		return "The experiment file gives argument vectors: `apply`, `verify`, which prints the level in effect and " +
			"nothing else, and `undo`. In each argument `{level}`\nstands for the level, and in `undo` `{old}` for " +
			"the one to go back to. Without `undo` the factor is refused."
	case "irq":
		return "Interrupts of a device are its message-signalled ones. On x86 without interrupt remapping a move " +
			"waits for the next interrupt, so whether it went\nwhere it was sent is asked before and after a load. " +
			"Interrupts that the kernel manages by itself (NVMe queues) refuse."
	case "cpu":
		return "CPUs that can't be switched off (mostly CPU 0) belong into every set. `boost` is cpufreq/boost, or " +
			"the opposite of intel_pstate/no_turbo."
	case "sysctl":
		return "As in sysctl(8) a dot inside a part of the name is written as a slash: " +
			"`net.ipv4.conf.eth0/100.rp_filter`."
	}
	return ""
}
