package saved

import (
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// lsblkColumns are the columns of lsblk: those that are files of a device, and "" for others. "right" stands before
// those that end under the end of their heading, as numbers do. Source: util-linux, misc-utils/lsblk.c (infos,
// device_get_data).
func lsblkColumns() map[string]string {
	return map[string]string{"ALIGNMENT": "right alignment_offset", "DISC-ALN": "right",
		"DISC-GRAN": "right queue/discard_granularity", "DISC-MAX": "right queue/discard_max_bytes",
		"DISC-ZERO": "right", "DISK-SEQ": "right", "DAX": "right",
		"FSAVAIL": "right", "FSROOTS": "", "FSSIZE": "right", "FSTYPE": "", "FSUSED": "right", "FSUSE%": "right",
		"FSVER": "", "GROUP": "", "HCTL": "", "HOTPLUG": "right", "ID": "", "ID-LINK": "", "KNAME": "", "LABEL": "",
		"LOG-SEC": "right queue/logical_block_size", "MAJ:MIN": "", "MAJ": "", "MIN": "",
		"MIN-IO": "right queue/minimum_io_size", "MODEL": " device/model", "MODE": "", "MQ": "right", "NAME": "",
		"OPT-IO": "right queue/optimal_io_size", "OWNER": "", "PARTFLAGS": "", "PARTLABEL": "", "PARTN": "right",
		"PARTTYPE": "", "PARTTYPENAME": "", "PARTUUID": "", "PATH": "",
		"PHY-SEC": "right queue/physical_block_size", "PKNAME": "", "PTTYPE": "", "PTUUID": "",
		"RA": "right queue/read_ahead_kb", "RAND": "right queue/add_random", "REV": "right device/firmware_rev",
		"RM": "right removable", "RO": "right", "ROTA": "right queue/rotational", "RQ-SIZE": "right queue/nr_requests",
		"SCHED": " queue/scheduler", "SERIAL": "", "SIZE": "right", "START": "right", "STATE": "", "SUBSYSTEMS": "",
		"MOUNTPOINT": "", "MOUNTPOINTS": "", "TRAN": "", "TYPE": "", "UUID": "", "VENDOR": "", "WSAME": "right",
		"WWN": "", "ZONED": " queue/zoned", "ZONE-SZ": "right", "ZONE-WGRAN": "right", "ZONE-APP": "right",
		"ZONE-NR": "right", "ZONE-OMAX": "right", "ZONE-AMAX": "right"}
}

// lsblkHead fits the line of two headings or more, one of which names the device.
func lsblkHead() string {
	column := "(?:" + strings.Join(slices.Sorted(maps.Keys(lsblkColumns())), "|") + ")"
	const name = "(?:NAME|KNAME|PATH)"
	two := column + " +" + name + "|" + name + " +" + column
	return "^ *(?:" + column + " +)*(?:" + two + ")(?: +" + column + ")* *$"
}

// treeMarks draw the lines of a tree.
const treeMarks = " │├└─|`-"

// lsblkColumn is a column of a table, from the first character of its heading to the one after its last.
type lsblkColumn struct {
	name       string
	right      bool
	start, end int
}

var word = prose.Pattern(`\S+`)

// headings are the columns that a line names; none where it is no line of headings of lsblk.
func headings(line string, known map[string]string) (all []lsblkColumn) {
	for _, at := range word().FindAllStringIndex(line, -1) {
		kind, ok := known[line[at[0]:at[1]]]
		if !ok {
			return nil
		}
		all = append(all, lsblkColumn{line[at[0]:at[1]], strings.HasPrefix(kind, "right"), at[0], at[1]})
	}
	return all
}

// rowOf cuts a line into the columns that it stands under. Numbers end where their heading ends, texts begin where it
// begins and may have blanks. With "-r" nothing is aligned: one blank stands between two columns, \x20 for others.
func rowOf(columns []lsblkColumn, line string) *lsblkRow {
	if len(columns) == 0 || strings.TrimSpace(line) == "" {
		return nil
	}
	row := &lsblkRow{cells: map[string]string{}}
	for _, c := range columns {
		row.cells[c.name] = ""
	}
	tight := columns[len(columns)-1].end - columns[0].start
	for _, c := range columns {
		tight -= c.end - c.start
	}
	fields, last := strings.Split(line, " "), len(columns)-1
	unmounted := len(fields) == last && strings.HasPrefix(columns[last].name, "MOUNTPOINT")
	if tight == last && (len(fields) == last+1 || unmounted) {
		for i, f := range fields {
			row.cells[columns[i].name] = strings.ReplaceAll(f, `\x20`, " ")
		}
		return row
	}
	text := []rune(line)
	last = 0
	for at := 0; at < len(text); {
		if text[at] == ' ' {
			at++
			continue
		}
		end := at
		for end < len(text) && text[end] != ' ' {
			end++
		}
		i := slices.IndexFunc(columns, func(c lsblkColumn) bool { return c.right && c.end == end })
		if i < 0 {
			i = slices.IndexFunc(columns, func(c lsblkColumn) bool { return !c.right && c.start == at })
		}
		if i < 0 {
			i = slices.IndexFunc(columns, func(c lsblkColumn) bool { return at < c.end && end > c.start })
		}
		if i < last {
			i = last
		}
		last = i
		cell, heading := string(text[at:end]), columns[i].name
		if name := strings.TrimLeft(cell, treeMarks); heading == "NAME" && row.cells[heading] == "" {
			row.depth = max(0, end-len([]rune(name))-columns[i].start) / 2
			cell = name
		}
		row.cells[heading] = strings.TrimSpace(row.cells[heading] + " " + cell)
		at = end
	}
	return row
}

// typedColumns are the columns that a command asks for; none where an option stands for others than usual.
func typedColumns(command []string) []string {
	usual := []string{"NAME", "MAJ:MIN", "RM", "SIZE", "RO", "TYPE", "MOUNTPOINTS"}
	for i, word := range command {
		f := outputOption().FindStringSubmatch(word)
		switch {
		case f == nil && otherColumns().MatchString(word):
			return nil
		case f == nil:
			continue
		case f[1] == "" && i+1 < len(command):
			f[1] = command[i+1]
		}
		list := strings.Split(strings.ToUpper(strings.TrimPrefix(f[1], "+")), ",")
		if strings.HasPrefix(f[1], "+") {
			list = append(usual, list...)
		}
		return list
	}
	return usual
}

var (
	outputOption = prose.Pattern(`^(?:--output=?|-[a-z]*?o)([+A-Z].*)?$`)
	otherColumns = prose.Pattern(`^-[a-zA-Z]*[ftSDmzOP]|^--(?:fs|topology|scsi|discard|perms|zoned|output-all|pairs)$`)
)

// bareRow reads a line without headings by the columns that were typed. A line fits if it has a word for each, but for
// where the device is mounted.
func (b block) bareRow(line string) *lsblkRow {
	if len(b.command) == 0 || b.command[0] != "lsblk" {
		return nil
	}
	names := typedColumns(b.command[1:])
	fields := strings.Fields(strings.TrimLeft(line, treeMarks))
	if len(names) == 0 || len(fields) != len(names) &&
		!(len(fields) == len(names)-1 && strings.HasPrefix(names[len(fields)], "MOUNTPOINT")) {
		return nil
	}
	row := &lsblkRow{cells: map[string]string{}}
	for i, f := range fields {
		row.cells[names[i]] = f
	}
	return row
}
