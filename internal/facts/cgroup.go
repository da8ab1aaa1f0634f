package facts

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"headroom/internal/lab"
)

// controlGroup is where this process stands in a hierarchy of control groups.
type controlGroup struct {
	r reader
	// top is the folder where the hierarchy is mounted, dir that of this process's group.
	top, dir string
}

// path of the group within what is mounted.
func (g controlGroup) path() string { return path.Clean("/" + strings.TrimPrefix(g.dir, g.top)) }

const ownGroupsPath = "/proc/self/cgroup"

// collectCgroup reads the limits on this process, which hold for the load as well. A limit of any group above holds, too, so
// all are listed, the nearest first.
func collectCgroup(fsys fs.FS, _ Scope) []lab.Fact {
	r := reader{fsys}
	text, err := r.text(ownGroupsPath)
	if err != nil {
		reason := why(err)
		return []lab.Fact{unknown("cgroup.version", ownGroupsPath, reason), unknown("cgroup.io.max", ownGroupsPath, reason)}
	}
	groups := parseGroups(text)
	mounts := newStack(r).mounts
	find := func(controller string) (controlGroup, bool) { return findGroup(r, mounts, groups, controller) }
	g, unified := find("")
	io, v1 := find("blkio")
	facts := []lab.Fact{known("cgroup.version", groupVersion(unified, v1), mountInfoPath)}
	if v1 {
		cpu, hasCPU := find("cpu")
		memory, hasMemory := find("memory")
		facts = append(facts, known("cgroup.path", io.path(), ownGroupsPath),
			io.limits("cgroup.io.max", "", "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device",
				"blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device"))
		if hasCPU {
			facts = append(facts, cpu.limits("cgroup.cpu.max", "-1", "cpu.cfs_quota_us"))
		}
		if hasMemory {
			// Without a limit the file shows the largest number of whole pages.
			facts = append(facts, memory.limits("cgroup.memory.max", "9223372036854771712", "memory.limit_in_bytes"))
		}
		return facts
	}
	if !unified {
		return append(facts, unknown("cgroup.io.max", mountInfoPath, "no hierarchy of control groups is mounted here"))
	}
	return append(facts,
		known("cgroup.path", g.path(), ownGroupsPath),
		g.limits("cgroup.io.max", "", "io.max"),
		g.limits("cgroup.io.latency", "", "io.latency"),
		g.limits("cgroup.io.weight", "default 100", "io.weight"),
		g.limits("cgroup.cpu.max", "max 100000", "cpu.max"),
		g.limits("cgroup.memory.max", "max", "memory.max"),
		g.limits("cgroup.memory.high", "max", "memory.high"))
}

func groupVersion(unified, v1 bool) string {
	switch {
	case unified && v1:
		return "hybrid"
	case v1:
		return "v1"
	case unified:
		return "v2"
	}
	return none
}

// parseGroups reads /proc/PID/cgroup: the path of the group by controller, "" for the unified hierarchy. Source: cgroups(7).
//
//	4:memory:/system.slice/ssh.service
//	1:cpu,cpuacct:/
//	0::/user.slice/user-1000.slice/session-3.scope
func parseGroups(text string) map[string]string {
	groups := map[string]string{}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(f[1], ",") {
			groups[controller] = f[2]
		}
	}
	return groups
}

// findGroup finds the folder of this process's group for a controller; "" is the unified hierarchy.
func findGroup(r reader, mounts []mount, groups map[string]string, controller string) (controlGroup, bool) {
	own, ok := groups[controller]
	if !ok {
		return controlGroup{}, false
	}
	for _, m := range mounts {
		is := m.kind == "cgroup2" && controller == "" ||
			m.kind == "cgroup" && controller != "" && hasOption(m.super, controller)
		if !is {
			continue
		}
		dir := m.point
		// In a container the mount shows only a part of the hierarchy, and the group's path may be told from its real root.
		if rest, ok := strings.CutPrefix(own, m.root); ok && m.root != "/" {
			dir = path.Join(m.point, rest)
		} else if m.root == "/" && r.exists(path.Join(m.point, own)) {
			dir = path.Join(m.point, own)
		}
		return controlGroup{r: r, top: m.point, dir: dir}, true
	}
	return controlGroup{}, false
}

func hasOption(options, name string) bool {
	for o := range strings.SplitSeq(options, ",") {
		if o == name {
			return true
		}
	}
	return false
}

// limits reads attributes of the group and of all above. Where a controller is not switched on there is no file and no
// limit; unlimited is what a file shows that sets none. Real contents of io.max:
//
//	259:0 rbps=2097152 wbps=max riops=max wiops=120
//	8:16 rbps=max wbps=1048576 riops=max wiops=max
func (g controlGroup) limits(key, unlimited string, attributes ...string) lab.Fact {
	var found []string
	for dir := g.dir; ; dir = path.Dir(dir) {
		for _, a := range attributes {
			text, err := g.r.text(path.Join(dir, a))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return unknown(key, path.Join(dir, a), why(err))
			}
			if err != nil || text == "" || text == unlimited {
				continue
			}
			if len(attributes) > 1 {
				text = a + " " + text
			}
			found = append(found, strings.ReplaceAll(text, "\n", "; "))
		}
		if dir == g.top || dir == "/" || dir == "." {
			break
		}
	}
	source := path.Join(g.dir, attributes[0])
	if len(found) == 0 {
		return known(key, none, source)
	}
	return known(key, strings.Join(found, "; "), source)
}
