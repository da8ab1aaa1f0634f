package machine

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
)

func TestIOCost(t *testing.T) {
	for _, c := range []struct {
		want    string
		content map[string]string
	}{
		{catalogue.None, map[string]string{"/cg/io.cost.qos": "8:0 enable=0 ctrl=auto"}},
		{"8:0 enable=1 ctrl=user",
			map[string]string{"/cg/io.cost.qos": "8:16 enable=0 ctrl=auto\n8:0 enable=1 ctrl=user\n"}},
		{catalogue.None, map[string]string{"/cg/cgroup.procs": ""}},
		{"", map[string]string{"/cg/cgroup.type": "domain"}},
	} {
		g := controlGroup{r: factstest.Files(c.content), top: "/cg", dir: "/cg/a"}
		if f := g.ioCost(); f.Value != c.want || (c.want == "") != (f.Unknown != "") {
			t.Errorf("%v: %+v, want %q", c.content, f, c.want)
		}
	}
}

func FuzzIOCost(f *testing.F) {
	factstest.Seed(f, "/sys/fs/cgroup/io.cost.qos")
	kinds := factstest.KindsByKey(catalogue.All())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := factstest.Files(map[string]string{"/cg/io.cost.qos": string(data)})
		found := []lab.Fact{controlGroup{r: r, top: "/cg", dir: "/cg"}.ioCost()}
		factstest.CheckLines(t, found)
		factstest.CheckKinds(t, found, kinds)
	})
}

func FuzzGroups(f *testing.F) {
	factstest.Seed(f, ownGroupsPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		for controller := range parseGroups(string(data)) {
			if strings.ContainsAny(controller, ",\n") {
				t.Errorf("not a controller: %q", controller)
			}
		}
	})
}

// A quota of CPU that is none has its period behind it, and memory without a limit depends on the size of a page.
func TestGroupWithoutLimits(t *testing.T) {
	const v2 = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	const v1 = "30 1 0:26 / /cg/memory rw - cgroup cgroup rw,memory\n31 1 0:27 / /cg/blkio rw - cgroup cgroup " +
		"rw,blkio\n"
	for _, c := range []struct{ mounts, groups, file, text, key, want string }{
		{v2, "0::/a\n", "/sys/fs/cgroup/a/cpu.max", "max 50000\n", "cgroup.cpu.max", "none"},
		{v2, "0::/a\n", "/sys/fs/cgroup/a/cpu.max", "150000 50000\n", "cgroup.cpu.max", "150000 50000"},
		{v1, "3:memory:/a\n2:blkio:/a\n", "/cg/memory/a/memory.limit_in_bytes", "9223372036854710272\n",
			"cgroup.memory.max", "none"},
		{v1, "3:memory:/a\n2:blkio:/a\n", "/cg/memory/a/memory.limit_in_bytes", "9223372036854771712\n",
			"cgroup.memory.max", "none"},
		{v1, "3:memory:/a\n2:blkio:/a\n", "/cg/memory/a/memory.limit_in_bytes", "1073741824\n", "cgroup.memory.max",
			"1073741824"},
	} {
		all := CollectCgroup(collect.Reader{
			FS: factstest.TextFiles(map[string]string{collect.MountInfoPath: c.mounts, ownGroupsPath: c.groups,
				c.file: c.text})}, collect.Scope{})
		if got := factstest.Said(all, c.key, ""); got != c.want {
			t.Errorf("%s of %q is %q, not %q", c.key, c.text, got, c.want)
		}
	}
}

// A folder of PATH that is closed does not hide the program in the next one.
func TestClosedFolderOfPath(t *testing.T) {
	for _, there := range []bool{true, false} {
		f := fstest.MapFS{"proc/self/environ": {Data: []byte("PATH=/root/bin:/usr/bin\x00")},
			"root/bin/fio": {Data: []byte("?")}}
		if there {
			f["usr/bin/fio"] = &fstest.MapFile{Data: []byte("fio")}
		}
		got := hashOf(collect.Reader{FS: closed{f}}, "fio")
		if there && (got.Unknown != "" || got.Source != "/usr/bin/fio") ||
			!there && !strings.Contains(got.Unknown, "permission") {
			t.Errorf("there %v: %+v", there, got)
		}
	}
}

// closed is a machine whose folder /root only root may look into.
type closed struct{ fstest.MapFS }

func (c closed) Lstat(name string) (fs.FileInfo, error) {
	if strings.HasPrefix(name, "root/") {
		return nil, fs.ErrPermission
	}
	return c.MapFS.Lstat(name)
}
