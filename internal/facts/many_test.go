package facts

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

// manyDisks is a machine with n SAS disks behind eight adapters of 128 interrupts each; a quarter is paired to
// multipath maps, and a quarter mounted.
func manyDisks(n int) collect.Tree {
	t := collect.NewTree()
	queue := collect.NewTree()
	for _, d := range catalogue.All() {
		if a, ok := strings.CutPrefix(d.Key, "disk.queue."); ok {
			queue.File(a, "1")
		}
	}
	queue.File("rotational", "0")
	queue.File("scheduler", "none [mq-deadline]")
	t.Put("/sys/bus/scsi/drivers/sd", &collect.Node{Names: map[string]*collect.Node{}})
	t.File("/sys/devices/system/cpu/online", "0-1023")
	t.File("/proc/sys/kernel/osrelease", "6.12.0")
	var interrupts, mounts strings.Builder
	mounts.WriteString("20 1 0:20 / / rw - tmpfs tmpfs rw\n")
	for h := range 8 {
		bus := fmt.Sprintf("/sys/devices/pci0000:%02x/0000:%02x:00.0", 16*h, 16*h+1)
		address := path.Base(bus)
		t.Link("/sys/bus/pci/devices/"+address, bus)
		for name, data := range map[string]string{"class": "0x010700", "vendor": "0x1000", "device": "0x00af",
			"numa_node":          "0",
			"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "8", "max_link_speed": "8.0 GT/s PCIe",
			"max_link_width": "8"} {
			t.File(bus+"/"+name, data)
		}
		t.File(fmt.Sprintf("/sys/class/scsi_host/host%d/proc_name", h), "mpt3sas")
		for i := range 128 {
			irq := 1000 + 128*h + i
			t.File(fmt.Sprintf("%s/msi_irqs/%d", bus, irq), "msix")
			t.File(fmt.Sprintf("/proc/irq/%d/smp_affinity_list", irq), fmt.Sprintf("%d-%d", 8*i, 8*i+7))
			fmt.Fprintf(&interrupts, "%5d:%s  IR-PCI-MSI  0-edge      mpt3sas%d-msix%d\n", irq,
				strings.Repeat("          0", 1024), h, i)
		}
	}
	t.File("/proc/interrupts", interrupts.String())
	for i := range n {
		host := i % 8
		name := fmt.Sprintf("sd%05d", i)
		device := fmt.Sprintf(
			"/sys/devices/pci0000:%02x/0000:%02x:00.0/host%d/port-%d:%d/end_device-%d:%d/target%d:0:%d/%d:0:%d:0",
			16*host, 16*host+1, host, host, i, host, i, host, i, host, i)
		t.File(device+"/model", "SAS SSD")
		t.File(device+"/wwid", fmt.Sprintf("naa.%016x", i))
		t.File(device+"/queue_depth", "254")
		t.Link(device+"/driver", "/sys/bus/scsi/drivers/sd")
		t.Link(fmt.Sprintf("%s/../../../phy-%d:%d", device, host, i), "../x")
		disk := device + "/block/" + name
		t.Link("/sys/class/block/"+name, disk)
		t.Link(disk+"/device", device)
		t.File(disk+"/size", "1000000")
		t.Put(disk+"/queue", queue.Root)
		t.File(fmt.Sprintf("%s/%s1/start", disk, name), "2048")
		t.File(fmt.Sprintf("%s/%s1/partition", disk, name), "1")
		t.Link("/sys/class/block/"+name+"1", disk+"/"+name+"1")
		switch i % 4 {
		case 0:
			mapped := fmt.Sprintf("dm-%d", i/8)
			folder := "/sys/devices/virtual/block/" + mapped
			t.Link("/sys/class/block/"+mapped, folder)
			t.Link(folder+"/slaves/"+name, disk)
			t.Link(disk+"/holders/"+mapped, folder)
			t.File(folder+"/dm/name", "mpath"+mapped)
			t.File(folder+"/dm/uuid", "mpath-"+mapped)
			t.File(folder+"/size", "1000000")
		case 1:
			number := fmt.Sprintf("%d:%d", 300+i/256, i%256)
			t.Link("/sys/dev/block/"+number, disk+"/"+name+"1")
			fmt.Fprintf(&mounts, "%d 20 %s / /srv/%d rw - xfs /dev/%s1 rw\n", 100+i, number, i, name)
		}
	}
	t.File("/proc/self/mountinfo", mounts.String())
	return t
}

// TestThousandsOfDisks checks that the work grows linearly with the number of disks, not with its square: it counts
// file accesses.
func TestThousandsOfDisks(t *testing.T) {
	t.Parallel()
	read := func(n int) (map[string]int64, []lab.Fact) {
		machine := manyDisks(n)
		looks := map[string]int64{}
		var facts []lab.Fact
		for _, c := range Collectors() {
			switch c.Name {
			case "all-disks", "nvme", "volumes", "iscsi", "mounts", "pci":
			default:
				continue
			}
			machine.Looked.Store(0)
			start := time.Now()
			in := collect.Scope{Files: machine}
			if c.Commands != nil {
				c.Commands(in)
			}
			found := c.Collect(collect.Reader{FS: machine}, in)
			looks[c.Name] = machine.Looked.Load()
			t.Logf("%d disks, %s: %d facts, %d looks, %v", n, c.Name, len(found), looks[c.Name], time.Since(start))
			facts = append(facts, found...)
		}
		return looks, facts
	}
	const few, many = 500, 4000
	small, _ := read(few)
	large, facts := read(many)
	for name, n := range large {
		if fixed := int64(5000); n > small[name]*many/few*5/4+fixed {
			t.Errorf("%s: %d looks at %d disks, %d at %d", name, small[name], few, n, many)
		}
		if n/many > 120 {
			t.Errorf("%s: %d looks a disk", name, n/many)
		}
	}
	checkWhole(t, facts)
	count := map[string]int{}
	for _, f := range facts {
		count[f.Key]++
		if f.Key == "disk.irq.cpus" && f.Value != "1024" {
			t.Fatalf("%+v", f)
		}
	}
	for key, want := range map[string]int{"disk.model": many, "disk.irq.cpus": many, "multipath.paths": many / 8,
		"mount.disks": many/4 + 1, "pci.class": 8} {
		if count[key] != want {
			t.Errorf("%d of %s, not %d", count[key], key, want)
		}
	}
}
