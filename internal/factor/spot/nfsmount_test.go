package spot

import (
	"testing"

	"github.com/headroom/headroom/internal/host"
)

func TestModulesThatAreLoaded(t *testing.T) {
	loaded := targetFile("nfsv4 1122304 2 - Live 0x0\nsunrpc 745472 14 nfsv4,rpcrdma, Live 0x0\n")
	for name, want := range map[string]string{"nfsv4": IsLoaded, "sunrpc": IsLoaded, "rpcrdma": Absent, "nfs": Absent} {
		if r := ModuleReading(Spot{Kind: InModules, Name: name}, loaded); r.Value != want || r.Err != nil {
			t.Errorf("%s: %q, %v", name, r.Value, r.Err)
		}
	}
}

func TestMountsThatAreThere(t *testing.T) {
	const shown = "30 1 0:50 / /run/x rw,relatime - nfs4 10.0.1.1:/srv rw,vers=4.2,proto=tcp,addr=10.0.1.1\n31 1 8:1 " +
		"/ /run/x-2 rw - ext4 /dev/sda1 rw\n"
	for point, want := range map[string]string{"/run/x": IsMounted, "/run/y": Absent, "/run/x-2": ""} {
		r := nfsReading(Spot{Kind: InNFS, Path: point}, targetFile(shown))
		if r.Value != want || (want == "") != (r.Err != nil) {
			t.Errorf("%s: %q, %v", point, r.Value, r.Err)
		}
	}
}

func targetFile(text string) host.File { return host.File{Data: []byte(text)} }
