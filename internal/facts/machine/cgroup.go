package machine

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

// controlGroup is where this process stands in a hierarchy of control groups.
type controlGroup struct {
	r collect.Reader
	// top is the folder where the hierarchy is mounted, dir that of this process's group.
	top, dir string
}

// path of the group within what is mounted.
func (g controlGroup) path() string { return path.Clean("/" + strings.TrimPrefix(g.dir, g.top)) }

const ownGroupsPath = "/proc/self/cgroup"

// CollectCgroup reads the limits on this process, which hold for the load as well. A limit of any group above holds,
// too, so all are listed, the nearest first.
func CollectCgroup(r collect.Reader, _ collect.Scope) []lab.Fact {
	text, err := r.Text(ownGroupsPath)
	if err != nil {
		reason := collect.Why(err)
		return []lab.Fact{collect.Unknown("cgroup.version", ownGroupsPath, reason),
			collect.Unknown("cgroup.io.max", ownGroupsPath, reason)}
	}
	groups := parseGroups(text)
	mounts := collect.ReadMounts(r)
	find := func(controller string) (controlGroup, bool) { return findGroup(r, mounts, groups, controller) }
	g, unified := find("")
	io, v1 := find("blkio")
	facts := []lab.Fact{collect.Known("cgroup.version", groupVersion(unified, v1), collect.MountInfoPath)}
	if v1 {
		cpu, hasCPU := find("cpu")
		memory, hasMemory := find("memory")
		facts = append(facts, collect.Known("cgroup.path", io.path(), ownGroupsPath),
			io.limits("cgroup.io.max", "", "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device",
				"blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device"))
		if hasCPU {
			facts = append(facts, cpu.limits("cgroup.cpu.max", "-1", "cpu.cfs_quota_us"))
		}
		if hasMemory {
			facts = append(facts, memory.limits("cgroup.memory.max", "", "memory.limit_in_bytes"))
		}
		if cpus, ok := find("cpuset"); ok {
			facts = append(facts, cpus.nearest("cgroup.cpuset", "cpuset.effective_cpus", "cpuset.cpus"))
		}
		return facts
	}
	if !unified {
		return append(facts, collect.Unknown("cgroup.io.max", collect.MountInfoPath,
			"no hierarchy of control groups is mounted here"))
	}
	return append(facts,
		collect.Known("cgroup.path", g.path(), ownGroupsPath),
		g.limits("cgroup.io.max", "", "io.max"),
		g.limits("cgroup.io.latency", "", "io.latency"),
		g.limits("cgroup.io.weight", "default 100", "io.weight"),
		g.ioCost(),
		g.limits("cgroup.cpu.max", "", "cpu.max"),
		g.nearest("cgroup.cpuset", "cpuset.cpus.effective"),
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
	return catalogue.None
}

// parseGroups reads /proc/PID/cgroup: the path of the group by controller, "" for the unified hierarchy. Source:
// cgroups(7).
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
func findGroup(r collect.Reader, mounts []collect.Mount, groups map[string]string, controller string) (controlGroup,
	bool) {
	own, ok := groups[controller]
	if !ok {
		return controlGroup{}, false
	}
	for _, m := range mounts {
		is := m.Kind == "cgroup2" && controller == "" ||
			m.Kind == "cgroup" && controller != "" && collect.HasOption(m.Super, controller)
		if !is {
			continue
		}
		dir := m.Point
		// In a container the mount shows only a part of the hierarchy, and the group's path may be known from its real
		// root.
		if rest, ok := strings.CutPrefix(own, m.Root); ok && m.Root != "/" {
			dir = path.Join(m.Point, rest)
		} else if m.Root == "/" && r.Exists(path.Join(m.Point, own)) {
			dir = path.Join(m.Point, own)
		}
		return controlGroup{r: r, top: m.Point, dir: dir}, true
	}
	return controlGroup{}, false
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
			text, err := g.r.Text(path.Join(dir, a))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return collect.Unknown(key, path.Join(dir, a), collect.Why(err))
			}
			if err != nil || text == "" || text == unlimited || noLimit(a, text) {
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
		return collect.Known(key, catalogue.None, source)
	}
	return collect.Known(key, strings.Join(found, "; "), source)
}

// noLimit recognises what attributes show that set no limit, in more than one way: a quota of CPU has its period behind
// it, and version 1's memory is the largest number of whole pages, which depends on the size of a page.
//
//	cpu.max:                 max 100000
//	memory.limit_in_bytes:   9223372036854771712      (pages of 4 KiB; of 64 KiB: 9223372036854710272)
func noLimit(attribute, text string) bool {
	switch attribute {
	case "cpu.max":
		return collect.FirstWord(text) == "max"
	case "memory.limit_in_bytes":
		n, err := strconv.ParseInt(text, 10, 64)
		return err == nil && n > 1<<62
	}
	return false
}

// ioCost names the disks for which the controller io.cost is switched on, with its settings. Only the real root of the
// hierarchy has the file; in a container, what looks like the root has a file cgroup.type. Real contents:
//
//	8:16 enable=1 ctrl=auto rpct=95.00 rlat=75000 wpct=95.00 wlat=150000 min=50.00 max=150.00
//	259:0 enable=0 ctrl=auto rpct=0.00 rlat=250000 wpct=0.00 wlat=250000 min=1.00 max=10000.00
func (g controlGroup) ioCost() lab.Fact {
	const key = "cgroup.io.cost"
	source := path.Join(g.top, "io.cost.qos")
	text, err := g.r.Text(source)
	switch {
	case errors.Is(err, fs.ErrNotExist) && g.r.Exists(path.Join(g.top, "cgroup.type")):
		return collect.Unknown(key, source, "only the root of the hierarchy shows it, and this is a part of it")
	case errors.Is(err, fs.ErrNotExist):
		return collect.Known(key, catalogue.None, source)
	case err != nil:
		return collect.Unknown(key, source, collect.Why(err))
	}
	var enabled []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == "enable=1" {
			enabled = append(enabled, collect.OneLine(line))
		}
	}
	if len(enabled) == 0 {
		return collect.Known(key, catalogue.None, source)
	}
	return collect.Known(key, strings.Join(enabled, "; "), source)
}

// nearest is an attribute of the nearest group that has it: a controller that is not switched on for a group leaves
// what holds above it.
func (g controlGroup) nearest(key string, attributes ...string) lab.Fact {
	first := path.Join(g.dir, attributes[0])
	for dir := g.dir; ; dir = path.Dir(dir) {
		for _, a := range attributes {
			source := path.Join(dir, a)
			text, err := g.r.Text(source)
			if err == nil && text != "" {
				return collect.Known(key, collect.OneLine(text), source)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return collect.Unknown(key, source, collect.Why(err))
			}
		}
		if dir == g.top || dir == "/" || dir == "." {
			return collect.Unknown(key, first, "no group here shows it")
		}
	}
}

// QuotaFiles are the files that say how a limit of CPU time held back this process's control group, or one above it:
// whatever is read on a target runs where its loads run.
func QuotaFiles(r collect.Reader) []string {
	text, err := r.Text(ownGroupsPath)
	if err != nil {
		return nil
	}
	mounts, groups := collect.ReadMounts(r), parseGroups(text)
	g, ok := findGroup(r, mounts, groups, "cpu")
	if !ok {
		if g, ok = findGroup(r, mounts, groups, ""); !ok {
			return nil
		}
	}
	var files []string
	for dir := g.dir; ; dir = path.Dir(dir) {
		if file := path.Join(dir, "cpu.stat"); r.Exists(file) {
			files = append(files, file)
		}
		if dir == g.top || dir == "/" || dir == "." {
			return files
		}
	}
}
