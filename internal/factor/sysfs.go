package factor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
)

// sysfsScheme is sysfs:, any file below /sys.
func sysfsScheme() scheme.Scheme {
	return scheme.Scheme{Name: "sysfs", Title: "any file below /sys", Class: scheme.Live, Needs: "nothing",
		Syntax:   "sysfs:/sys/PATH",
		Examples: []string{"sysfs:/sys/kernel/mm/transparent_hugepage/enabled=always,madvise,never"},
		Levels:   "what the kernel takes", Verified: "the file itself; of a list, the word in brackets",
		Check: checkSysfs, Bind: bindSysfs, Holds: sysfsFiles}
}

func checkSysfs(name, _ string) error {
	if !strings.HasPrefix(name, "/sys/") && !strings.HasPrefix(name, "/proc/sys/") || path.Clean(name) != name {
		return errors.New("sysfs: takes the whole path of a file below /sys, without . or .., not " +
			strconv.Quote(name))
	}
	return nil
}

// sysfsFiles covers a file and the target of the link at its path.
func sysfsFiles(ctx context.Context, t host.Target, name string) scheme.Holds {
	patterns := []string{name}
	if resolved, err := spot.RealPaths(ctx, t, []string{name}); err == nil {
		patterns = append(patterns, resolved[0])
	}
	return scheme.InFiles(patterns...)
}

func bindSysfs(ctx context.Context, w scheme.Scope, name string) (scheme.Setting, error) {
	factorName := "sysfs:" + name
	if strings.HasPrefix(name, "/proc/sys/") {
		return bindProc(ctx, w, factorName, name)
	}
	// Names lie in folders that are links (/sys/block/sda): the check must see the real path, too.
	resolved, err := spot.RealPaths(ctx, w.Target, []string{name})
	if err != nil {
		return scheme.Setting{}, err
	}
	s := scheme.OneFile(name)
	for _, p := range []string{name, resolved[0]} {
		if reason := dangerousFile(p); reason != "" {
			return scheme.Setting{}, scheme.Refusal(factorName, reason)
		}
	}
	s.Companions = scheme.CompanionsOf(ctx, w.Target, resolved[0])
	files, err := w.Target.ReadFiles(ctx, name)
	if err != nil {
		return scheme.Setting{}, err
	}
	if r := spot.FileReading(name, files[name]); r.Err != nil {
		reason := "it can't be read, so the old value can't be put back"
		return scheme.Setting{}, errors.Join(scheme.Refusal(factorName, reason), r.Err)
	}
	_, s.Possible = spot.Chosen(string(files[name].Data))
	s.Listed = true
	return s, nil
}

// dangerousFile says why a file of /sys must not be tried out: it does something when it is written, takes a device
// away, or lies in a file system of another kind that is mounted below /sys. Source: Documentation/ABI in the kernel's
// tree, by the names of the files.
func dangerousFile(name string) string {
	for _, tree := range []string{"/sys/fs/cgroup", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security",
		"/sys/kernel/config",
		"/sys/firmware", "/sys/fs/pstore", "/sys/fs/bpf", "/sys/fs/selinux", "/sys/power", "/sys/hypervisor"} {
		if name == tree || strings.HasPrefix(name, tree+"/") {
			return fmt.Sprintf("%s holds no settings of devices", tree)
		}
	}
	dir, file := path.Split(path.Clean(name))
	triggers := []string{"remove", "delete", "reset", "rescan", "scan", "bind", "unbind", "new_id", "remove_id",
		"drivers_probe", "driver_override",
		"uevent", "hot_add", "hot_remove", "eject", "probe", "offline", "soft_offline_page", "hard_offline_page",
		"flush", "stop", "detach",
		"attach", "register", "loading", "issue_lip", "reset_controller", "rescan_controller", "delete_controller",
		"disksize", "sync_action",
		"array_state", "new_dev", "backing_file", "sriov_numvfs", "rom", "config", "trigger", "disable",
		"enable", "compact", "clear"}
	switch {
	case slices.Contains(triggers, file):
		return "writing " + file + " does something at once, or takes a device away"
	case file == "state":
		return "it takes a device or memory out of service"
	case path.Base(dir) == "power" && file != "control" && !strings.HasPrefix(file, "pm_qos") &&
		file != "autosuspend_delay_ms":
		return "it puts a device to sleep or wakes it"
	case strings.HasPrefix(file, "resource") && strings.Contains(dir, "/pci"):
		return "it is the memory of a device"
	}
	return ""
}
