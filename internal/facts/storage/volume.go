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
	if slices.ContainsFunc(names, dmName().MatchString) && cannotRun(r, "dmsetup", "dmsetup") == "" {
		commands = append(commands, tableCommand(), statusCommand())
	}
	if slices.ContainsFunc(names, drbdName().MatchString) && cannotRun(r, "drbdsetup", "drbd-utils") == "" {
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

// disksUnder returns the disks under a device; none for a device that hides its members (a volume of ZFS).
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

// dmTarget is a line of a device-mapper table or of its status: what a piece of a device is mapped to.
type dmTarget struct {
	kind   string
	params []string
}

func tableCommand() []string { return []string{"dmsetup", "table"} }

// statusCommand must not flush: without the option the kernel commits the metadata of thin pools first.
func statusCommand() []string {
	return []string{"dmsetup", "status", "--noflush", "--target", "multipath"}
}

// parseTargets reads "dmsetup table" and "dmsetup status", by the device's name. A line has the name, the first sector,
// the number of sectors, the target's type and its parameters; dmsetup hides keys itself. Source: dmsetup(8).
//
//	vg0-data: 0 8388608 linear 8:2 2048
//	md0_crypt: 0 7813732352 crypt aes-xts-plain64 :64:logon:cryptsetup:0a1b-d0 0 9:0 32768 2 no_read_workqueue sector_size:4096
//	mpatha: 0 20971520 multipath 1 queue_if_no_path 1 alua 2 1 service-time 0 1 2 8:32 1 1 service-time 0 1 2 8:48 1 1
func parseTargets(text string) map[string][]dmTarget {
	found := map[string][]dmTarget{}
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		f := strings.Fields(rest)
		if !ok || name == "" || len(f) < 3 {
			continue
		}
		if _, err := strconv.ParseUint(f[0], 10, 64); err != nil {
			continue
		}
		found[name] = append(found[name], dmTarget{f[2], f[3:]})
	}
	return found
}

// kindsOf are the types of the targets of one device, each once.
func kindsOf(targets []dmTarget) []string {
	var kinds []string
	for _, t := range targets {
		if !slices.Contains(kinds, t.kind) {
			kinds = append(kinds, t.kind)
		}
	}
	return kinds
}

// crypt is how a dm-crypt device works.
type crypt struct {
	cipher     string
	flags      []string
	sectorSize int64
}

// parseCrypt reads the parameters of a crypt target: cipher, key, start of the numbering, device, first sector, and any
// options after their number. Source: the kernel's Documentation/admin-guide/device-mapper/dm-crypt.rst.
func parseCrypt(params []string) (crypt, bool) {
	if len(params) < 5 {
		return crypt{}, false
	}
	c := crypt{cipher: params[0], sectorSize: 512}
	if len(params) == 5 {
		return c, true
	}
	n, err := strconv.Atoi(params[5])
	if err != nil || n < 0 || n > len(params)-6 {
		return crypt{}, false
	}
	for _, option := range params[6 : 6+n] {
		size, ok := strings.CutPrefix(option, "sector_size:")
		if !ok {
			c.flags = append(c.flags, option)
			continue
		}
		if c.sectorSize, err = strconv.ParseInt(size, 10, 64); err != nil || c.sectorSize < 512 {
			return crypt{}, false
		}
	}
	return c, true
}

// stripes is over how many devices a linear or striped volume is spread; 0 when it is neither. A volume made of several
// pieces has as many as the piece with the fewest.
func stripes(targets []dmTarget) int {
	fewest := 0
	for _, t := range targets {
		n := 1
		switch t.kind {
		case "linear":
		case "striped":
			if len(t.params) == 0 {
				return 0
			}
			v, err := strconv.Atoi(t.params[0])
			if err != nil || v < 1 {
				return 0
			}
			n = v
		default:
			return 0
		}
		if fewest == 0 || n < fewest {
			fewest = n
		}
	}
	return fewest
}

// multipathMap is what the table and the status of a multipath target tell.
type multipathMap struct {
	groups int
	// policies are the path selectors, each once.
	policies []string
	// active are the paths that carry I/O: the working paths of the active group. While no I/O has been done and no
	// group is active, they are the paths of the group that will be used first.
	active int
}

// words takes words off a list of parameters. If one is missing or not a number, failed stays set.
type words struct {
	left   []string
	failed bool
}

func (w *words) text() string {
	if len(w.left) == 0 {
		w.failed = true
		return ""
	}
	first := w.left[0]
	w.left = w.left[1:]
	return first
}

// number is a count of things that must still follow, so that it can't be larger than what is left.
func (w *words) number() int {
	n, err := strconv.Atoi(w.text())
	if err != nil || n < 0 {
		w.failed = true
		return 0
	}
	return n
}

func (w *words) skip(n int) {
	if n > len(w.left) {
		w.failed = true
		n = len(w.left)
	}
	w.left = w.left[n:]
}

// parseMultipathTable reads the parameters of a multipath target in a table: features, hardware handler, number of
// groups, the first group to use; of each group its selector with arguments, the number of paths and of arguments for
// each, and the paths. Source: multipath_status in the kernel's drivers/md/dm-mpath.c.
//
//	1 queue_if_no_path 1 alua 2 1 service-time 0 1 2 8:32 1 1 service-time 0 1 2 8:48 1 1
func parseMultipathTable(params []string) (multipathMap, bool) {
	w := words{left: params}
	w.skip(w.number())
	w.skip(w.number())
	m := multipathMap{groups: w.number()}
	w.skip(1)
	for range m.groups {
		if w.failed {
			break
		}
		if policy := w.text(); !slices.Contains(m.policies, policy) {
			m.policies = append(m.policies, policy)
		}
		w.skip(w.number())
		paths, each := w.number(), w.number()
		w.skip(times(paths, each+1, len(w.left)))
	}
	return m, !w.failed
}

// parseMultipathStatus reads the parameters in a status, which have a state where the table has the selector: "A"
// active, "E" enabled, "D" disabled; and behind each path "A" or "F" (failed) and the number of failures.
//
//	2 0 0 0 2 1 A 0 1 2 8:32 A 0 0 1 E 0 1 2 8:48 A 0 0 1
//	2 0 0 0 1 1 E 0 2 1 8:0 A 0 0 8:16 A 0 0                      (no I/O has been done yet)
func parseMultipathStatus(params []string) (multipathMap, bool) {
	w := words{left: params}
	w.skip(w.number())
	w.skip(w.number())
	m := multipathMap{groups: w.number()}
	next, waiting, used := w.number(), 0, false
	for group := 1; group <= m.groups && !w.failed; group++ {
		state := w.text()
		w.skip(w.number())
		paths, each := w.number(), w.number()
		working := 0
		for range paths {
			if w.failed {
				break
			}
			w.skip(1)
			if w.text() == "A" {
				working++
			}
			w.skip(times(1, each+1, len(w.left)))
		}
		if state == "A" {
			m.active, used = m.active+working, true
		}
		if group == next {
			waiting = working
		}
	}
	if !used {
		m.active = waiting
	}
	return m, !w.failed
}

// times multiplies, up to just above a limit: numbers out of a damaged table must not overflow.
func times(a, b, limit int) int {
	if a > limit || b > limit {
		if a == 0 || b == 0 {
			return 0
		}
		return limit + 1
	}
	return a * b
}
