package nfs

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// nfsStage is one way to the storage of an NFS server.
type nfsStage struct {
	// asked is the name that it was requested by. Its level is named by what the mount turned out to be.
	asked string
	// arm is the name of its arm in the run.
	arm string
	// target that is measured, in folder.
	target host.Target
	folder string
	// mount is made for the stage; nil where there is none to make.
	mount *mount.NFS
	// point of the client is where the mount is seen; empty for the server's own storage.
	point string
	// inside is set if the target is a virtual machine whose disk is on the mount.
	inside bool
}

// addresses returns the number of addresses that the mount was requested with; 0 for a mount that was there.
func (s nfsStage) addresses() int {
	if s.mount == nil {
		return 0
	}
	return len(s.mount.Addresses)
}

// possibleStages are the stages that can be measured, in their order. What is left out is said.
func (x *Stages) possibleStages(ctx context.Context) ([]nfsStage, error) {
	var all []nfsStage
	client := x.plan.Opened(x.Options.Client)
	if server := x.plan.Opened(x.Options.Server); server != nil {
		all = append(all, nfsStage{asked: "the server's own storage", arm: "server", target: server,
			folder: x.Options.Export})
	} else {
		x.App.Print("", "without --on server=TARGET the server's own storage is not measured")
	}
	if point := x.Options.Mounted; point != "" {
		all = append(all, nfsStage{asked: "the mount on " + point, arm: "mount", target: client, folder: point,
			point: point})
		if guest := x.plan.Opened(x.Options.Guest); guest != nil {
			inside := nfsStage{asked: "the guest " + guest.Name(), arm: "guest", target: guest,
				folder: x.Options.GuestPlace, point: point, inside: true}
			if err := x.checkGuest(ctx, inside); err != nil {
				return nil, err
			}
			all = append(all, inside)
		}
		return all, nil
	}
	for _, transport := range []string{mount.OverTCP, mount.OverRDMA} {
		if len(x.Options.Transports) > 0 && !slices.Contains(x.Options.Transports, transport) {
			continue
		}
		if transport == mount.OverRDMA && !slices.Contains(x.Options.Transports, transport) {
			lacks, err := x.lacksRDMA(ctx)
			if err != nil {
				return nil, err
			}
			if lacks != "" {
				x.App.Print("", "RDMA is left out: "+lacks)
				continue
			}
		}
		for n := 1; n <= len(x.addresses); n += max(1, len(x.addresses)-1) {
			m := mount.OfStage(x.Options.NFS, transport, x.addresses[:n])
			point := fmt.Sprintf("/run/headroom-%s-nfs%d", strings.ToLower(x.id), len(all))
			name := mount.StageName(transport, n)
			arm := strings.ReplaceAll(strings.ToLower(name), " ", "-")
			all = append(all, nfsStage{asked: name, arm: arm, target: client, mount: &m, folder: point,
				point: point})
		}
	}
	return all, nil
}

// lacksRDMA is which end has no RDMA; empty where both have it, as far as can be seen.
func (x *Stages) lacksRDMA(ctx context.Context) (string, error) {
	ports, err := network.RDMAPorts(ctx, x.plan.Opened(x.Options.Client))
	if err != nil {
		return "", err
	}
	if !ports {
		return "the client has no RDMA port", nil
	}
	if x.Options.Server == "" {
		return "", nil
	}
	const portList = "/proc/fs/nfsd/portlist"
	files, err := x.plan.Opened(x.Options.Server).ReadFiles(ctx, portList)
	if err != nil {
		return "", err
	}
	if f := files[portList]; f.Err == nil && !strings.Contains(string(f.Data), "rdma ") {
		return "the server does not listen for it (" + portList + ")", nil
	}
	return "", nil
}

// checkGuest refuses a virtual machine whose disk can't be on the mount. What the mount carries while it is measured
// says the rest.
func (x *Stages) checkGuest(ctx context.Context, s nfsStage) error {
	client := x.plan.Opened(x.Options.Client)
	found, err := machine.GuestsOn(ctx, client, s.point)
	if err != nil {
		return err
	}
	refuse := func(what string) error {
		return &lab.Error{Kind: lab.Refused, What: what, Target: host.RemoteName(client),
			Hints: []string{"name the mount on which the guest's disk lies: --mounted DIR",
				"it takes root to see what others have open"}}
	}
	if len(found) == 0 {
		return refuse("no virtual machine has a file of " + s.point + " open")
	}
	uuid, err := machine.GuestUUID(ctx, s.target)
	if err != nil {
		return err
	}
	var names []string
	for _, g := range found {
		if uuid == "" || g.UUID == "" || g.UUID == uuid {
			return nil
		}
		names = append(names, fmt.Sprintf("%s (process %s)", g.Name, g.PID))
	}
	return refuse(fmt.Sprintf("%s is not among the virtual machines that have files of %s open: %s", s.target.Name(),
		s.point, strings.Join(names, ", ")))
}

func memoryFilesystems() []string { return []string{"tmpfs", "ramfs"} }

// serverStage is what the server's own storage is called.
func serverStage(place lab.Place) string {
	if slices.Contains(memoryFilesystems(), place.Filesystem) {
		return "server memory"
	}
	return "server " + place.Filesystem
}

// throughMemory are loads on a file system in memory, which takes no direct I/O before Linux 6.6: it is the cache
// itself.
func throughMemory(cells []lab.Cell) []lab.Cell {
	changed := slices.Clone(cells)
	for i := range changed {
		changed[i].Params = maps.Clone(changed[i].Params)
		changed[i].Params["direct"] = "0"
	}
	return changed
}

// eventsFor are the events that a stage on a mount can have: no loss of an address that it does not use.
func (s nfsStage) eventsFor(all []lab.Event) []lab.Event {
	var own []lab.Event
	for _, u := range all {
		if s.mount != nil && len(u.Named) == 2 && u.Named[0] == experiment.LoseTrunk &&
			!slices.Contains(s.mount.Addresses, addressOf(u.Named[1])) {
			continue
		}
		if s.addresses() == 1 {
			u.ExpectedShare = 0 // which is said of all addresses
		}
		own = append(own, u)
	}
	return own
}

// addressOf a text; the zero one where it is none.
func addressOf(text string) netip.Addr {
	a, _ := netip.ParseAddr(text)
	return a
}
