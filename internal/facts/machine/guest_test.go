package machine

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/testing/factstest"
)

// Ways to write a drive that the saved host has none of, from qemu(1).
func TestDrives(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"if=virtio", "-drive file=/srv/a.qcow2,if=virtio,cache=none,aio=native",
			"virtio-blk none native - 0 qcow2 /srv/a.qcow2 ignore"},
		{"hda", "-hda /srv/disk.img", "ide writeback threads - 0 ? /srv/disk.img ignore"},
		{"plain", "-blockdev " +
			"node-name=f,driver=file,aio=native,filename=/srv/a,,b.img,cache.direct=on,cache.no-flush=off -blockdev " +
			"node-name=d,driver=qcow2,file=f -device virtio-blk-pci,id=x,drive=d,num-queues=8,iothread=io0",
			"virtio-blk none native io0 8 qcow2 /srv/a,b.img ignore"},
		{"inline", "-blockdev " +
			"driver=qcow2,file.driver=file,cache.direct=off,cache.no-flush=on,file.filename=/a.qcow2,node-name=d " +
			"-device virtio-scsi-pci,id=s0 -device virtio-scsi-pci,id=s1,iothread=io1 -device " +
			"scsi-hd,id=os,drive=d,bus=s1.0",
			"virtio-scsi unsafe threads io1 0 qcow2 /a.qcow2 ignore"},
		{"first controller", "-device virtio-scsi-pci,id=s0,iothread=io0,num_queues=2 -device scsi-hd,drive=d -drive " +
			"file=/dev/sdb,id=d,if=none,format=raw,cache=directsync,discard=unmap",
			"virtio-scsi directsync threads io0 2 block_device /dev/sdb unmap"},
		{"lsi", "-device lsi53c895a,id=scsi0 -device scsi-hd,bus=scsi0.0,drive=d -drive " +
			"file=/a.raw,id=d,if=none,format=raw",
			"lsi53c895a writeback threads - 0 raw_file /a.raw ignore"},
		{"nvme", "-drive file=/a.raw,id=d,if=none,format=raw,cache=none -device nvme,drive=d,serial=1,max_ioqpairs=4",
			"nvme none threads - 4 raw_file /a.raw ignore"},
		{"vhost-user", "-chardev socket,id=c,path=/run/spdk -device vhost-user-blk-pci,chardev=c,num-queues=4",
			"vhost-user-blk ? ? - 4 vhost-user ? ?"},
		{"nbd", `-blockdev {"driver":"nbd","node-name":"d","export":"vol1","server":{"type":"inet","host":"h"}} ` +
			"-device virtio-blk-pci,drive=d", "virtio-blk writeback none - 0 nbd vol1 ignore"},
		{"unknown node", "-device virtio-blk-pci,drive=nowhere", "virtio-blk ? ? - 0 ? ? ?"},
		{"loop", "-blockdev driver=qcow2,node-name=a,file=b -blockdev driver=qcow2,node-name=b,file=a -device " +
			"virtio-blk-pci,drive=a",
			"virtio-blk writeback none - 0 qcow2 - ignore"},
		{"cd", "-drive file=/a.iso,id=d,if=none,media=cdrom -device scsi-hd,drive=d -cdrom /b.iso -drive " +
			"if=pflash,file=/ovmf.fd", ""},
	} {
		g, ok := parseGuest(append([]string{"/usr/bin/qemu-system-x86_64"}, strings.Fields(c.line)...))
		if !ok {
			t.Fatalf("%s: not taken for QEMU", c.name)
		}
		var got []string
		for _, d := range g.drives() {
			values := map[string]string{}
			for _, f := range d.facts("") {
				values[f.Key] = strings.ReplaceAll(f.Value, " ", "_")
				if f.Unknown != "" {
					values[f.Key] = "?"
				} else if f.Value == catalogue.None && f.Key != "drive.cache" && f.Key != "drive.aio" {
					values[f.Key] = "-"
				}
			}
			for _, part := range []string{"bus", "cache", "aio", "iothread", "queues", "backend", "source", "discard"} {
				got = append(got, values["drive."+part])
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, text, c.want)
		}
	}
}

// What a machine is made of, in the ways in which qemu(1) lets it be said.
func TestGuest(t *testing.T) {
	for _, c := range []struct{ line, key, want string }{
		{"qemu-system-x86_64 -enable-kvm", "guest.accelerator", "kvm"},
		{"qemu-system-x86_64 -machine q35,accel=kvm:tcg", "guest.accelerator", "kvm"},
		{"qemu-system-x86_64 -S", "guest.accelerator", "tcg"},
		{"/usr/libexec/qemu-kvm -S", "guest.accelerator", "kvm"},
		{"qemu-system-x86_64 -smp sockets=2,cores=4,threads=2", "guest.cpus", "16"},
		{"qemu-system-x86_64 -smp 6", "guest.cpus", "6"},
		{"qemu-system-x86_64 -S", "guest.cpus", "1"},
		{"qemu-system-x86_64 -m 2G", "guest.memory", "2147483648"},
		{"qemu-system-x86_64 -m size=1024,slots=255,maxmem=4194304M", "guest.memory", "1073741824"},
		{"qemu-system-x86_64 -m lots", "guest.memory", ""},
		{"qemu-system-x86_64 -m 99999999999999T", "guest.memory", ""},
		{"qemu-system-x86_64 -mem-path /dev/hugepages", "guest.hugepages", "on"},
		{"qemu-system-x86_64 -object memory-backend-file,id=m,mem-path=/mnt/huge/a", "guest.hugepages", "on"},
		{"/nix/store/abc-qemu-9.1.0/bin/qemu-system-x86_64 -S", "guest.emulator", "9.1.0"},
		{"qemu-system-x86_64 -machine type=pc-i440fx-8.1+pve0", "guest.emulator", "8.1"},
		{"qemu-system-x86_64 -nic user,model=e1000", "guest.nics", "e1000/user"},
		{"qemu-system-x86_64 -netdev tap,id=n -device virtio-net-pci,netdev=n", "guest.nics", "virtio-net-pci/tap"},
		{"qemu-system-x86_64 -netdev tap,id=n -device virtio-net-pci,netdev=n", "guest.vhost", "off"},
		{"qemu-system-x86_64 -netdev vhost-user,id=n,chardev=c -device virtio-net-pci,netdev=n", "guest.vhost", "on"},
		{"qemu-system-x86_64 -name db,process=qemu:db", "guest.name", "db"},
		{"qemu-system-x86_64 -S", "guest.manager", catalogue.None},
	} {
		g, ok := parseGuest(strings.Fields(c.line))
		if !ok {
			t.Fatalf("%s: not taken for QEMU", c.line)
		}
		if got := factstest.ValueOf(g.facts("x"), c.key); got != c.want {
			t.Errorf("%s: %s is %q, want %q", c.line, c.key, got, c.want)
		}
	}
	for _, line := range []string{"/usr/bin/qemu-img convert a b", "qemu-ga --daemonize", "kvm",
		"qemu-system-x86_64 -machine none -S", ""} {
		if _, ok := parseGuest(strings.Fields(line)); ok {
			t.Errorf("%q is taken for a virtual machine", line)
		}
	}
}

// The number of guests is bounded, and two of one name stay apart.
func TestGuestsAreBoundedAndDistinct(t *testing.T) {
	m := factstest.Saved(t, "hypervisor")
	for _, pid := range []string{"8001", "8002"} {
		for _, file := range []string{"comm", "cmdline"} {
			m.Files["proc/"+pid+"/"+file] = m.Files["proc/5202/"+file]
		}
	}
	things := map[string]bool{}
	for _, f := range CollectProcesses(collect.Reader{FS: m.FS()}, collect.Scope{}) {
		if f.Key == "guest.name" {
			things[f.About] = true
		}
	}
	for _, want := range []string{"web1", "web1/8001", "web1/8002", "db1", "prod_vm3"} {
		if !things[want] {
			t.Errorf("%s is missing: %v", want, things)
		}
	}
}

func FuzzGuest(f *testing.F) {
	n := 0
	for _, m := range factstest.Machines(f) {
		for name, file := range m.Files {
			if strings.HasPrefix(name, "proc/") && strings.HasSuffix(name, "/cmdline") && name != "proc/cmdline" {
				f.Add(string(file.Data))
				n++
			}
		}
	}
	if n < 3 {
		f.Fatal("the saved machines run fewer than three virtual machines")
	}
	r, kinds := collect.Reader{FS: factstest.Saved(f, "container").FS()}, factstest.KindsByKey(catalogue.All())
	f.Fuzz(func(t *testing.T, text string) {
		g, ok := parseGuest(strings.Split(text, "\x00"))
		if !ok {
			return
		}
		g.pid = "1"
		found := guestFactsOf(r, []guest{g})
		factstest.CheckLines(t, found)
		factstest.CheckKinds(t, found, kinds)
	})
}

func FuzzProcessIO(f *testing.F) {
	factstest.Seed(f, "/proc/4101/io")
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, w := parseProcessIO(data); r < 0 || w < 0 || r+w < 0 {
			t.Errorf("%d read, %d written", r, w)
		}
	})
}
