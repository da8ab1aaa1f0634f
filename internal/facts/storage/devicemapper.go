package storage

import (
	"slices"
	"strconv"
	"strings"
)

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
	// active are the paths that carry I/O: the working ones of the active group, or, while no I/O has been done and no
	// group is active, of the one that will be used first.
	active int
}

// words takes words off a list of parameters. When one is missing or no number, failed stays set.
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
//	2 0 0 0 1 1 E 0 2 1 8:0 A 0 0 8:16 A 0 0                      (nobody has read or written yet)
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
