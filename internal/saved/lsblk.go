package saved

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/prose"
)

// lsblkRow is a device in the output of lsblk, with the row that it stands below.
type lsblkRow struct {
	cells  map[string]string
	parent *lsblkRow
	depth  int
	// name is what kernel has found, where asked is set.
	name  string
	asked bool
}

var (
	lsblkPair  = prose.Pattern(`([A-Z][A-Z:%_-]*)="((?:[^"\\]|\\.)*)"`)
	kernelName = prose.Pattern(`^(?:(?:sd|vd|xvd|hd|dasd)[a-z]+\d*|nvme\d+n\d+(?:p\d+)?|mmcblk\d+(?:p\d+)?|md\d+|md_\w+|` +
		`(?:dm-|nbd|rbd|drbd|bcache|zd|loop|z?ram|sr)\d+(?:p\d+)?)$`)
)

// maxRows bounds the devices of one table.
const maxRows = 1 << 15

// readLSBLK reads what lsblk prints: a table with any columns and in any form, or pairs. Source: util-linux,
// misc-utils/lsblk.c and libsmartcols/src/print.c.
//
//	NAME        ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA SCHED       RQ-SIZE  RA WSAME
//	sda                 0   4096      0    4096     512    1 mq-deadline     256 128    0B
//	└─sda1              0   4096      0    4096     512    1 mq-deadline     256 128    0B
func readLSBLK(m *Machine, text string) bool {
	var rows []*lsblkRow
	var columns []lsblkColumn
	known := lsblkColumns()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.TrimSpace(line) == "" && len(rows) > 0 || len(rows) > maxRows {
			break // what follows is no part of the table
		}
		if cells := lsblkPair().FindAllStringSubmatch(line, -1); cells != nil {
			row := &lsblkRow{cells: map[string]string{}}
			for _, c := range cells {
				key := strings.Replace(strings.ReplaceAll(c[1], "_", "-"), "MAJ-MIN", "MAJ:MIN", 1)
				row.cells[key] = c[2]
			}
			rows = append(rows, row)
			continue
		}
		if all := headings(line, known); all != nil {
			columns = all
			continue
		}
		if row := rowOf(columns, line); row != nil {
			rows = append(rows, row)
		} else if row := m.now.bareRow(line); columns == nil && row != nil {
			rows = append(rows, row)
		}
	}
	var above []*lsblkRow
	for _, row := range rows {
		above = above[:min(len(above), row.depth)]
		if row.depth > 0 && len(above) == row.depth {
			row.parent = above[len(above)-1]
		}
		above = append(above, row)
	}
	return m.disks.devices(rows, m.now.wholeTree())
}

// readLSBLKJSON reads "lsblk -J", where rows lie within each other. Flags are true and false, in older versions "1" and
// "0".
//
//	{"name": "sda", "maj:min": "8:0", "rm": false, "size": "931.5G", "type": "disk", "mountpoints": [null],
//	 "children": [{"name": "sda1", "type": "part", "mountpoints": ["/boot"]}]}
func readLSBLKJSON(m *Machine, list any) bool {
	var rows []*lsblkRow
	var walk func(list any, parent *lsblkRow)
	walk = func(list any, parent *lsblkRow) {
		all, _ := list.([]any)
		for _, e := range all {
			device, ok := e.(map[string]any)
			if !ok {
				continue
			}
			row := &lsblkRow{cells: map[string]string{}, parent: parent}
			if parent != nil {
				row.depth = parent.depth + 1
			}
			rows = append(rows, row)
			below := device["children"]
			delete(device, "children")
			for key, value := range flat(device) {
				key, _, _ = strings.Cut(strings.ToUpper(key), ".")
				row.cells[key] = map[string]string{"true": "1", "false": "0"}[value]
				if value != "true" && value != "false" {
					row.cells[key] = value
				}
			}
			for key := range device {
				if _, there := row.cells[strings.ToUpper(key)]; !there {
					row.cells[strings.ToUpper(key)] = ""
				}
			}
			walk(below, row)
		}
	}
	walk(list, nil)
	return m.disks.devices(rows, m.now.wholeTree())
}

// kernel is the kernel's name of a device; empty where the row does not tell it. lsblk names the devices of device
// mapper as that does; their minor number is in the kernel's name, and old versions print it: "vg-root (dm-0)".
func (r *lsblkRow) kernel() string {
	if !r.asked {
		r.name, r.asked = r.findKernel(), true
	}
	return r.name
}

func (r *lsblkRow) findKernel() string {
	name := ""
	for _, column := range []string{"KNAME", "NAME", "PATH"} {
		cell, mapped, _ := strings.Cut(r.cells[column], " (")
		name = strings.ReplaceAll(strings.TrimPrefix(cell, "/dev/"), "/", "!")
		switch {
		case name == "" || strings.Contains(name, ".."):
		case strings.HasPrefix(mapped, "dm-"):
			return strings.TrimSuffix(mapped, ")")
		case column == "KNAME", kernelName().MatchString(name),
			r.cells["TYPE"] == "disk" && plainName().MatchString(name):
			return name
		}
	}
	above := ""
	if r.parent != nil {
		above = r.parent.kernel()
	}
	name = strings.ReplaceAll(strings.TrimPrefix(r.cells["NAME"], "/dev/"), "/", "!")
	switch kind := r.cells["TYPE"]; {
	case kind == "part" && above != "" && strings.HasPrefix(name, above) && !strings.HasPrefix(above, "dm-"):
		return name
	case slices.Contains([]string{"lvm", "crypt", "mpath", "dm", "dmraid"}, kind),
		kind == "part" && strings.HasPrefix(above, "dm-"):
		_, minor, _ := strings.Cut(r.cells["MAJ:MIN"], ":")
		if n, err := strconv.Atoi(strings.TrimSpace(minor)); err == nil && n >= 0 {
			return "dm-" + strconv.Itoa(n)
		}
	}
	return ""
}

var plainName = prose.Pattern(`^[a-zA-Z][\w!]*$`)

// devices makes the files of the devices that lsblk lists, and reports whether it lists any with more than its name.
// whole says that the list has all of the tree.
func (d *blockDevices) devices(rows []*lsblkRow, whole bool) bool {
	read := false
	for _, row := range rows {
		name := row.kernel()
		kind := storage.VirtualKind(name)
		if name == "" || len(row.cells) < 2 || kind == "loop" || kind == "memory" || storage.IsMedia(name) {
			continue // what is behind a loop device is not said
		}
		read = true
		disk := ""
		if row.cells["TYPE"] == "part" || row.cells["TYPE"] == "" {
			disk = diskOf(name)
		}
		if row.parent != nil && row.cells["TYPE"] == "part" && disk == "" {
			disk = row.parent.kernel()
		}
		if strings.HasPrefix(disk, "dm-") {
			disk = ""
		}
		d.deviceOf(row, name, d.block(name, disk), disk != "")
	}
	if whole {
		d.layers(rows)
	}
	return read
}

// deviceOf puts what a row says of a device. A partition has the queue of its disk.
func (d *blockDevices) deviceOf(row *lsblkRow, name, dir string, isPart bool) {
	for column, kind := range lsblkColumns() {
		_, file, _ := strings.Cut(kind, " ")
		value := row.cells[column]
		if file == "" || value == "" || isPart && file != "alignment_offset" ||
			file == "queue/"+path.Base(file) && strings.HasPrefix(kind, "right") && digits(value) == "" {
			continue
		}
		switch column {
		case "SCHED":
			value = "[" + value + "]"
		case "DISC-GRAN", "DISC-MAX":
			n, exact := bytesOf(value)
			if !exact && (column == "DISC-MAX" || n == 0) { // rounded: 2T is 2199023255040
				continue
			}
			value = strconv.FormatInt(n, 10)
		}
		d.files.file(dir+"/"+file, value+"\n")
	}
	// A single queue stands for a disk without any, too.
	if n := collect.Integer(strings.TrimSpace(row.cells["MQ"])); n > 1 && n <= 1<<12 && !isPart {
		for i := range n {
			d.files.folder(dir + "/mq/" + strconv.FormatInt(i, 10))
		}
	}
	if start := row.cells["START"]; start != "" && isPart {
		d.files.file(dir+"/start", start+"\n")
	}
	if number := strings.TrimSpace(row.cells["MAJ:MIN"]); numberText().MatchString(number) {
		d.files.file(dir+"/dev", number+"\n")
		d.files.link("/sys/dev/block/"+number, dir)
	}
	d.size(name, row.cells["SIZE"])
	// Of a host of kind sas lsblk says so whatever the disk is; the maker's name of SATA disks behind one is ATA.
	word := row.cells["TRAN"]
	if word == "sas" && row.cells["VENDOR"] == "ATA" {
		word = "sata"
	}
	if slices.Contains([]string{"sata", "sas", "fc", "iscsi", "usb", "virtio", "mmc"}, word) && !isPart {
		d.told.add(name, collect.Known("disk.transport", word, "lsblk"))
	}
	switch kind := row.cells["TYPE"]; {
	case strings.HasPrefix(name, "dm-") && kind != "":
		mapped := collect.FirstWord(strings.TrimPrefix(row.cells["NAME"], "/dev/mapper/"))
		if mapped != "" {
			d.files.file(dir+"/dm/name", mapped+"\n")
		}
		if kind != "dm" {
			d.files.file(dir+"/dm/uuid", kind+"-\n") // its kind is the first part of it, and no more is said
		}
	case strings.HasPrefix(kind, "raid"):
		d.files.file(dir+"/md/level", kind+"\n")
	}
}

var numberText = prose.Pattern(`^\d{1,4}:\d{1,7}$`)

// layers makes the folders of what is below a device. With "-s" a device stands above those that it is made of.
func (d *blockDevices) layers(rows []*lsblkRow) {
	inverse := slices.ContainsFunc(rows, func(r *lsblkRow) bool {
		return r.parent != nil && (diskOf(r.parent.kernel()) == r.kernel() && r.kernel() != "" ||
			r.parent.cells["TYPE"] == "mpath" && r.cells["TYPE"] == "disk")
	})
	mapped := map[string]bool{}
	for _, row := range rows {
		if row.parent == nil {
			continue
		}
		upper, lower := row, row.parent
		if inverse {
			upper, lower = lower, upper
		}
		on, below := upper.kernel(), lower.kernel()
		if on == "" || below == "" || diskOf(on) == below || d.made == nil || !d.made[on] {
			continue
		}
		d.files.folder(storage.Class(on) + "/slaves/" + below)
		if upper.cells["TYPE"] == "lvm" && lower.cells["TYPE"] == "lvm" {
			mapped[on], mapped[below] = true, true
		}
		if storage.VirtualKind(below) == "loop" {
			d.told.add(on, collect.Unknown("volume.disks", "lsblk",
				"lsblk does not say where the file of "+below+" is"))
		}
	}
	for _, row := range rows {
		name := row.kernel()
		if mapped[name] {
			d.told.add(name, collect.Unknown("volume.kind", "lsblk", "lsblk calls all parts of LVM lvm"))
		}
	}
}

// wholeTree reports whether lsblk listed all devices: not those that were named, nor lines that were filtered.
func (b block) wholeTree() bool {
	return !b.filtered && !slices.ContainsFunc(b.command, diskNode().MatchString)
}
