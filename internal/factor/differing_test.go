package factor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/factor"
)

func TestDifferingArguments(t *testing.T) {
	for _, c := range []struct {
		good, bad string
		want      []string
	}{
		{"", "quiet slub_debug=FZPU", []string{`cmdline:quiet=absent,`, `cmdline:slub_debug=absent,FZPU`}},
		{"root=/dev/sda1 ro quiet iommu.strict=0", "root=/dev/vda2 rw quiet iommu.strict=1",
			[]string{"cmdline:iommu.strict=0,1"}},
		{"console=tty0 console=ttyS0 a=1", "console=ttyS0 console=tty0 a=2", []string{"cmdline:a=1,2"}},
		{"a=1,2 b", "a=2 b -- c", []string{`cmdline:a="1,2",2`}},
		{"x.y=1 init_on_alloc=1", "init_on_alloc=1", []string{"cmdline:x.y=1,absent"}},
	} {
		got, err := factor.DifferingArguments(c.good, c.bad)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q against %q: %q, %v; want %q", c.good, c.bad, got, err, c.want)
		}
		for _, text := range got {
			if choice, err := factor.Parse(text); err != nil || len(choice.Levels) != 2 {
				t.Errorf("%s: %v, %v", text, choice, err)
			}
		}
	}
	for _, c := range [][3]string{
		{"quiet", "quiet", "do not differ"}, {"", "", "do not differ"},
		{"hugepages=1 hugepages=2", "quiet", "several times"}, {"", `dyndbg="file a +p"`, "quotes"},
		{"", "=1", "name of a kernel argument"},
	} {
		if _, err := factor.DifferingArguments(c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%q against %q: %v; want %q", c[0], c[1], err, c[2])
		}
	}
}

func TestDifferingSysctls(t *testing.T) {
	good := "# fast\nvm.dirty_ratio = 20\nnet.ipv4.tcp_rmem = 4096\t131072\t6291456\nkernel.pid_max=32768\nonly.here " +
		"= 1\n"
	bad := "; slow\n-vm.swappiness = 1\nvm.dirty_ratio=2\nnet.ipv4.tcp_rmem = 4096 131072 6291456\nkernel.pid_max = " +
		"4194304\nonly.there = 1\n"
	got, err := factor.DifferingSysctls(good, bad)
	if want := []string{"sysctl:kernel.pid_max=32768,4194304", "sysctl:vm.dirty_ratio=20,2"}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if _, err := factor.DifferingSysctls(good, good); err == nil || !strings.Contains(err.Error(), "no sysctl") {
		t.Error(err)
	}
}

// Whatever two command lines hold, what differs between them can be set.
func FuzzDifferingArguments(f *testing.F) {
	f.Add("BOOT_IMAGE=/boot/vmlinuz-6.1.0-28-amd64 root=UUID=0a1b ro quiet",
		"ro quiet nvme.poll_queues=4 mitigations=off")
	f.Add("a=1,2 -- b", "a")
	f.Fuzz(func(t *testing.T, good, bad string) {
		list, err := factor.DifferingArguments(good, bad)
		if err != nil {
			return
		}
		for _, text := range list {
			if c, err := factor.Parse(text); err != nil || len(c.Levels) != 2 {
				t.Fatalf("%q: %v, %v", text, c, err)
			}
		}
	})
}

func FuzzDifferingSysctls(f *testing.F) {
	f.Add("vm.dirty_ratio = 20\n", "vm.dirty_ratio = 2\n# comment\n")
	f.Fuzz(func(t *testing.T, good, bad string) {
		list, err := factor.DifferingSysctls(good, bad)
		if err != nil {
			return
		}
		for _, text := range list {
			if c, err := factor.Parse(text); err != nil || len(c.Levels) != 2 {
				t.Fatalf("%q: %v, %v", text, c, err)
			}
		}
	})
}
