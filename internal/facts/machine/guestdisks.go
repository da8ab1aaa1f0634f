package machine

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/host"
)

// GuestOn is a virtual machine of QEMU that has a file below a directory open.
type GuestOn struct {
	PID, Name string
	// UUID that QEMU tells the guest in its DMI tables, in small letters; empty where its command line names none.
	UUID string
}

// GuestsOn returns the virtual machines of a target that have files below a directory open. Machines of other users are
// visible only to root.
func GuestsOn(ctx context.Context, t host.Target, dir string) ([]GuestOn, error) {
	out, err := t.Run(ctx, "sh", "-c", "exec ls -l /proc/[0-9]*/fd 2>/dev/null")
	if err != nil {
		return nil, err
	}
	var paths []string
	pids := parseOpenFiles(string(out.Stdout), dir)
	for _, pid := range pids {
		paths = append(paths, "/proc/"+pid+"/cmdline")
	}
	if len(paths) == 0 {
		return nil, nil
	}
	files, err := t.ReadFiles(ctx, paths...)
	if err != nil {
		return nil, err
	}
	var found []GuestOn
	for i, pid := range pids {
		g, ok := parseGuest(strings.Split(strings.TrimRight(string(files[paths[i]].Data), "\x00"), "\x00"))
		if ok {
			found = append(found, GuestOn{PID: pid, Name: g.name(), UUID: g.uuid()})
		}
	}
	return found, nil
}

// GuestUUID is what a virtual machine's DMI tables call it, in small letters; empty where they name none, or only root
// may read it.
func GuestUUID(ctx context.Context, t host.Target) (string, error) {
	const file = "/sys/class/dmi/id/product_uuid"
	files, err := t.ReadFiles(ctx, file)
	if err != nil {
		return "", err
	}
	return realUUID(string(files[file].Data)), nil
}

// uuid returns the UUID of -uuid or of the DMI tables' first type: "-smbios type=1,uuid=7f1d6a4e-…".
func (g *guest) uuid() string {
	found := ""
	for _, o := range g.options {
		switch o.name {
		case "uuid":
			found = o.value
		case "smbios":
			if p := parseProperties(o.value, "file"); p["type"] == "1" && p["uuid"] != "" {
				found = p["uuid"]
			}
		}
	}
	return realUUID(found)
}

// realUUID returns an empty string for the zero UUID, which QEMU uses if none is given.
func realUUID(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	if len(text) != 36 || strings.Trim(text, "0-") == "" {
		return ""
	}
	return text
}

// parseOpenFiles are the processes that have files below a directory open, by what ls -l prints of their folders fd,
// each once:
//
//	/proc/4711/fd:
//	total 0
//	lrwx------ 1 root root 64 Nov 23 08:49 12 -> /mnt/pve/rdma/images/101/vm-101-disk-0.raw
//	lrwx------    1 root     root            64 Nov 23 08:49 9 -> socket:[20113]
func parseOpenFiles(text, dir string) []string {
	below := strings.TrimSuffix(path.Clean(dir), "/") + "/"
	var pids []string
	pid := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if rest, ok := strings.CutPrefix(line, "/proc/"); ok && strings.HasSuffix(rest, "/fd:") {
			pid = strings.TrimSuffix(rest, "/fd:")
			if _, err := strconv.Atoi(pid); err != nil {
				pid = ""
			}
			continue
		}
		if _, to, ok := strings.Cut(line, " -> "); ok && pid != "" && strings.HasPrefix(to, below) &&
			!slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}
