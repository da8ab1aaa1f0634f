package rule

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// renderedFor renders a remedy for one system.
func renderedFor(r Remedy, about []string, system string, facts []lab.Fact) Instruction {
	return render(r, about, newMachine(newVocabulary(), facts), systems{names: []string{system}})[0]
}

// Every system, with what its text must contain.
func TestRender(t *testing.T) {
	disks := []string{"nvme0n1", "nvme1n1"}
	debian, rocky, suse := "os.id = debian", "os.id = rocky", "os.id = opensuse-leap"
	for _, c := range []struct {
		system, set string
		facts       []string
		about       []string
		want        []string // pieces of the text
		undo        string   // a piece of the undo line
	}{
		{"grub", "cmdline:iommu.strict=0", []string{debian}, nil,
			[]string{"add iommu.strict=0 to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then update-grub"},
			"remove the argument, then update-grub"},
		{"grub", "cmdline:-numa=off", []string{debian}, nil,
			[]string{"remove numa=off from GRUB_CMDLINE_LINUX_DEFAULT and GRUB_CMDLINE_LINUX"},
			"put the argument back"},
		{"grub", "cmdline:iommu.strict=0", []string{rocky}, nil,
			[]string{`grubby --update-kernel=ALL --args="iommu.strict=0"`}, `--remove-args="iommu.strict=0"`},
		{"grub", "cmdline:nosmt=absent", []string{rocky}, nil, []string{`--remove-args="nosmt"`}, `--args="nosmt"`},
		{"talos", "sysfs:/sys/kernel/mm/ksm/run=0", nil, nil, []string{`machine: {sysfs: {kernel.mm.ksm.run: "0"}}`},
			"remove"},
		{"grub", "cmdline:-nosmt", []string{rocky}, nil, []string{`grubby --update-kernel=ALL --remove-args="nosmt"`},
			`--args="nosmt"`},
		{"grub", "cmdline:nosmt", []string{suse}, nil, []string{"grub2-mkconfig -o /boot/grub2/grub.cfg"},
			"grub2-mkconfig"},
		{"grub", "cmdline:nosmt", []string{"os.id = rhcos"}, nil,
			[]string{"MachineConfig with spec.kernelArguments: [nosmt]"}, "delete the MachineConfig"},
		{"grub", "module:nvme.poll_queues=4", []string{debian}, nil, []string{"add nvme.poll_queues=4"}, "remove"},
		{"systemd-boot", "cmdline:nosmt", []string{debian}, nil,
			[]string{"/etc/kernel/cmdline", `kernel-install add "$(uname -r)" /boot/vmlinuz-"$(uname -r)"`},
			"remove the argument"},
		{"systemd-boot", "cmdline:-nosmt", []string{"os.id = arch", "os.boot_loader = uki"}, nil,
			[]string{"remove nosmt from the line in /etc/kernel/cmdline", "/usr/lib/modules/",
				"rebuilds the unified kernel image"}, "put the argument back"},
		{"proxmox", "cmdline:nosmt", []string{"os.boot_loader = grub"}, nil,
			[]string{"/etc/default/grub, then update-grub"}, "update-grub"},
		{"proxmox", "cmdline:nosmt", []string{"os.boot_loader = systemd-boot"}, nil,
			[]string{"/etc/kernel/cmdline, then proxmox-boot-tool refresh"}, "proxmox-boot-tool refresh"},
		{"proxmox", "cmdline:nosmt", nil, nil,
			[]string{"which boot loader?", "update-grub", "proxmox-boot-tool refresh"}, "same command"},
		{"proxmox", "guest:iothreads=1", nil, nil,
			[]string{"qm set VMID --scsihw virtio-scsi-single --scsi0 VOLUME,iothread=1"}, "qm set"},
		{"proxmox", "guest:aio=native", nil, nil, []string{"qm set VMID --scsi0 VOLUME,aio=native"}, "qm set"},
		{"talos", "cmdline:iommu.strict=0", []string{"os.boot_loader = grub"}, nil,
			[]string{"GRUB: add iommu.strict=0 to machine.install.extraKernelArgs and upgrade", "grubUseUKICmdline"},
			"upgrade"},
		{"talos", "cmdline:iommu.strict=0", []string{"os.boot_loader = uki"}, nil,
			[]string{"machine.install.extraKernelArgs is ignored", "customization: {extraKernelArgs: [iommu.strict=0]}",
				"Image Factory schematic"}, "upgrade"},
		{"talos", "cmdline:-init_on_free=1", nil, nil,
			[]string{"which boot loader?", "bootedWithUKI", `out of machine.install.extraKernelArgs`,
				`add "-init_on_free=1" there`,
				`extraKernelArgs: ["-init_on_free=1"]`}, "upgrade"},
		{"talos", "sysctl:vm.swappiness=10", nil, nil, []string{`machine: {sysctls: {vm.swappiness: "10"}}`,
			"SysctlConfig"}, "remove"},
		{"talos", "queue:scheduler=none", nil, disks,
			[]string{"machine: {udev: {rules: ['ACTION==", `ATTR{queue/scheduler}="none"`}, "remove"},
		{"talos", "cpu:governor=performance", []string{"os.boot_loader = uki"}, nil,
			[]string{"cpufreq.default_governor=performance"}, "upgrade"},
		{"talos", "module:nvme.poll_queues=4", []string{"os.boot_loader = uki"}, nil,
			[]string{"extraKernelArgs: [nvme.poll_queues=4]"}, "upgrade"},
		{"talos", "sysfs:kernel/mm/transparent_hugepage/enabled=madvise", nil, nil,
			[]string{`machine: {sysfs: {kernel.mm.transparent_hugepage.enabled: "madvise"}}`}, "remove"},
		{"talos", "nic:mtu=9000", nil, []string{"eth0", "eth1"},
			[]string{"mtu: 9000", "eth0", "LinkConfig", "2 interfaces"}, "remove"},
		{"talos", "nic:ring.rx=4096", nil, []string{"eth0"},
			[]string{"kind: EthernetConfig, name: eth0, rings: {rx: 4096}"}, "remove"},
		{"talos", "nic:offload.tso=on", nil, []string{"eth0"}, []string{"features: {tx-tcp-segmentation: true}"},
			"remove"},
		{"talos", "nic:pause.rx=off", nil, []string{"eth0"}, []string{"privileged pod", "ethtool -A eth0 rx off"},
			"old value"},
		{"talos", "cpu:boost=1", nil, nil, []string{`sysfs: {devices.system.cpu.cpufreq.boost: "1"}`}, "remove"},
		{"talos", "cpu:epp=performance", nil, nil, []string{"policy0.energy_performance_preference",
			"every other policy"}, "remove"},
		{"talos", "cpu:latency=10", nil, nil, []string{"privileged pod"}, "old value"},
		{"plain", "guest:iothreads=4", nil, nil, []string{"-object iothread,id=io1", "--for libvirt"}, "old value"},
		{"talos", "mount:nconnect=8", nil, []string{"/srv"}, []string{"no /etc/fstab", "mountOptions", "nconnect=8"},
			"remove"},
		{"proxmox", "mount:nconnect=8", nil, []string{"/mnt/pve/rdma", "/mnt/pve/rdma2"},
			[]string{"add nconnect=8 to the line options of the storage rdma and rdma2 in /etc/pve/storage.cfg",
				"\npvesm set rdma --disable 1; umount /mnt/pve/rdma\n", "\npvesm set rdma2 --disable 0"}, "remove"},
		{"proxmox", "mount:nconnect=8", nil, []string{"/srv"}, []string{"proxmox has no place for mount:nconnect=8"},
			""},
		{"talos", "guest:iothreads=2", nil, nil, []string{"talos has no place for guest:iothreads=2", "try libvirt"},
			""},
		{"sysctl.d", "sysctl:vm.swappiness=10", nil, nil,
			[]string{"vm.swappiness = 10 into /etc/sysctl.d/90-headroom.conf, then sysctl --system"},
			"remove the line"},
		{"sysctl.d", "cmdline:nosmt", nil, nil, []string{"sysctl.d has no place for cmdline:nosmt", "boot loader"}, ""},
		{"modprobe.d", "module:nvme.poll_queues=4", []string{debian}, nil,
			[]string{"options nvme poll_queues=4 into /etc/modprobe.d/headroom.conf, then update-initramfs -u",
				"boot with nvme.poll_queues=4"},
			"update-initramfs -u"},
		{"modprobe.d", "module:nvme.poll_queues=4", []string{rocky}, nil, []string{"dracut -f"}, "dracut -f"},
		{"udev", "queue:scheduler=none", []string{"disk.size nvme0n1 = 1", "disk.size nvme1n1 = 1",
			"disk.size sda = 1"}, disks,
			[]string{`ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", KERNEL=="nvme*n*", ATTR{queue/scheduler}="none"`,
				"/etc/udev/rules.d/90-headroom.rules"}, "remove the line"},
		{"udev", "queue:scheduler=none", []string{"disk.size nvme2n1 = 1"}, disks,
			[]string{`KERNEL=="nvme0n1|nvme1n1"`}, "remove the line"},
		{"udev", "sysctl:a.b=1", nil, nil, []string{"udev has no place"}, ""},
		{"tmpfiles.d", "cpu:governor=performance", nil, nil,
			[]string{"w /sys/devices/system/cpu/cpufreq/policy*/scaling_governor - - - - performance into " +
				"/etc/tmpfiles.d/headroom.conf"}, "remove"},
		{"tuned", "cpu:governor=performance", nil, nil,
			[]string{"[cpu]\ngovernor=performance", "tuned-adm profile headroom"}, "tuned-adm"},
		{"tuned", "sysctl:vm.swappiness=10", nil, nil, []string{"[sysctl]\nvm.swappiness=10"}, "tuned-adm"},
		{"tuned", "cmdline:nosmt", nil, nil, []string{"[bootloader]\ncmdline_headroom=+nosmt"}, "tuned-adm"},
		{"tuned", "cmdline:-nosmt", nil, nil, []string{"tuned has no place"}, ""},
		{"tuned", "queue:scheduler=none", nil, disks, []string{"[disk]\ndevices=nvme0n1,nvme1n1\nelevator=none"},
			"tuned-adm"},
		{"tuned", "queue:nomerges=2", nil, disks, []string{"tuned has no place"}, ""},
		{"libvirt", "guest:iothreads=4", nil, nil, []string{"virsh edit DOMAIN", "<iothreads>4</iothreads>"},
			"virsh edit"},
		{"libvirt", "guest:cache=none", nil, nil, []string{"attribute cache='none' in the <driver>"}, "virsh edit"},
		{"kubevirt", "guest:iothreads=4", nil, nil,
			[]string{"ioThreadsPolicy: supplementalPool", "supplementalPoolThreadCount: 4", "blockMultiQueue: true"},
			"restart"},
		{"libvirt", "guest:bus=virtio-blk", nil, nil, []string{"bus='virtio'/>"}, "virsh edit"},
		{"libvirt", "guest:bus=virtio-scsi", nil, nil, []string{"bus='scsi'/>", "model='virtio-scsi'"}, "virsh edit"},
		{"kubevirt", "guest:bus=virtio-scsi", nil, nil, []string{"disk: {bus: scsi}"}, "restart"},
		{"kubevirt", "guest:bus=virtio-blk", nil, nil, []string{"disk: {bus: virtio}"}, "restart"},
		{"kubevirt", "guest:aio=io_uring", nil, nil, []string{"kubevirt has no place"}, ""},
		{"kubevirt", "sysctl:a.b=1", nil, nil, []string{"kubevirt has no place"}, ""},
		{"plain", "sysctl:net.ipv4.tcp_rmem=4096 87380 16777216", nil, nil,
			[]string{`sysctl -w net.ipv4.tcp_rmem="4096 87380 16777216"`}, "old value"},
		{"plain", "queue:scheduler=none", nil, []string{"a", "b", "c", "d", "e", "f"},
			[]string{"echo none > /sys/block/a/queue/scheduler\n", "and so for 2 more"}, "old value"},
		{"plain", "nic:mtu=9000", nil, []string{"eth0"},
			[]string{"ip link set dev eth0 mtu 9000", "MTUBytes=9000",
				"NamePolicy=keep kernel database onboard slot path", "every peer"}, "old value"},
		{"plain", "nic:offload.tso=on", nil, []string{"eth0"},
			[]string{"ethtool -K eth0 tso on", "TCPSegmentationOffload=yes"}, "old value"},
		{"plain", "nic:coalesce.rx_usecs=8", nil, []string{"eth0"},
			[]string{"ethtool -C eth0 rx-usecs 8", "RxCoalesceSec=8us"}, "old value"},
		{"plain", "cpu:governor=performance", nil, nil, []string{"cpupower frequency-set -g performance"}, "old value"},
		{"plain", "mount:nconnect=8", nil, []string{"/srv"},
			[]string{"add nconnect=8 to the options in /srv's line of /etc/fstab"}, "remove"},
		{"plain", "nic:mtu=9000", nil, []string{"a;reboot"}, []string{"ip link set dev 'a;reboot' mtu 9000"},
			"old value"},
		{"grub", "cmdline:iommu.strict=0", []string{debian, "kernel.cmdline = ro iommu.strict=1"}, nil,
			[]string{"add iommu.strict=0", "iommu.strict=1, which is in force, makes room"}, "remove the argument"},
		{"plain", "exec:fstrim -av", nil, nil, []string{"fstrim -av"}, ""},
		{"plain", "irq:spread over the node's threads", nil, nil, []string{"spread over the node's threads"}, ""},
		{"grub", "cmdline:-numa", []string{rocky, "kernel.cmdline = ro numa=off quiet"}, nil,
			[]string{`--remove-args="numa=off"`}, `--args="numa=off"`},
		{"grub", "cmdline:-numa", []string{"os.id = arch", "kernel.cmdline = ro numa=off"}, nil,
			[]string{"remove numa=off from", "grub-mkconfig -o /boot/grub/grub.cfg"}, "put the argument back"},
		{"talos", "cmdline:-pti", []string{"os.boot_loader = uki", "kernel.cmdline = pti=on"}, nil,
			[]string{`extraKernelArgs: ["-pti=on"]`}, "take"},
		{"plain", "cmdline:-console", []string{"kernel.cmdline = console=tty0 console=ttyS0"}, nil,
			[]string{"boot without console"}, "boot with it again"},
		{"plain", "cmdline:-nosmt", nil, nil, []string{"boot without nosmt"}, "boot with it again"},
		{"grub", "cmdline:nosmt", []string{"container.kind = kubernetes"}, nil,
			[]string{"on the host, not in this container: add nosmt"}, "remove"},
	} {
		in := renderedFor(Remedy{Set: c.set, Cost: "power", Reboot: true}, c.about, c.system, snapshot(t, c.facts...))
		for _, piece := range c.want {
			if !strings.Contains(in.Text, piece) {
				t.Errorf("%s %s: %q does not say %q", c.system, c.set, in.Text, piece)
			}
		}
		if !strings.Contains(in.Undo, c.undo) || (c.undo == "") != (in.Undo == "") {
			t.Errorf("%s %s: undo is %q", c.system, c.set, in.Undo)
		}
		if in.Cost != "power" || !in.Reboot || in.Set != c.set {
			t.Errorf("%s %s: %+v", c.system, c.set, in)
		}
	}
}

// Every system has a text for every setting, and no text has a missing value.
func TestEverySystemAnswersEverySetting(t *testing.T) {
	sets := []string{"cmdline:a.b=1", "cmdline:-a", "cmdline:a", "sysctl:a.b=1", "module:a.b=1", "module:a=1",
		"queue:scheduler=none",
		"queue:nomerges=2", "sysfs:kernel/mm/ksm/run=0", "cpu:governor=performance", "cpu:latency=1", "cpu:strange=1",
		"nic:mtu=9000",
		"nic:qdisc=fq", "nic:strange=1", "irq:spread", "mount:noatime", "guest:cpu=host", "guest:strange=1",
		"exec:true"}
	for name := range nicSettings() {
		sets = append(sets, "nic:"+name+"=on")
	}
	for _, s := range []string{"iothreads", "queues", "cache", "aio", "bus", "net_queues", "cpu", "hugepages"} {
		sets = append(sets, "guest:"+s+"=1")
	}
	for _, system := range Systems() {
		for _, set := range sets {
			in := renderedFor(Remedy{Set: set, Cost: "none"}, []string{"x"}, system, nil)
			if in.Text == "" || in.System == "" || strings.Contains(in.Text, "%!") {
				t.Errorf("%s %s: %+v", system, set, in)
			}
		}
	}
}

// Remedies are written for the systems that facts show.
func TestSystemsOfAMachine(t *testing.T) {
	rules := ruleText("a", "true", "remedies:", "- {set: 'cmdline:a=1', cost: none}",
		"- {set: 'sysctl:a.b=1', cost: none}",
		"- {set: 'module:a.b=1', cost: none}", "- {set: 'queue:scheduler=none', cost: none}",
		"- {set: 'cpu:governor=performance', cost: none}",
		"- {set: 'guest:aio=native', cost: none}", "- {text: change the slot, cost: money}",
		"- {set: 'nic:strange=1', cost: none}")
	for _, c := range []struct {
		facts []string
		asked []string
		want  string
	}{
		{[]string{"os.id = debian", "os.boot_loader = grub"}, nil,
			"grub sysctl.d modprobe.d udev tmpfiles.d plain plain plain"},
		{[]string{"os.id = debian", "os.boot_loader ? permission denied; root may read it"}, nil,
			"grub systemd-boot sysctl.d modprobe.d udev tmpfiles.d plain plain plain"},
		{[]string{"os.id = arch", "os.boot_loader = uki"}, nil,
			"systemd-boot sysctl.d modprobe.d udev tmpfiles.d plain plain plain"},
		{[]string{"os.id = debian", "os.pve = none", "os.boot_loader = grub"}, nil,
			"grub sysctl.d modprobe.d udev tmpfiles.d plain plain plain"},
		{[]string{"os.id = debian", "os.pve = 8.2", "os.boot_loader = systemd-boot"}, nil,
			"proxmox sysctl.d modprobe.d udev tmpfiles.d proxmox plain plain"},
		{[]string{"os.id = talos"}, nil, "talos talos talos talos talos kubevirt plain plain"},
		{[]string{"os.id = talos", "guest.manager vm = kubevirt"}, nil,
			"talos talos talos talos talos kubevirt plain plain"},
		{[]string{"os.id = debian", "os.boot_loader = grub", "guest.manager vm = libvirt"}, nil,
			"grub sysctl.d modprobe.d udev tmpfiles.d libvirt plain plain"},
		{[]string{"os.id = debian"}, []string{"talos", "tuned"},
			"talos tuned talos tuned talos tuned talos tuned talos tuned talos plain talos"},
	} {
		r := set(t, rules).Evaluate(snapshot(t, c.facts...), Options{Systems: c.asked})
		var got []string
		for _, in := range r.Findings[0].Remedies {
			got = append(got, in.System)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%v: got %s, want %s", c.facts, s, c.want)
		}
	}
}

func TestBootArguments(t *testing.T) {
	got := bootArguments("a-b=1 a_b=2  c d=\"x y\" \"e f\"=g -- h=i")
	var lines []string
	for k, v := range got {
		lines = append(lines, k+"="+v)
	}
	slices.Sort(lines)
	if s := strings.Join(lines, ";"); s != "a_b=2;c=on;d=x y;e f=g" {
		t.Errorf("got %s", s)
	}
}
