package qemu

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

func TestArgv(t *testing.T) {
	s := start{program: "qemu", version: version{10, 0}, accelerator: Emulation,
		bootable:  bootable{kernel: "vmlinux", initrd: "initrd"},
		arguments: "quiet", port: 2222, paths: []string{"/proc/self/fd/3", "/dev/null", "", ""},
		file: File{Type: "q35", Machine: Machine{CPUs: 2, Memory: 1 << 30, IOMMU: "none"}, Disks: []Disk{
			{Name: "a", Kind: nvme, Backing: onImage, Cache: "writethrough", AIO: "threads", Queues: 3},
			{Name: "b", Kind: virtioBlk, Backing: onFile, Cache: "none", AIO: "native", IOThreads: 2, Queues: 4},
			{Name: "c", Kind: virtioSCSI, Backing: onNull, Size: 1 << 20, IOThreads: 1},
			{Name: "d", Kind: sata, Backing: onNull, Size: 1 << 20}}}}
	want := `qemu -nodefaults -no-user-config -display none -no-reboot -name headroom-guest,debug-threads=on -machine q35 -accel tcg,thread=multi -cpu max,erms=off,fsrm=off -smp 2 -m 1024M
-chardev file,id=console,path=console -serial chardev:console -kernel vmlinux -append quiet -initrd initrd
-netdev user,id=net,ipv6=off,restrict=on,hostfwd=tcp:127.0.0.1:2222-:22 -device virtio-net-pci,netdev=net,romfile=
-blockdev {"cache":{"direct":false,"no-flush":false},"discard":"unmap","driver":"raw","file":{"aio":"threads","cache":{"direct":false,"no-flush":false},"discard":"unmap","driver":"file","filename":"/proc/self/fd/3"},"node-name":"node-a"}
-device {"drive":"node-a","driver":"nvme","max_ioqpairs":3,"serial":"a","write-cache":"off"}
-blockdev {"cache":{"direct":true,"no-flush":false},"discard":"unmap","driver":"raw","file":{"aio":"native","cache":{"direct":true,"no-flush":false},"discard":"unmap","driver":"host_device","filename":"/dev/null"},"node-name":"node-b"}
-object iothread,id=io-b-0 -object iothread,id=io-b-1
-device {"drive":"node-b","driver":"virtio-blk-pci","iothread-vq-mapping":[{"iothread":"io-b-0"},{"iothread":"io-b-1"}],"num-queues":4,"serial":"b","write-cache":"on"}
-blockdev {"driver":"null-co","node-name":"node-c","read-zeroes":true,"size":1048576}
-object iothread,id=io-c-0 -device {"driver":"virtio-scsi-pci","id":"scsi-c","iothread":"io-c-0"} -device {"bus":"scsi-c.0","drive":"node-c","driver":"scsi-hd","serial":"c"}
-blockdev {"driver":"null-co","node-name":"node-d","read-zeroes":true,"size":1048576}
-device {"driver":"ich9-ahci","id":"ahci-d"} -device {"bus":"ahci-d.0","drive":"node-d","driver":"ide-hd","serial":"d"}`
	if got := strings.Join(s.argv(), " "); got != strings.ReplaceAll(want, "\n", " ") {
		t.Errorf("got\n%s\nwant\n%s", strings.ReplaceAll(got, " -", "\n-"),
			strings.ReplaceAll(strings.ReplaceAll(want, "\n", " "), " -", "\n-"))
	}
}

func TestArgvUnderKVM(t *testing.T) {
	s := start{program: "qemu", accelerator: KVM, imageFormat: "qcow2",
		file: File{Type: "q35", Image: "/srv/a,b.qcow2", Firmware: []string{"/opt/x", "/opt/y"},
			Machine: Machine{CPUs: 1, Memory: 1 << 30, IOMMU: "intel"}}}
	got := strings.Join(s.argv(), " ")
	for _, want := range []string{"qemu -L /opt/x -L /opt/y -nodefaults",
		"-machine q35,kernel-irqchip=split -accel kvm -cpu host", "-device intel-iommu,intremap=on",
		"-drive file=/srv/a,,b.qcow2,if=none,id=image,snapshot=on,format=qcow2"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nis not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "-append") || strings.Contains(got, "-initrd") {
		t.Errorf("an image that starts its own kernel: %s", got)
	}
}

func TestArguments(t *testing.T) {
	f := File{Arguments: []string{"audit=0", "mitigations=off"}, Machine: Machine{IOMMU: "none"}}
	iommu := f
	iommu.Machine.IOMMU = "intel"
	for _, c := range []struct {
		file File
		spec host.BootSpec
		want string
	}{
		{f, host.BootSpec{}, "console=ttyS0 panic=-1 no_timer_check quiet audit=0 mitigations=off"},
		{f, host.BootSpec{Arguments: []string{"slub_debug=FZPU"}, Without: []string{"quiet", "mitigations"}},
			"console=ttyS0 panic=-1 no_timer_check audit=0 slub_debug=FZPU"},
		{f, host.BootSpec{Arguments: []string{"mitigations=auto"}, Without: []string{"mitigations"}},
			"console=ttyS0 panic=-1 no_timer_check quiet audit=0 mitigations=auto"},
		{iommu, host.BootSpec{},
			"console=ttyS0 panic=-1 no_timer_check quiet audit=0 mitigations=off intel_iommu=on"},
		{iommu, host.BootSpec{Arguments: []string{"intel_iommu=off"}},
			"console=ttyS0 panic=-1 no_timer_check quiet audit=0 mitigations=off intel_iommu=off"},
	} {
		if got, err := arguments(c.file, c.spec); got != c.want || err != nil {
			t.Errorf("%+v: %q, %v, want %q", c.spec, got, err, c.want)
		}
	}
	for _, a := range []string{"", "a b", "a\nb", "initrd=/x", `x="a b" c="d e"`} {
		if got, err := arguments(f, host.BootSpec{Arguments: []string{a}}); err == nil {
			t.Errorf("the argument %q gave %q", a, got)
		}
	}
	if len(f.Arguments) != 2 || f.Arguments[1] != "mitigations=off" {
		t.Errorf("the description was changed: %q", f.Arguments)
	}
}

func TestSettings(t *testing.T) {
	f := File{Type: "q35", Machine: Machine{CPUs: 2, Memory: 1 << 30, IOMMU: "none"}, Disks: []Disk{
		{Name: "a", Kind: nvme, Backing: onImage, Cache: "none", AIO: "native"},
		{Name: "b", Kind: virtioBlk, Backing: onNull}}}
	got, err := f.with(map[string]string{"cpus": "4", "memory": "2g", "iommu": "intel", "iothreads": "2", "queues": "8",
		"cache": "directsync", "aio": "io_uring"})
	if err != nil {
		t.Fatal(err)
	}
	levels := map[string]string{}
	for _, s := range Settings() {
		levels[s.Name] = s.get(got)
	}
	if want := map[string]string{"cpus": "4", "memory": "2147483648", "iommu": "intel", "iothreads": "2", "queues": "8",
		"cache": "directsync", "aio": "io_uring"}; !maps.Equal(levels, want) {
		t.Errorf("got %v, want %v", levels, want)
	}
	if got.Disks[0].IOThreads != 0 || got.Disks[1].Cache != "" {
		t.Errorf("a disk was given a setting that it has not: %+v", got.Disks)
	}
	if f.Disks[0].Cache != "none" || f.Machine.CPUs != 2 {
		t.Error("the description itself was changed")
	}
	_, err = f.with(map[string]string{"cache": "writeback", "cpus": "0", "wheels": "4"})
	want := "a guest has no setting wheels; cpus can't be 0: write a whole number from 1 to 255; disk a: aio native " +
		"needs cache none or directsync, and cache is writeback"
	if err == nil || err.Error() != want || lab.KindOf(err) != lab.Usage {
		t.Errorf("got %v\nwant %s", err, want)
	}
	f.Disks = f.Disks[:1]
	if _, err = f.with(map[string]string{"iothreads": "2"}); err == nil ||
		err.Error() != "iothreads can't be 2: the guest has no disk with this setting" {
		t.Errorf("IOThreads of an emulated NVMe disk: %v", err)
	}
}

func TestVersions(t *testing.T) {
	for text, want := range map[string]version{
		"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)\nCopyright": {7, 2},
		"QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1~bpo12+1)":       {10, 0},
		"QEMU emulator version 8.2.2 (qemu-8.2.2-1.fc40)":                           {8, 2},
	} {
		if got, err := parseVersion([]byte(text)); got != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if v, err := parseVersion([]byte("bash: qemu: command not found")); err == nil {
		t.Errorf("nonsense is version %v", v)
	}
	disk := func(kind string, threads int) File {
		return File{Disks: []Disk{{Name: "d", Kind: kind, IOThreads: threads}}}
	}
	for _, c := range []struct {
		version version
		file    File
		refused bool
	}{
		{version{7, 2}, disk(virtioBlk, 1), false}, {version{7, 2}, disk(virtioBlk, 2), true},
		{version{8, 2}, disk(virtioSCSI, 2), true},
		{version{9, 0}, disk(virtioBlk, 2), false}, {version{9, 0}, disk(virtioSCSI, 2), true},
		{version{10, 0}, disk(virtioSCSI, 2), false},
		{version{6, 2}, disk(nvme, 0), true},
	} {
		if err := c.version.refuses(c.file); (err != nil) != c.refused {
			t.Errorf("QEMU %v with %+v: %v", c.version, c.file.Disks, err)
		}
	}
}

func FuzzVersion(f *testing.F) {
	f.Add([]byte("QEMU emulator version 7.2.22 (Debian)"))
	f.Fuzz(func(t *testing.T, out []byte) {
		if v, err := parseVersion(out); err == nil && (v.major > 999 || v.minor > 999 || v.major < 0) {
			t.Errorf("%q is %v", out, v)
		}
	})
}

func TestQuoteSSH(t *testing.T) {
	if got := quoteSSH(`/tmp/a b/100%/"x"`); got != `"/tmp/a b/100%%/\"x\""` {
		t.Error(got)
	}
	if !slices.Contains(sshdPrograms(), "/usr/lib/openssh/sshd-session") {
		t.Error("newer versions of sshd would not start")
	}
}

func TestGuestOfAnotherArchitecture(t *testing.T) {
	for _, c := range []struct{ image, architecture, want string }{{"", "amd64", ""}, {"disk.raw", "arm64", ""},
		{"", "arm64", "this machine is arm64"}} {
		err := File{Image: c.image}.fits(c.architecture)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
