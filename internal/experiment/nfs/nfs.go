package nfs

import (
	"context"
	"net/netip"
	"path/filepath"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
)

// Options are the flags of nfs.
type Options struct {
	experiment.RunOptions
	lab.NFS
	Result results.DocumentOutput
}

// Stages plans the measuring of the ways to an NFS server's storage, one after the other: the design of headroom nfs.
type Stages struct {
	App       *app.App
	Options   Options
	Store     *store.Store
	plan      *experiment.Plan
	args      []string
	suite     string
	loads     suite.Suite
	addresses []netip.Addr
	// id of the run.
	id string
	// bundles are the IDs of what was measured. Earlier has what is resumed, by the names that stages were requested
	// by.
	bundles []string
	earlier map[string]*store.Bundle
	// older is set if an older version made what is resumed. It wrote a bundle for each stage.
	older bool
}

// checkEvents refuses events that can't be carried out before the first load, because the mounts that they affect are
// made stages later.
func (x *Stages) checkEvents(ctx context.Context) error {
	for _, u := range x.Options.NFS.Events {
		if len(u.Named) == 0 {
			continue
		}
		k, known := experiment.FindEvent(u.Named[0])
		if !known {
			return app.Usage("no event has the name " + u.Named[0])
		}
		t := x.plan.Opened(u.Target)
		if t == nil {
			var err error
			if t, err = x.App.OpenTarget(ctx, u.Target); err != nil {
				return err
			}
			defer x.App.CloseTarget(t)
		}
		if err := k.Ready(ctx, experiment.EventScope{Target: t}, u.Named); err != nil {
			return err
		}
	}
	return nil
}

// name the ends as the command line says.
func (x *Stages) name() error {
	o := &x.Options
	for _, typed := range o.On {
		role, name := app.RoleOf(typed)
		to := map[string]*string{experiment.ClientRole: &o.Client, experiment.ServerRole: &o.Server}[role]
		if to == nil {
			return app.Usage("--on "+typed+" does not say which end it is", "--on client="+name, "--on server="+name)
		}
		if *to != "" {
			return app.Usage("--on names two targets as the "+role, "one client is measured with one server")
		}
		*to = name
	}
	if o.Client == "" {
		o.Client = app.LocalTarget
	}
	if o.Client == o.Server {
		return app.Usage("client and server are both "+o.Client,
			"what goes through a machine's own loopback is no network")
	}
	if o.Export != "" && !filepath.IsAbs(o.Export) || o.Mounted != "" && !filepath.IsAbs(o.Mounted) {
		return app.Usage("a directory of another machine is named from its root on", "--export /srv",
			"--mounted /mnt/srv")
	}
	if o.Mounted != "" {
		return x.nameMounted()
	}
	switch {
	case o.Guest != "" || o.GuestPlace != "":
		return app.Usage("--guest is about a mount that stays: a guest's disk can't be moved from one to the next",
			"--mounted /mnt/pve/rdma --guest ssh://vm1 --guest-place /srv")
	case o.Export == "":
		return app.Usage("mount what? name the directory on the server, from its root on", "--export /srv",
			"--mounted DIR measures a mount that is there")
	case len(o.Addresses) == 0:
		return app.Usage("the server's address is not known",
			"--address 10.0.1.1, and once more for each other path to it")
	}
	if o.Path == "" {
		o.Path = o.Export
	}
	for _, transport := range o.Transports {
		if transport != mount.OverTCP && transport != mount.OverRDMA {
			return app.Usage("--transport " + transport + " is neither tcp nor rdma")
		}
	}
	for _, typed := range o.Addresses {
		a, err := netip.ParseAddr(typed)
		if err != nil {
			return app.Usage("--address "+typed+" is no address",
				"write one of the server's own, which ip address shows there: 10.0.1.1")
		}
		x.addresses = append(x.addresses, a)
	}
	if _, err := mount.ParseNFS(mount.OfStage(x.Options.NFS, mount.OverTCP, x.addresses).String()); err != nil {
		return app.Usage(err.Error())
	}
	return nil
}

// eventTarget is the target that --event-on names: the client where it says nothing.
func (x *Stages) eventTarget(on string) (string, error) {
	ends := []lab.RunTarget{{Role: experiment.ClientRole, Target: x.Options.Client}}
	if x.Options.Server != "" {
		ends = append(ends, lab.RunTarget{Role: experiment.ServerRole, Target: x.Options.Server})
	}
	return experiment.EventTarget(x.App.AllKinds(), on, experiment.ClientRole, ends...)
}

// nameMounted is name for a mount that is there already.
func (x *Stages) nameMounted() error {
	o := &x.Options
	switch {
	case len(o.Addresses)+len(o.Options)+len(o.Transports) > 0 || o.Path != "":
		return app.Usage("--mounted measures an existing mount, so its mount options can't be chosen",
			"leave out --address, --path, --options and --transport")
	case (o.Guest == "") != (o.GuestPlace == ""):
		return app.Usage("--guest and --guest-place belong together", "--guest ssh://vm1 --guest-place /srv")
	case o.Guest != "" && !filepath.IsAbs(o.GuestPlace):
		return app.Usage("--guest-place "+o.GuestPlace+" is no whole path", "--guest-place /srv")
	case o.Server != "" && o.Export == "":
		return app.Usage("which directory is it on the server?", "--export /srv",
			"without --on server=… the server's own storage is left out")
	case o.Guest != "" && (o.Guest == o.Client || o.Guest == o.Server):
		return app.Usage(o.Guest + " is named as the guest and as another machine, too")
	}
	return nil
}
