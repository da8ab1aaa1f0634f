package network

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/testing/factstest"
)

// IPv6 is no other transport, and old kernels print the version in two.
func TestNFSOptions(t *testing.T) {
	info := "50 22 0:60 / /a rw - nfs4 [2001:db8::1]:/srv rw,vers=4,minorversion=1,proto=tcp6,addr=2001:db8::1\n" +
		"51 22 0:61 / /b rw - nfs files:/srv rw,vers=3\n" +
		"52 22 0:62 / /c rw - nfs4 [2001:db8::1]:/x rw,vers=4.2,proto=tcp,addr=2001:db8::1\n"
	facts := CollectNFSClient(collect.Reader{FS: fstest.MapFS{"proc/self/mountinfo": {Data: []byte(info)}}},
		collect.Scope{})
	for _, w := range [][3]string{{"mount.nfs.version", "/a", "4.1"}, {"mount.nfs.protocol", "/a", "tcp"},
		{"mount.nfs.server", "/a", "2001:db8::1"}, {"mount.nfs.version", "/b", "3"},
		{"mount.nfs.server", "/b", "files"},
		{"nfs.servers.shared", "", "none"}} {
		if got := factstest.Said(facts, w[0], w[1]); got != w[2] {
			t.Errorf("%s of %s is %q, want %q", w[0], w[1], got, w[2])
		}
	}
	if got := factstest.Said(facts, "mount.nfs.transports", "/a"); got != "unknown: no such file here" {
		t.Errorf("without mountstats: %q", got)
	}
}

func FuzzMountStats(f *testing.F) {
	factstest.Seed(f, MountStatsPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		for point, s := range ParseMountStats(data) {
			if !s.seen || len(s.connected) > s.transports || len(s.Each) != s.transports || s.retransmits < 0 {
				t.Errorf("%s: %+v", point, s)
			}
		}
	})
}

func FuzzPortList(f *testing.F) {
	factstest.Seed(f, nfsdDir+"/portlist")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range parsePortList(string(data)) {
			if strings.Count(p, " ") != 1 {
				t.Errorf("%q", p)
			}
		}
	})
}

func FuzzExports(f *testing.F) {
	factstest.Seed(f, "/var/lib/nfs/etab")
	f.Fuzz(func(t *testing.T, data []byte) {
		if all, sync, async, _ := parseExports(string(data)); all != sync+async || sync < 0 || async < 0 {
			t.Errorf("%d = %d + %d", all, sync, async)
		}
	})
}

// Of what exportfs keeps and of what the kernel prints, the export that is the root for NFS 4 is found; the root that
// the server makes up is none.
func TestRootExport(t *testing.T) {
	for text, want := range map[string]string{
		"/nfs1\t10.111.1.0/24(rw,async,wdelay,no_root_squash,fsid=0,sec=sys)\n":                                  "/nfs1",
		"# Version 1.1\n/export\t*(rw,no_root_squash,async,wdelay,no_subtree_check,fsid=0,uuid=0:0:0:0,sec=1)\n": "/export",
		"/\t*(ro,no_root_squash,sync,no_wdelay,v4root,fsid=0)\n/srv\t*(rw,sync,fsid=7)\n":                        "",
	} {
		if _, _, _, root := parseExports(text); root != want {
			t.Errorf("%q: %q, want %q", text, root, want)
		}
	}
}
