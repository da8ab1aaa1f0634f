package factor

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/lab"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]struct {
		factor string
		levels []string
	}{
		"sysctl:vm.dirty_ratio=10,20,found": {"sysctl:vm.dirty_ratio", []string{"10", "20", "found"}},
		"sysctl:net.ipv4.tcp_rmem=4096 131072 6291456": {"sysctl:net.ipv4.tcp_rmem",
			[]string{"4096 131072 6291456"}},
		"sysctl:vm.dirty_ratio=10, 20":         {"sysctl:vm.dirty_ratio", []string{"10", "20"}},
		`cpu:online="0-3,8",0-15`:              {"cpu:online", []string{"0-3,8", "0-15"}},
		"cmdline:memmap=16G!4G,absent":         {"cmdline:memmap", []string{"16G!4G", "absent"}},
		"cmdline:quiet=,absent":                {"cmdline:quiet", []string{"", "absent"}},
		"env:LD_PRELOAD=a=b":                   {"env:LD_PRELOAD", []string{"a=b"}},
		"kernel:=6.1.0-41-amd64,/boot/vmlinuz": {"kernel:", []string{"6.1.0-41-amd64", "/boot/vmlinuz"}},
		`exec:say="with ""quotes"""`:           {"exec:say", []string{`with "quotes"`}},
		"sysfs:/sys/kernel/mm/ksm/run=0,1":     {"sysfs:/sys/kernel/mm/ksm/run", []string{"0", "1"}},
		"queue:iosched/read_expire=100,500":    {"queue:iosched/read_expire", []string{"100", "500"}},
		"mount:atime=noatime,relatime":         {"mount:atime", []string{"noatime", "relatime"}},
		"irq:nvme0=0,1":                        {"irq:nvme0", []string{"0", "1"}},
		"nic:eth0/mtu=1500,9000":               {"nic:eth0/mtu", []string{"1500", "9000"}},
		"module:nvme-core.io_timeout=30,60":    {"module:nvme-core.io_timeout", []string{"30", "60"}},
		"guest:iothreads=0,4":                  {"guest:iothreads", []string{"0", "4"}},
		"job:iodepth=1,32":                     {"job:iodepth", []string{"1", "32"}},
		"sysctl:net.ipv4.conf.eth0/100.rp_filter=0,1": {"sysctl:net.ipv4.conf.eth0/100.rp_filter",
			[]string{"0", "1"}},
		"sysfs:/sys/kernel/mm/transparent_hugepage/x=a b": {"sysfs:/sys/kernel/mm/transparent_hugepage/x",
			[]string{"a b"}},
	} {
		got, err := Parse(text)
		if err != nil || got.Factor() != want.factor || !slices.Equal(got.Levels, want.levels) {
			t.Errorf("%s: %q %q, %v", text, got.Factor(), got.Levels, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"client:pin:cpus=0",
		"", "vm.dirty_ratio=1", "sysctl:vm.dirty_ratio", "sysctl:vm.dirty_ratio=", "sysctl:=1",
		"sysctl:../../etc/passwd=1", "sysctl:vm..x=1",
		"sysctl:vm.x=1,1", "sysctl:vm.x=16,0x10", "sysctl:vm.x=1\n2", "sysfs:/etc/passwd=1",
		"sysfs:/sys/../etc/passwd=1", "sysfs:sys/x=1",
		"cpu:online=0-", "cpu:online=3-1", `cpu:online="0,1",0-1`, "cpu:turbo=1", "cpu:smt=forceoff",
		"mount:data=journal", "mount:atime=yes",
		"mount:commit=1;2", "nic:eth0=1", "nic:eth0/ring=1", "nic:eth0/gro=1", "nic:eth0/mtu=big", "nic:-i/mtu=1500",
		"irq:36=x", "env:1A=x",
		"kernel:6.1=x", "cmdline:a b=x", "cmdline:a=x y", "guest:colour=x", "job:=1", `cpu:online="0-3`, "nosuch:x=1",
		"module:nvme=1", "exec:a/b=1",
		"sysctl:vm.x=" + strings.Repeat("9", 5000),
	} {
		c, err := Parse(text)
		if err == nil {
			t.Errorf("%.60q: taken for %q %q", text, c.Factor(), c.Levels)
		} else if lab.KindOf(err) != lab.Usage {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

// What is parsed is written again to the same.
func FuzzParse(f *testing.F) {
	for _, s := range Schemes() {
		for _, e := range s.Examples {
			f.Add(e)
		}
	}
	f.Add(`cpu:online="0-3,8",0-15`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		again := c.Factor() + "="
		for i, l := range c.Levels {
			if i > 0 {
				again += ","
			}
			again += `"` + strings.ReplaceAll(l, `"`, `""`) + `"`
		}
		d, err := Parse(again)
		if err != nil || d.Factor() != c.Factor() || !slices.Equal(d.Levels, c.Levels) {
			t.Errorf("%q: %q, then %q: %q, %v", text, c.Levels, again, d.Levels, err)
		}
	})
}

func TestSchemesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Schemes() {
		if seen[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		seen[s.Name] = true
		for what, text := range map[string]string{"title": s.Title, "needs": s.Needs, "syntax": s.Syntax,
			"levels": s.Levels, "verified": s.Verified} {
			if text == "" || strings.HasSuffix(text, ".") {
				t.Errorf("%s: %s is %q", s.Name, what, text)
			}
		}
		if (s.Bind != nil) != (s.Class == scheme.Live) {
			t.Errorf("%s is of the class %s, and bind is there: %v", s.Name, s.Class, s.Bind != nil)
		}
		if len(s.Examples) == 0 {
			t.Errorf("%s has no example", s.Name)
		}
		for _, e := range s.Examples {
			if c, err := Parse(e); err != nil || WithoutDevice(c.Factor()) != s.Name+":"+c.Name ||
				len(c.Levels) < 2 && s.Name != "env" {
				t.Errorf("the example %s: %q, %v", e, c.Levels, err)
			}
		}
	}
	if len(seen) != 20 {
		t.Errorf("%d schemes", len(seen))
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		scheme, a, b string
		equal        bool
	}{
		{"sysctl", "4096 131072 6291456", "4096\t131072\t6291456", true},
		{"sysctl", "0x1f", "31", true},
		{"sysctl", "10", "20", false},
		{"module", "Y", "1", true},
		{"module", "N", "1", false},
		{"cpu", "0,1,2", "0-2", true},
		{"cpu", "performance", "powersave", false},
		{"irq", "2,0", "0,2", true},
		{"sysctl", "0,1", "0-1", false},
		{"nosuch", "a", "a", true},
		{"env", "a", "A", false},
	} {
		if Equal(c.scheme, c.a, c.b) != c.equal {
			t.Errorf("%+v", c)
		}
	}
}

func TestOrder(t *testing.T) {
	got := Order([]string{"nic:eth0/ring-rx", "queue:nr_requests", "cpu:governor", "sysctl:vm.x", "queue:scheduler",
		"nic:eth0/mtu", "cpu:online"})
	want := []string{"queue:scheduler", "cpu:online", "queue:nr_requests", "cpu:governor", "nic:eth0/mtu",
		"nic:eth0/ring-rx", "sysctl:vm.x"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A device is part of the scheme's name, wherever one can be named.
func TestFactorOfADevice(t *testing.T) {
	c, err := Parse("server:queue@md0:scheduler=none,bfq")
	if err != nil || c.Factor() != "server:queue@md0:scheduler" || c.Scheme.Name != "queue@md0" ||
		c.Name != "scheduler" {
		t.Errorf("%+v, %v", c, err)
	}
	if got := WithoutDevice(c.Factor()); got != "server:queue:scheduler" {
		t.Errorf("without its device it is %q", got)
	}
	if got := WithoutDevice("sysfs:/sys/a@b"); got != "sysfs:/sys/a@b" {
		t.Errorf("a name with @ became %q", got)
	}
	for _, wrong := range []string{"sysctl@md0:vm.swappiness=1", "queue@:scheduler=none", "queue@a b:scheduler=none",
		"queue@md0:../x=1", "queue@../x:scheduler=none"} {
		if _, err := Parse(wrong); lab.KindOf(err) != lab.Usage {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	for keep, kept := range map[string]bool{"queue:scheduler": true, "queue@md0:scheduler": true, "queue:*": true,
		"queue@sda:scheduler": false, "queue:nr_requests": false} {
		if IsKept([]string{keep}, "queue@md0:scheduler") != kept {
			t.Errorf("--keep %s: %v", keep, !kept)
		}
	}
	if got := Order([]string{"queue@md0:nr_requests", "queue@disks:scheduler"}); got[0] != "queue@disks:scheduler" {
		t.Errorf("%q", got)
	}
}
