package machine

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host/bootloader"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
)

func TestPreemption(t *testing.T) {
	const dynamic = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.170-1"
	const versionPath = "/proc/sys/kernel/version"
	for want, content := range map[string]map[string]string{
		"lazy": {preemptPath: "none voluntary full (lazy)", versionPath: dynamic,
			CmdlinePath: "preempt=none"},
		"none": {versionPath: dynamic, CmdlinePath: "preempt=full quiet preempt=none -- preempt=lazy"},
		"rt": {versionPath: "#33 SMP PREEMPT_RT", "/proc/config.gz": "CONFIG_PREEMPT=y\n",
			collect.ReleasePath: "6.1"},
		"voluntary": {versionPath: dynamic, collect.ReleasePath: "6.1",
			"/boot/config-6.1": "CONFIG_PREEMPT_VOLUNTARY=y\n"},
		"full":              {versionPath: "#1 SMP PREEMPT"},
		"none or voluntary": {versionPath: "#1 SMP"},
		"":                  {versionPath: dynamic},
	} {
		if f := preemption(factstest.Files(content)); f.Value != want || (want == "") != (f.Unknown != "") {
			t.Errorf("%v: %+v, want %q", content, f, want)
		}
	}
}

func TestBootLoader(t *testing.T) {
	text := func(s string) string {
		b := []byte{6, 0, 0, 0}
		for _, c := range s + "\x00" {
			b = append(b, byte(c), 0)
		}
		return string(b)
	}
	for _, c := range []struct {
		want    string
		content map[string]string
	}{
		{"uki", map[string]string{stubInfo: text("systemd-stub 257"), loaderInfo: text("systemd-boot 257")}},
		{"systemd-boot", map[string]string{loaderInfo: text("systemd-boot 255.4-1ubuntu8"), "/boot/grub/grub.cfg": ""}},
		{"grub", map[string]string{loaderInfo: text("GRUB 2.12")}},
		{"refind 0.14", map[string]string{loaderInfo: text("rEFInd 0.14")}},
		{"grub", map[string]string{"/boot/grub2/grub.cfg": "", CmdlinePath: "root=/dev/sda1"}},
		{"grub", map[string]string{CmdlinePath: "BOOT_IMAGE=(hd0,gpt2)/vmlinuz-5.14.0 root=/dev/sda3"}},
		{"grub", map[string]string{CmdlinePath: "BOOT_IMAGE=/vmlinuz-6.1", "/boot/grub/grubenv": ""}},
		{"", map[string]string{CmdlinePath: "BOOT_IMAGE=/vmlinuz initrd=initrd.img"}},
		{"", map[string]string{loaderInfo: "\x06", CmdlinePath: "quiet"}},
	} {
		if f := bootLoader(factstest.Files(c.content)); f.Value != c.want || (c.want == "") != (f.Unknown != "") {
			t.Errorf("%q: %+v, want %q", c.content, f, c.want)
		}
	}
}

func TestConfigSaysWhyThereIsNone(t *testing.T) {
	for reason, content := range map[string]map[string]string{
		"neither":     {collect.ReleasePath: "6.1"},
		"no kernel":   {collect.ReleasePath: "6.1", "/boot/config-6.1": "hello\n"},
		"no such":     {"/proc/config.gz": "CONFIG_A=y\n"},
		"gzip":        {collect.ReleasePath: "6.1", "/proc/config.gz": "\x1f\x8bbroken and more"},
		"unexpected ": {collect.ReleasePath: "6.1", "/proc/config.gz": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00"},
	} {
		found := CollectConfig(factstest.Files(content), collect.Scope{})
		if len(found) != 1 || found[0].Unknown == "" || reason != "neither" && reason != "no such" &&
			reason != "no kernel" &&
			!strings.Contains(found[0].Unknown, strings.TrimSpace(reason)) {
			t.Errorf("%s: %+v", reason, found)
		}
	}
	found := CollectConfig(
		factstest.Files(map[string]string{collect.ReleasePath: "6.1",
			"/lib/modules/6.1/config": "CONFIG_A=\"\"\nCONFIG_B=m\n"}),
		collect.Scope{})
	if factstest.ValueOf(found, "kernel.config.A") != catalogue.None ||
		factstest.ValueOf(found, "kernel.config.B") != "m" ||
		factstest.ValueOf(found, "kernel.config") != "/lib/modules/6.1/config" {
		t.Errorf("%+v", found)
	}
}

// What moves, is secret or does something when it is looked at is not read at all.
func TestSysctlLeavesOut(t *testing.T) {
	const value = "7"
	content := map[string]string{}
	for _, name := range []string{"fs/binfmt_misc/status", "fs/file-nr", "kernel/random/uuid", "kernel/hostname",
		"net/ipv4/tcp_fastopen_key", "net/ipv4/conf/eth0/rp_filter", "net/ipv6/neigh/eth0.100/mcast_solicit",
		"net/ipv6/conf/all/stable_secret", "vm/stat_refresh", "kernel/sched_domain/cpu0/domain0/flags",
		"sunrpc/svc_rdma/rdma_stat_recv"} {
		content["/proc/sys/"+name] = value
	}
	kept := map[string]bool{"sysctl.net.ipv4.conf.all.rp_filter": true,
		"sysctl.net.ipv6.neigh.default.mcast_solicit": true,
		"sysctl.vm.swappiness":                        true, "sysctl.net.netfilter.nf_conntrack_max": true,
		"sysctl.sunrpc.svc_rdma.max_requests": true}
	for key := range kept {
		content["/proc/sys/"+strings.ReplaceAll(strings.TrimPrefix(key, "sysctl."), ".", "/")] = value
	}
	r := factstest.Files(content)
	// A file that can only be written has no value, and one without any right is closed.
	r.FS.(fstest.MapFS)["proc/sys/vm/drop_caches"] = &fstest.MapFile{Mode: 0o200}
	found := CollectSysctl(collect.Reader{FS: factstest.Guarded{MapFS: r.FS.(fstest.MapFS),
		Closed: map[string]bool{"proc/sys/vm/drop_caches": true}}},
		collect.Scope{})
	for _, f := range found {
		if !kept[f.Key] || f.Value != value {
			t.Errorf("%+v", f)
		}
		delete(kept, f.Key)
	}
	if len(kept) > 0 {
		t.Errorf("not read: %v", kept)
	}
}

func FuzzConfig(f *testing.F) {
	factstest.Seed(f, "/proc/config.gz")
	f.Add([]byte("CONFIG_A=y\n# CONFIG_B is not set\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := fstest.MapFS{collect.PathInFS(collect.ReleasePath): {Data: []byte("6.1")}, "proc/config.gz": {Data: data}}
		factstest.CheckLines(t, CollectConfig(collect.Reader{FS: m}, collect.Scope{}))
	})
}

func FuzzEFIText(f *testing.F) {
	factstest.Seed(f, loaderInfo)
	f.Fuzz(func(t *testing.T, data []byte) {
		if text := bootloader.EFIText(data); strings.Contains(text, "\x00") || len(text) > 3*len(data) {
			t.Errorf("%q", text)
		}
	})
}

func FuzzModules(f *testing.F) {
	factstest.Seed(f, modulesPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range parseModules(string(data)) {
			if name == "" || strings.ContainsAny(name, " \n") {
				t.Errorf("%q", name)
			}
		}
	})
}

// FuzzKernelText reads one text as every small file of the kernel that is more than copied.
func FuzzKernelText(f *testing.F) {
	for _, name := range []string{pveConfig, CmdlinePath, "/sys/kernel/debug/kprobes/list", collect.ReleasePath} {
		factstest.Seed(f, name)
	}
	kinds := factstest.KindsByKey(catalogue.All())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := factstest.Files(map[string]string{pveConfig: string(data), CmdlinePath: string(data),
			"/sys/kernel/debug/kprobes/list": string(data), collect.ReleasePath: string(data)})
		major, minor := versionNumbers(r)
		found := []lab.Fact{proxmox(r), bootLoader(r), kernelProbes(r), major, minor}
		factstest.CheckLines(t, found)
		factstest.CheckKinds(t, found, kinds)
	})
}

// Looking at an automount point mounts what belongs there.
func TestNothingIsMountedByLooking(t *testing.T) {
	const root = "28 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
	const boot = "41 28 0:33 / /boot rw shared:20 - autofs systemd-1 rw,fd=66\n"
	for _, c := range []struct {
		name, mounts, release string
		look                  bool
	}{
		{"waiting", root + boot, "6.12.9", false},
		{"mounted", root + boot + "42 41 8:1 / /boot rw - vfat /dev/sda1 rw\n" +
			"50 28 0:7 / /sys/kernel/debug rw - debugfs debugfs rw\n51 50 0:12 / /sys/kernel/debug/tracing rw - " +
			"tracefs tracefs rw\n", "6.12.9", true},
		{"old", root, "3.10.0-1160.el7.x86_64", true},
	} {
		l := factstest.Looked{
			MapFS: factstest.TextFiles(map[string]string{collect.MountInfoPath: c.mounts,
				collect.ReleasePath:   c.release,
				"/boot/grub/grub.cfg": "#", "/boot/config-" + c.release: "CONFIG_HZ=250\n",
				"/sys/kernel/debug/tracing/current_tracer": "function\n"}), At: map[string]bool{}}
		var all []lab.Fact
		for _, read := range []func(collect.Reader, collect.Scope) []lab.Fact{CollectOS, CollectKernel, CollectConfig} {
			all = append(all, read(collect.Reader{FS: l}, collect.Scope{})...)
		}
		for name := range l.At {
			if !c.look && (strings.HasPrefix(name, "boot/") || strings.HasPrefix(name, "sys/kernel/debug/tracing")) {
				t.Errorf("%s: somebody looked at %s", c.name, name)
			}
		}
		for key, want := range map[string]string{"kernel.config.HZ": "250", "kernel.tracer": "function",
			"os.boot_loader": "grub"} {
			if got := factstest.Said(all, key, ""); (got == want) != c.look {
				t.Errorf("%s: %s is %q", c.name, key, got)
			}
		}
		if got := factstest.Said(all, "kernel.config", ""); !c.look && !strings.Contains(got, "automount") {
			t.Errorf("%s: kernel.config is %q", c.name, got)
		}
	}
}

func TestKernelProbesThatAreHit(t *testing.T) {
	const list = "ffffffff8111d4e0  k  do_sys_openat2+0x0    [FTRACE]\n" +
		"ffffffffc02d1000  r  nvme_queue_rq+0x0  nvme [DISABLED]\n" +
		"ffffffffc02d2000  k  nvme_pci_complete_rq+0x0  nvme [GONE]\n" +
		"ffffffff8122a310  k  blk_mq_start_request+0x5    [OPTIMIZED]\n"
	for text, want := range map[string]string{"": "0", list: "2"} {
		r := factstest.Files(map[string]string{"/sys/kernel/debug/kprobes/list": text})
		if f := kernelProbes(r); f.Value != want {
			t.Errorf("%+v, want %s", f, want)
		}
	}
}
