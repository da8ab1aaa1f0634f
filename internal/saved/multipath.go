package saved

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/prose"
)

var (
	mapHead   = prose.Pattern(`^(?:\w+: )?(\S+) (?:\(\S+\) )?(dm-\d+) `)
	mapSize   = prose.Pattern(`^\[?size=([\d.,]+[KMGTP])\b`)
	pathGroup = prose.Pattern(`- policy='([\w-]+)[^']*' prio=\S+ status=(\w+)`)
	pathLine  = prose.Pattern("[|`]-+ \\S+ +(\\w+) +\\d+:\\d+ +(active|failed|undef) ")
)

// readMultipath reads "multipath -ll". The paths that carry I/O are those in the active group that device mapper calls
// active; where no group is in use, it is not said which will be. Source: multipath-tools, libmultipath/print.c
// (snprint_multipath_topology__).
//
//	mpatha (36001405e5bf5c158c4e4a5398ccba2cc) dm-2 LIO-ORG,data
//	size=5.0G features='1 queue_if_no_path' hwhandler='1 alua' wp=rw
//	`-+- policy='service-time 0' prio=50 status=active
func readMultipath(m *Machine, text string) bool {
	read := false
	for _, part := range splitMaps(text) {
		head := mapHead().FindStringSubmatch(part[0])
		device := head[2]
		dir := m.disks.block(device, "")
		var members, policies []string
		groups, working, inUse, used := 0, 0, false, false
		for _, line := range part[1:] {
			if f := mapSize().FindStringSubmatch(line); f != nil {
				m.disks.size(device, f[1])
			}
			if f := pathGroup().FindStringSubmatch(line); f != nil {
				groups++
				inUse = f[2] == "active"
				used = used || inUse
				if !slices.Contains(policies, f[1]) {
					policies = append(policies, f[1])
				}
			}
			if f := pathLine().FindStringSubmatch(line); f != nil {
				members = append(members, f[1])
				if inUse && f[2] == "active" {
					working++
				}
			}
		}
		if groups == 0 || len(members) == 0 {
			continue
		}
		read = true
		m.files.file(dir+"/dm/name", head[1]+"\n")
		m.files.file(dir+"/dm/uuid", "mpath-\n")
		for _, name := range members {
			m.files.folder(fmt.Sprintf("%s/slaves/%s", dir, name))
		}
		const source = "multipath -ll"
		if m.now.filtered {
			continue
		}
		m.told.add(device, collect.Known("multipath.groups", strconv.Itoa(groups), source),
			collect.ListOf("multipath.policy", policies, source))
		if used {
			m.told.add(device, collect.Known("multipath.active", strconv.Itoa(working), source))
		}
	}
	return read
}

// splitMaps are the lines of each map.
func splitMaps(text string) (maps [][]string) {
	for line := range strings.Lines(text) {
		if mapHead().MatchString(line) {
			maps = append(maps, nil)
		}
		if len(maps) > 0 {
			maps[len(maps)-1] = append(maps[len(maps)-1], line)
		}
	}
	return maps
}
