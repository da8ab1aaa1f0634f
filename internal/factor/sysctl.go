package factor

import (
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/prose"
)

// sysctlName is a name as sysctl(8) writes it: parts between dots, where a dot inside a part (of an interface) is a
// slash.
var sysctlName = prose.Pattern(`^[A-Za-z0-9_-]+([./][A-Za-z0-9_@:-]+)+$`)

// sysctlScheme is sysctl:, a kernel setting below /proc/sys.
func sysctlScheme() scheme.Scheme {
	return scheme.Scheme{Name: "sysctl", Title: "a kernel setting below /proc/sys", Class: scheme.Live,
		Needs:  "nothing",
		Syntax: "sysctl:NAME",
		Examples: []string{"sysctl:vm.dirty_ratio=10,20,40",
			"sysctl:net.ipv4.tcp_rmem=4096 131072 6291456,4096 131072 67108864"},
		Levels: "what the kernel takes", Verified: "the file below /proc/sys", Check: checkSysctl,
		Bind: bindSysctl, Holds: func(_ context.Context, _ host.Target, name string) scheme.Holds {
			return scheme.InFiles(sysctlPath(name))
		}}
}

func checkSysctl(name, _ string) error {
	if !sysctlName().MatchString(name) {
		return errors.New("sysctl: takes a name like vm.dirty_ratio, not " + strconv.Quote(name))
	}
	return nil
}

// sysctlPath returns the file of a sysctl. As in sysctl(8) the first separator determines the separator:
// net.ipv4.conf.eth0/100.rp_filter and net/ipv4/conf/eth0.100/rp_filter are the same.
func sysctlPath(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '.' {
		name = strings.Map(func(c rune) rune {
			switch c {
			case '.':
				return '/'
			case '/':
				return '.'
			}
			return c
		}, name)
	}
	return path.Join("/proc/sys", path.Join("/", name))
}

func bindSysctl(ctx context.Context, w scheme.Scope, name string) (scheme.Setting, error) {
	return bindProc(ctx, w, "sysctl:"+name, sysctlPath(name))
}

// bindProc is a file below /proc/sys, whatever it was called.
func bindProc(ctx context.Context, w scheme.Scope, factorName, file string) (scheme.Setting, error) {
	if reason := oneWaySysctl(strings.TrimPrefix(file, "/proc/sys/")); reason != "" {
		return scheme.Setting{}, scheme.Refusal(factorName, reason)
	}
	s := scheme.OneFile(file)
	s.Companions = spot.Files(sysctlCompanions(file))
	return s.Readable(ctx, w.Target)
}

// oneWaySysctl says why a sysctl is not put back by writing the old value; empty for all others.
// Sources: Documentation/admin-guide/sysctl/{kernel,vm}.rst, Documentation/networking/ip-sysctl.rst,
// Documentation/admin-guide/LSM/Yama.rst.
func oneWaySysctl(name string) string {
	switch name {
	case "kernel/modules_disabled", "kernel/kexec_load_disabled", "kernel/unprivileged_bpf_disabled",
		"kernel/yama/ptrace_scope":
		return "the kernel does not take some of its values back before the next boot"
	case "vm/drop_caches", "vm/compact_memory", "vm/stat_refresh", "net/ipv4/route/flush", "net/ipv6/route/flush":
		return "writing it does something at once and leaves nothing that could be put back"
	case "net/ipv4/ip_forward", "net/ipv4/conf/all/forwarding", "net/ipv6/conf/all/forwarding",
		"net/ipv6/conf/all/disable_ipv6",
		"net/ipv6/conf/default/disable_ipv6":
		return "the kernel changes settings and addresses of every interface along with it"
	case "kernel/sysrq", "kernel/core_pattern", "kernel/modprobe", "kernel/poweroff_cmd", "kernel/ns_last_pid":
		return "a mistake in it stops or endangers the machine, and no I/O depends on it"
	}
	return ""
}

// sysctlPairs are two ways to set the same thing: writing one sets the other to 0, which is not a value that can be
// written. Sources: Documentation/admin-guide/sysctl/vm.rst.
func sysctlPairs() [][2]string {
	return [][2]string{
		{"vm/dirty_ratio", "vm/dirty_bytes"},
		{"vm/dirty_background_ratio", "vm/dirty_background_bytes"},
		{"vm/overcommit_ratio", "vm/overcommit_kbytes"},
	}
}

func sysctlCompanions(file string) []string {
	const root = "/proc/sys/"
	for _, pair := range sysctlPairs() {
		if i := slices.Index(pair[:], strings.TrimPrefix(file, root)); i >= 0 {
			return []string{root + pair[1-i]}
		}
	}
	return nil
}
