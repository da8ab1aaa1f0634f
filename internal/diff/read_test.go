package diff

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

const dump = `kernel.sched_autogroup_enabled = 1
net.ipv4.tcp_rmem = 4096	131072	6291456
kernel.core_pattern = |/lib/systemd/systemd-coredump %P %u %g %s %t %c %h
sysctl: permission denied on key 'fs.protected_fifos'
dev.cdrom.info = CD-ROM information, Id: cdrom.c 3.20 2003/12/17
dev.cdrom.info = drive name:
net.ipv4.conf.eth0/100.forwarding = 0
vm.swappiness=60
`

func TestDecode(t *testing.T) {
	values := func(s Side) map[string]string {
		m := map[string]string{}
		for _, f := range s.Facts {
			m[f.Key] = f.Value
		}
		return m
	}
	s, err := Decode("dump", []byte(dump))
	if err != nil {
		t.Fatal(err)
	}
	got := values(s)
	if got["sysctl.net.ipv4.tcp_rmem"] != "4096 131072 6291456" || got["sysctl.vm.swappiness"] != "60" ||
		got["sysctl.net.ipv4.conf.eth0/100.forwarding"] != "0" ||
		!strings.HasSuffix(got["sysctl.dev.cdrom.info"], "\ndrive name:") || len(got) != 6 {
		t.Errorf("%q", got)
	}
	s, err = Decode("snapshot",
		[]byte(`{"schema":"headroom/facts/v1","target":"local","facts":[{"fact":"disk.queue.scheduler","about":"sda","value":"none"}]}`))
	if err != nil || len(s.Facts) != 1 || s.Facts[0].About != "sda" {
		t.Errorf("%+v %v", s, err)
	}
	if got := values(configFile(t, "debian-6.1.0-50")); got["kernel.release"] != "6.1.176" ||
		got["kernel.config.NVME_CORE"] != "m" {
		t.Errorf("release %q, NVME_CORE %q", got["kernel.release"], got["kernel.config.NVME_CORE"])
	}
}

func TestDecodeRefuses(t *testing.T) {
	packed, err := os.ReadFile(filepath.Join(configsDir, "debian-6.1.0-50.config.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ data, says string }{
		"text":           {"hello = world\n", "holds no facts that can be read"},
		"empty":          {"", "holds no facts that can be read"},
		"an ini file":    {"[unit]\nkernel = 3\n", "holds no facts that can be read"},
		"other JSON":     {`{"schema":"headroom/run/v1","facts":[]}`, "headroom/facts/v1"},
		"broken JSON":    {`{"schema":`, "is not"},
		"no facts":       {`{"schema":"headroom/facts/v1"}`, "without facts"},
		"cut off packed": {string(packed[:2000]), "can't be unpacked"},
	} {
		_, err := Decode("F", []byte(c.data))
		var e *lab.Error
		if !errors.As(err, &e) || e.Kind != lab.Usage || len(e.Hints) == 0 || !strings.Contains(e.What, c.says) ||
			!strings.Contains(e.What, "F") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	k := knowledge(f)
	f.Add([]byte(dump))
	f.Add([]byte(`{"schema":"headroom/facts/v1","facts":[{"fact":"disk.model","about":"sda","value":"M"},{"fact":"kernel.cmdline","value":"a=\"b c\" -- d"},{"fact":"disk.under-test.2.queue.scheduler","value":"none"},{"fact":"disk.","unknown":"x"}]}`))
	f.Add([]byte("CONFIG_KASAN=y\n# CONFIG_CPU_SRSO is not set\nCONFIG_HZ=250\n"))
	f.Add([]byte("\x1f\x8b\x08"))
	other := snapshot("disk.model@sda=M", "kernel.cmdline=quiet", "kernel.config.MITIGATION_SRSO=y",
		"kernel.config.HZ=1000", "sysctl.vm.swappiness=1", "disk.under-test.queue.scheduler=bfq")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode("fuzz", data)
		if err != nil {
			return
		}
		if len(s.Facts) == 0 {
			t.Error("recognised, without facts")
		}
		if d := k.Compare(s, s); len(d.Differences) > 0 {
			t.Errorf("it differs from itself: %+v", d.Differences)
		}
		for i, d := range k.Compare(s, other).Differences {
			if d.Rank != i+1 || d.Weight < 0 || d.Weight > 1 || d.Why == "" {
				t.Errorf("%+v", d)
			}
		}
	})
}
