package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/bootloader"
	"github.com/headroom/headroom/internal/host/kube"
	"github.com/headroom/headroom/internal/host/qemu"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/saved"
	"github.com/headroom/headroom/internal/store"
)

// TargetKind is one kind of place where commands run, and all that this package knows of it. What an open target can
// do is asked by the interfaces of package host.
type TargetKind struct {
	// Scheme is what its names begin with, "ssh:"; Form is how they are written, empty for what nothing can be run on.
	Scheme, Form string
	// Completions are the beginnings of names that a shell offers, each with what it stands for after a tab.
	Completions []string
	Open        func(ctx context.Context, name string) (host.Target, error)
	// Traits are what a name says of its target; nil for a machine that is there anyway.
	Traits func(name string) host.Traits
	// OpenSet opens the targets that one name stands for, of which members are those that it had before; nil where each
	// name stands for one.
	OpenSet func(ctx context.Context, name string, members []string) (*TargetSet, error)
	// Disks are those that the target will have, and OpenIn opens it with the images of its disks in a folder of this
	// machine; nil where headroom makes no disks.
	Disks  func(name string) ([]host.Disk, error)
	OpenIn func(ctx context.Context, name, folder string) (host.Target, error)
}

// TargetSet is several targets for which one name stands.
type TargetSet struct {
	Targets []host.Target
	// Members tell them apart, in the same order: nodes, or numbers.
	Members []string
	// LeftOut says of each that was meant and is not there why.
	LeftOut []string
	Close   func() error
}

// TargetKinds is a list of them. Of two that a name fits, the first one counts.
type TargetKinds []TargetKind

// AllKinds are all that this program has.
func (p *App) AllKinds() TargetKinds {
	open := opener{p.Setting, p.OpenStore, func(text string) { p.Print("", text) }, &p.links.Links}
	return append(slices.Clone(TargetKinds(p.Kinds)), TargetKinds{
		{Scheme: LocalTarget, Form: LocalTarget, Completions: []string{LocalTarget + "\tthis machine"},
			Traits: func(string) host.Traits { return host.Traits{Local: true} },
			Open:   openLocal},
		{Scheme: host.SSHScheme, Form: "ssh://[user@]host[:port]", Open: open.ssh,
			Completions: []string{"ssh://\ta host, as your ssh knows it"}},
		{Scheme: qemu.Scheme, Form: "qemu:FILE", Open: open.guest, OpenIn: open.guestIn, Disks: disksOfGuest,
			Traits:      func(string) host.Traits { return qemu.Traits() },
			Completions: []string{qemu.Scheme + "\ta guest in QEMU, by the file that describes it"}},
		{Scheme: kube.Scheme, Form: kube.Form, Open: open.pod, OpenSet: open.pods, Traits: kube.TraitsOf,
			Completions: []string{
				kube.Scheme + "pod?\ta pod that is made for it, in the cluster of your kubeconfig",
				kube.Scheme + "nodes?\ta pod on each node, for the node itself",
				kube.Scheme + "vm?\ta machine of KubeVirt that is made for it there"}},
		{Scheme: bootloader.TalosScheme, Form: "talos://NODE", Open: openTalos,
			Traits: func(string) host.Traits { return bootloader.TalosTraits() }},
		filesKind(),
	}...)
}

// opener opens targets, with what the user has configured and with the records of the store.
type opener struct {
	setting func(key string) string
	store   func() (*store.Store, error)
	say     func(text string)
	// links connect the guests that a command starts.
	links *qemu.Links
}

// openLocal opens this machine, which can be measured where it runs Linux.
func openLocal(context.Context, string) (host.Target, error) {
	if runtime.GOOS != "linux" {
		return nil, Usage("this machine does not run Linux, so it can't be measured",
			"name one that does: --on ssh://root@host")
	}
	return host.NewLocal(JobsFolder()), nil
}

// Of is the kind of a name; nil where it is no target's.
func (k TargetKinds) Of(name string) *TargetKind {
	i := slices.IndexFunc(k, func(k TargetKind) bool {
		return name == k.Scheme || strings.Contains(k.Scheme, ":") && strings.HasPrefix(name, k.Scheme)
	})
	if i < 0 {
		return nil
	}
	return &k[i]
}

// Has reports whether an argument names a target and can't be the name of anything else.
func (k TargetKinds) Has(name string) bool { return k.Of(name) != nil }

// Traits are what a name says of its target.
func (k TargetKinds) Traits(name string) host.Traits {
	if kind := k.Of(name); kind != nil && kind.Traits != nil {
		return kind.Traits(name)
	}
	return host.Traits{}
}

// Rest is a name without the scheme of its kind.
func (k TargetKinds) Rest(name string) string {
	if kind := k.Of(name); kind != nil {
		return strings.TrimPrefix(name, kind.Scheme)
	}
	return name
}

// Forms is how targets are written.
func (k TargetKinds) Forms() string {
	var forms []string
	for _, k := range k {
		if k.Form != "" {
			forms = append(forms, k.Form)
		}
	}
	return strings.Join(forms, " or ")
}

// Traits are what the name of a target says of it.
func (p *App) Traits(name string) host.Traits { return p.AllKinds().Traits(name) }

// SavedTraits returns the traits of a target of a saved run, which the real program has opened.
func SavedTraits(name string) host.Traits { return new(App).Traits(name) }

// OpenSet opens all targets that one name describes, and prints which are left out.
func (p *App) OpenSet(ctx context.Context, name string, members []string) (*TargetSet, error) {
	kind := p.AllKinds().Of(name)
	if kind == nil || kind.OpenSet == nil {
		return nil, Usage(name + " does not stand for several targets")
	}
	set, err := kind.OpenSet(ctx, name, members)
	if err != nil {
		return nil, err
	}
	for _, text := range set.LeftOut {
		p.Print("", text)
	}
	return set, nil
}

// OpenIn opens a target whose disks are images in a folder of this machine.
func (p *App) OpenIn(ctx context.Context, name, folder string) (host.Target, error) {
	kind := p.AllKinds().Of(name)
	if kind == nil || kind.OpenIn == nil {
		return p.OpenTarget(ctx, name)
	}
	return kind.OpenIn(ctx, name, folder)
}

// ssh opens a machine by the user's own ssh.
func (w opener) ssh(ctx context.Context, name string) (host.Target, error) {
	o, err := host.ParseSSH(name)
	if err != nil {
		return nil, err
	}
	if file := w.setting(config.SSHConfig); file != "" {
		o.Args = append([]string{"-F", file}, o.Args...)
	}
	if patience := w.setting(config.SSHPatience); patience != "" {
		if o.Patience, err = time.ParseDuration(patience); err != nil {
			return nil, err
		}
	}
	s := host.NewSSH(o)
	if err := s.Connect(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (w opener) guest(ctx context.Context, name string) (host.Target, error) {
	return w.guestIn(ctx, name, os.TempDir())
}

// guestIn starts a guest whose blank images are made in a folder.
func (w opener) guestIn(ctx context.Context, name, images string) (host.Target, error) {
	file := strings.TrimPrefix(name, qemu.Scheme)
	w.say("starting the guest of " + file)
	g, err := qemu.Open(ctx, name, file, qemu.Host{Folder: JobsFolder(), Images: images,
		Links: w.links, Say: w.say})
	if err != nil {
		return nil, err // and no guest that is nil in an interface which is not
	}
	return g, nil
}

// guestLinks connect the guests that a command starts.
type guestLinks struct{ qemu.Links }

// disksOfGuest reads which disks a guest will have, by the file that describes it.
func disksOfGuest(name string) ([]host.Disk, error) {
	path := strings.TrimPrefix(name, qemu.Scheme)
	text, err := ReadInput(path)
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: "can't read the guest's description", Err: err}
	}
	f, err := qemu.Decode(path, text)
	if err != nil {
		return nil, err
	}
	if f.Image != "" {
		return nil, Usage(path+" starts from an image, whose own system names its disks, so headroom can't identify "+
			"them", "leave image: out, and name a kernel: headroom makes the guest's file system")
	}
	return f.Provided(), nil
}

func (w opener) pod(ctx context.Context, name string) (host.Target, error) {
	o, err := w.podOptions(name)
	if err != nil {
		return nil, err
	}
	if o.Several() {
		return nil, Usage(name+" stands for several pods, which headroom run measures and headroom doctor diagnoses",
			"for one node: "+name+"&node=NAME")
	}
	on, err := w.podHost()
	if err != nil {
		return nil, err
	}
	if o.Machine != nil {
		return w.machine(ctx, o, on)
	}
	pod, err := kube.Open(ctx, o, on)
	if err != nil {
		return nil, err // and no pod that is nil in an interface which is not
	}
	w.say("the pod runs on node " + pod.Node())
	return pod, nil
}

// podHost is what this machine has for pods.
func (w opener) podHost() (kube.Host, error) {
	s, err := w.store()
	if err == nil {
		err = s.Folder.Writable()
	}
	if err != nil {
		return kube.Host{}, err
	}
	return kube.Host{Records: s.Folder.Pods(), Report: w.say}, nil
}

// machine makes a machine of KubeVirt.
func (w opener) machine(ctx context.Context, o kube.Options, on kube.Host) (host.Target, error) {
	if o.Machine.Boot == "" && o.Machine.BootClaim == "" {
		o.Machine.Boot = w.setting(config.KubeDisk)
	}
	if file := w.setting(config.SSHConfig); file != "" {
		on.SSH = []string{"-F", file}
	}
	m, err := kube.OpenMachine(ctx, o, on)
	if err != nil {
		return nil, err // and no machine that is nil in an interface which is not
	}
	w.say("the machine runs on node " + m.Node())
	return m, nil
}

// pods makes the pods that a name describes.
func (w opener) pods(ctx context.Context, name string, members []string) (*TargetSet, error) {
	o, err := w.podOptions(name)
	if err != nil {
		return nil, err
	}
	on, err := w.podHost()
	if err != nil {
		return nil, err
	}
	pods, err := kube.OpenSet(ctx, o, members, on)
	if err != nil {
		return nil, err
	}
	set := &TargetSet{LeftOut: pods.LeftOut, Close: pods.Close}
	for _, pod := range pods.Pods {
		set.Targets = append(set.Targets, pod)
		set.Members = append(set.Members, kube.TraitsOf(pod.Name()).Member)
	}
	return set, nil
}

// podOptions returns the options of a pod, or of several, by its name.
func (w opener) podOptions(name string) (kube.Options, error) {
	o, err := kube.ParseName(name)
	if err == nil && o.Image == "" {
		o.Image = w.setting(config.KubeImage)
	}
	return o, err
}

func openTalos(ctx context.Context, name string) (host.Target, error) {
	node := strings.TrimPrefix(name, bootloader.TalosScheme)
	if node == "" || strings.HasPrefix(node, "-") {
		return nil, Usage(fmt.Sprintf("%q is no target: the node is missing", name),
			"write talos://NODE, as talosctl --nodes takes it")
	}
	n, err := bootloader.NewTalos(ctx, node, bootloader.Options{})
	if err != nil {
		return nil, err // and no node that is nil in an interface which is not
	}
	return n, nil
}

// filesKind is the kind of files of a machine, which no command can be run on.
func filesKind() TargetKind {
	return TargetKind{Scheme: saved.Scheme,
		Completions: []string{saved.Scheme + "\tfiles of a machine: a folder or an archive with its /proc and /sys"},
		Open:        func(_ context.Context, name string) (host.Target, error) { return nil, saved.Refusal(name) },
	}
}
