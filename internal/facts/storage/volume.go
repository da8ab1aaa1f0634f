package storage

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

// VolumeCommands ask for what /sys does not show, and only where there is something to ask about.
func VolumeCommands(in collect.Scope) [][]string {
	r := collect.Reader{FS: in.Files}
	names := r.Names("/sys/class/block")
	var commands [][]string
	if slices.ContainsFunc(names, dmName.MatchString) && cannotRun(r, "dmsetup", "dmsetup") == "" {
		commands = append(commands, tableCommand(), statusCommand())
	}
	if slices.ContainsFunc(names, drbdName.MatchString) && cannotRun(r, "drbdsetup", "drbd-utils") == "" {
		commands = append(commands, drbdStatusCommand(), drbdShowCommand())
	}
	return commands
}

// CollectVolumes describes the block devices that are made of others, and multipath maps once more as such.
func CollectVolumes(r collect.Reader, in collect.Scope) []lab.Fact {
	s := inventoryOf(r, in)
	volumes := s.known.volumes()
	used := s.used()
	tables := dmTargets(s.Reader, in, tableCommand())
	status := dmTargets(s.Reader, in, statusCommand())
	var replicas map[int]replica
	var source, reason string
	if slices.ContainsFunc(volumes, func(d blockDevice) bool { return d.Kind == "drbd" }) {
		replicas, source, reason = replicasOf(s.Reader, in)
	}
	names := make(map[string]string, len(s.known.mapped))
	for name, device := range s.known.mapped {
		names[device] = name
	}
	// dmsetup names the devices as device mapper does; a name that /sys hides can't be found in its output.
	return collect.Spread(len(volumes), func(i int) []lab.Fact {
		d := volumes[i]
		facts := s.volume(d, used, names[d.Name])
		switch d.Kind {
		case "dm":
			facts = append(facts, d.mapped(s.Reader, names[d.Name], tables, status)...)
		case "md":
			facts = append(facts, md(s.Reader, d.Name)...)
		case "drbd":
			facts = append(facts, drbd(d.Name, replicas, source, reason)...)
		}
		return collect.About(d.Name, facts...)
	})
}

func (s Stack) volume(d blockDevice, used map[string]bool, mapped string) []lab.Fact {
	dir := Class(d.Name)
	name := collect.Known("volume.name", d.Name, dir)
	switch {
	case mapped != "":
		name = collect.Known("volume.name", mapped, dir+"/dm/name")
	case d.Kind == "loop":
		name = s.Fact("volume.name", dir+"/loop/backing_file")
	}
	members := collect.ListOf("volume.members", d.Below, dir+"/slaves")
	disks := collect.ListOf("volume.disks", s.disksUnder(d.Name), dir+"/slaves")
	if d.Kind == "zfs" {
		members = collect.Unknown(members.Key, members.Source, zfsHidden)
		disks = collect.Unknown(disks.Key, disks.Source, zfsHidden)
	}
	facts := []lab.Fact{
		name,
		d.volumeKind(s.Reader),
		members,
		disks,
		collect.ListOf("volume.holders", s.known.holders(d.Name, used), dir+"/holders"),
		sizeFact(s.Reader, "volume.size", d.Name),
	}
	return append(facts, queue{s.Reader, "volume", d.Name}.ofVolume()...)
}

// disksUnder are the disks under a device; none for one that hides what it is made of (a volume of ZFS).
func (s Stack) disksUnder(name string) []string {
	return slices.DeleteFunc(s.Disks(name), func(disk string) bool { return disk == name })
}

// volumeKind is what a volume does. Device mapper's come from the UUID, whose first part names the program that made
// it, and for LVM from the layers underneath, which carry their part in the UUID's last part.
//
//	CRYPT-LUKS2-0a1b2c3d4e5f60718293a4b5c6d7e8f9-md0_crypt
//	LVM-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZab-tpool
//	part1-mpath-360014051234567890abcdef012345678
func (l layer) volumeKind(r collect.Reader) lab.Fact {
	const key = "volume.kind"
	file := Class(l.Name) + "/dm/uuid"
	if l.Kind != "dm" {
		return collect.Known(key, l.Kind, Class(l.Name))
	}
	kind := DmType(r, l.Name)
	switch {
	case kind == "lvm":
		kind = l.lvmKind(r)
	case kind == "mpath":
		kind = "multipath"
	case strings.HasPrefix(kind, "part"):
		kind = "partition"
	case kind == "crypt":
		id, _ := r.Text(file)
		for _, other := range []string{"VERITY", "INTEGRITY"} {
			if strings.HasPrefix(id, "CRYPT-"+other+"-") {
				kind = strings.ToLower(other)
			}
		}
	}
	return collect.Known(key, kind, file)
}

func (l layer) lvmKind(r collect.Reader) string {
	layers := map[string]string{
		"tpool": "thin-pool", "pool": "thin-pool", "tdata": "thin-pool data", "tmeta": "thin-pool metadata",
		"cow": "snapshot data", "cdata": "cache data", "cmeta": "cache metadata", "cpool_cdata": "cache data",
		"cpool_cmeta": "cache metadata", "vdata": "vdo data", "vpool": "vdo pool",
	}
	if kind, ok := layers[lvmLayer(r, l.Name)]; ok {
		return kind
	}
	for _, b := range l.Below {
		switch lvmLayer(r, b) {
		case "tpool":
			return "thin"
		case "cow", "real":
			return "snapshot"
		case "cdata", "cpool_cdata", "cvol":
			return "cache"
		case "vpool":
			return "vdo"
		}
	}
	return "lvm"
}

// lvmLayer is the last part of an LVM UUID that has three: what part of a volume it is.
func lvmLayer(r collect.Reader, name string) string {
	id, err := r.Text(Class(name) + "/dm/uuid")
	if err != nil {
		return ""
	}
	rest, ok := strings.CutPrefix(id, "LVM-")
	_, layer, found := strings.Cut(rest, "-")
	if !ok || !found {
		return ""
	}
	return layer
}

// md describes a software RAID. Attributes that a level does not have are left out: only RAID levels with redundancy
// can be degraded, only RAID 4, 5 and 6 have stripes to cache. Source: the kernel's Documentation/admin-guide/md.rst.
//
//	/sys/class/block/md0/md/level:              raid10
//	/sys/class/block/md0/md/sync_action:        idle
//	/sys/class/block/md0/md/bitmap/location:    +8
func md(r collect.Reader, name string) []lab.Fact {
	dir := Class(name) + "/md"
	facts := []lab.Fact{
		r.Fact("volume.md.level", dir+"/level"),
		r.Fact("volume.md.disks", dir+"/raid_disks"),
		r.Fact("volume.md.chunk_size", dir+"/chunk_size"),
	}
	level := facts[0].Value
	if level != "raid0" && level != "linear" {
		facts = append(facts,
			r.Fact("volume.md.degraded", dir+"/degraded"),
			r.Fact("volume.md.sync_action", dir+"/sync_action"),
			r.Fact("volume.md.bitmap", dir+"/bitmap/location"))
	}
	if level == "raid4" || level == "raid5" || level == "raid6" {
		facts = append(facts,
			r.Fact("volume.md.stripe_cache_size", dir+"/stripe_cache_size"),
			r.Fact("volume.md.group_thread_cnt", dir+"/group_thread_cnt"))
	}
	return facts
}

// dmOutput is what dmsetup printed of all devices, or why it did not.
type dmOutput struct {
	targets        map[string][]dmTarget
	source, reason string
}

func dmTargets(r collect.Reader, in collect.Scope, command []string) dmOutput {
	a := dmOutput{source: lab.ShellQuote(command)}
	if a.reason = cannotRun(r, "dmsetup", "dmsetup"); a.reason != "" {
		return a
	}
	p := in.Lookup(command)
	a.reason = p.Failed
	a.targets = parseTargets(p.Stdout)
	return a
}

// of is what was printed of one device.
func (a dmOutput) of(name string) (targets []dmTarget, reason string) {
	if a.reason != "" {
		return nil, a.reason
	}
	if targets = a.targets[name]; len(targets) == 0 {
		return nil, "dmsetup does not list it"
	}
	return targets, ""
}

// mapped describes a device of device mapper by its table, which only root may read.
func (d blockDevice) mapped(r collect.Reader, name string, tables, status dmOutput) []lab.Fact {
	targets, reason := tables.of(name)
	var facts []lab.Fact
	put := func(key string, ok bool, value string) {
		switch {
		case reason != "":
			facts = append(facts, collect.Unknown(key, tables.source, reason))
		case !ok:
			facts = append(facts, collect.Unknown(key, tables.source, "the table has another form than expected"))
		default:
			facts = append(facts, collect.Known(key, value, tables.source))
		}
	}
	put("volume.dm.table", true, strings.Join(kindsOf(targets), ", "))
	kind := d.volumeKind(r).Value
	switch kind {
	case "crypt":
		var c crypt
		ok := false
		if len(targets) > 0 {
			c, ok = parseCrypt(targets[0].params)
		}
		flags := strings.Join(c.flags, ", ")
		if flags == "" {
			flags = catalogue.None
		}
		put("volume.crypt.flags", ok, flags)
		put("volume.crypt.cipher", ok, c.cipher)
		put("volume.crypt.sector_size", ok, strconv.FormatInt(c.sectorSize, 10))
	case "lvm":
		// RAID, mirror and other targets have no stripes in this sense.
		if n := stripes(targets); n > 0 || reason != "" {
			put("volume.lvm.stripes", true, strconv.Itoa(n))
		}
	case "multipath":
		facts = append(facts, d.multipath(r, name, tables, status)...)
	}
	return facts
}

// multipath describes a multipath map. Its members are in /sys; how it picks among them only root may read.
func (d blockDevice) multipath(r collect.Reader, name string, tables, status dmOutput) []lab.Fact {
	dir := Class(d.Name)
	facts := []lab.Fact{
		r.Fact("multipath.name", dir+"/dm/name"),
		collect.Whole("multipath.paths", int64(len(d.Below)), dir+"/slaves"),
		collect.ListOf("multipath.members", d.Below, dir+"/slaves"),
	}
	read := func(a dmOutput, parse func([]string) (multipathMap, bool)) (multipathMap, string) {
		targets, reason := a.of(name)
		if reason != "" {
			return multipathMap{}, reason
		}
		m, ok := parse(targets[0].params)
		if !ok {
			return multipathMap{}, "dmsetup printed something else than expected"
		}
		return m, ""
	}
	table, why := read(tables, parseMultipathTable)
	if why != "" {
		facts = append(facts, collect.Unknown("multipath.groups", tables.source, why),
			collect.Unknown("multipath.policy", tables.source, why))
	} else {
		facts = append(facts, collect.Whole("multipath.groups", int64(table.groups), tables.source),
			collect.ListOf("multipath.policy", table.policies, tables.source))
	}
	now, why := read(status, parseMultipathStatus)
	if why != "" {
		return append(facts, collect.Unknown("multipath.active", status.source, why))
	}
	return append(facts, collect.Whole("multipath.active", int64(now.active), status.source))
}
