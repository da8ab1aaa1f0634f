package guard

import (
	"path"
	"strings"
)

// Use is a way in which the device, or a related one, is in use.
type Use struct {
	Who string `json:"who"` // "it", "partition 2", "dm-1 (LVM volume vg0-root)"
	How string `json:"how"` // "is mounted on /boot"
}

// held finds devices that are built on the device: their existence is enough, mounted or not.
func (f *family) held() []Use {
	var uses []Use
	for _, m := range f.members {
		switch {
		case m.relation == holder:
			uses = append(uses, Use{m.words, "is built on it"})
		case m.relation != underneath && f.exists(classDir(m.name)+"/bcache") && !strings.HasPrefix(m.name, "bcache"):
			// A caching device has no holder, and a backing device has none until its cache is attached.
			uses = append(uses, Use{m.words, "is registered with bcache"})
		}
	}
	return uses
}

// pooled finds members of a mounted file system that spans devices: mountinfo names one of them at most.
//
//	/sys/fs/btrfs/5d3c1a0e-…/devices/sdb -> ../../../../devices/…/block/sdb
//	/sys/fs/bcachefs/0a5b…/dev-0/block -> ../../../../devices/…/block/sdc
func (f *family) pooled() []Use {
	var uses []Use
	add := func(name, what string) {
		for _, m := range f.members {
			if m.name == name {
				uses = append(uses, Use{m.words, "belongs to a mounted " + what + " file system"})
			}
		}
	}
	pools, err := f.entries("sys/fs/btrfs")
	if err != nil {
		f.fault("can't list the btrfs file systems", err)
	}
	for _, pool := range pools {
		devices, err := f.entries("sys/fs/btrfs/" + pool + "/devices")
		if err != nil && pool != "features" {
			f.fault("can't list the devices of btrfs "+pool, err)
		}
		for _, d := range devices {
			add(d, "btrfs")
		}
	}
	pools, err = f.entries("sys/fs/bcachefs")
	if err != nil {
		f.fault("can't list the bcachefs file systems", err)
	}
	for _, pool := range pools {
		devices, err := f.entries("sys/fs/bcachefs/" + pool)
		if err != nil {
			f.fault("can't list the devices of bcachefs "+pool, err)
		}
		for _, d := range devices {
			if strings.HasPrefix(d, "dev-") {
				add(path.Base(f.link("sys/fs/bcachefs/"+pool+"/"+d+"/block")), "bcachefs")
			}
		}
	}
	return uses
}

// exported finds members that this machine exports over NVMe-oF; the kernel's target opens them without a claim. (Its
// SCSI target does claim the devices that it exports.)
func (f *family) exported() []Use {
	var uses []Use
	subsystems, err := f.entries("sys/kernel/config/nvmet/subsystems")
	if err != nil {
		f.fault("can't list the NVMe target's subsystems", err)
	}
	for _, subsystem := range subsystems {
		dir := "sys/kernel/config/nvmet/subsystems/" + subsystem + "/namespaces"
		namespaces, err := f.entries(dir)
		if err != nil {
			f.fault("can't list the namespaces of "+subsystem, err)
		}
		for _, n := range namespaces {
			served := f.optional(dir + "/" + n + "/device_path")
			if served == "" || f.optional(dir+"/"+n+"/enable") == "0" {
				continue
			}
			who := f.usesOfFile(served)
			if number, ok := f.number(served); ok {
				if m, ok := f.by(number); ok {
					who = append(who, m.words)
				}
			}
			for _, w := range who {
				uses = append(uses, Use{w, "is served over NVMe-oF as " + subsystem})
			}
		}
	}
	return uses
}

// programsHidden reports whether this process sees only the processes of its PID namespace. The initial namespace has
// the same number on every machine: PROC_PID_INIT_INO, include/linux/proc_ns.h.
func (f *family) programsHidden() bool {
	namespace := f.link("proc/self/ns/pid")
	return namespace != "" && namespace != "pid:[4026531836]"
}
