package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/target"
	"headroom/internal/target/bootloader"
	"headroom/internal/target/kube"
	"headroom/internal/target/qemu"
)

// TargetKind is one kind of place where commands run, and all that this package knows of it. What an open target can
// do is asked by the interfaces of package target.
type TargetKind struct {
	// Scheme is what its names begin with, "ssh:"; Form is how they are written.
	Scheme, Form string
	// Completions are the beginnings of names that a shell offers, each with what it stands for after a tab.
	Completions []string
	Open        func(ctx context.Context, name string) (target.Target, error)
	// Traits are what a name says of its target; nil for a machine that is there anyway.
	Traits func(name string) target.Traits
	// OpenSet opens the targets that one name stands for, of which members are those that it had before; nil where each
	// name stands for one.
	OpenSet func(ctx context.Context, name string, members []string) (*targetSet, error)
	// Disks are those that the target will have, and OpenIn opens it with the images of its disks in a folder of this
	// machine; nil where headroom makes no disks.
	Disks  func(name string) ([]target.Disk, error)
	OpenIn func(ctx context.Context, name, folder string) (target.Target, error)
}

// targetSet is several targets for which one name stands.
type targetSet struct {
	targets []target.Target
	// members tell them apart, in the same order: nodes, or numbers.
	members []string
	// leftOut says of each that was meant and is not there why.
	leftOut []string
	close   func() error
}

// targetKinds is a list of them. Of two that a name fits, the first one counts.
type targetKinds []TargetKind

// kinds are all that this program has.
func (p *program) allKinds() targetKinds {
	return append(slices.Clone(targetKinds(p.Kinds)), targetKinds{
		{Scheme: localTarget, Form: localTarget, Completions: []string{localTarget + "\tthis machine"},
			Traits: func(string) target.Traits { return target.Traits{Local: true} },
			Open:   func(context.Context, string) (target.Target, error) { return p.local(), nil }},
		{Scheme: "ssh:", Form: "ssh://[user@]host[:port]", Open: p.openSSH,
			Completions: []string{"ssh://\ta host, as your ssh knows it"}},
		{Scheme: qemu.Scheme, Form: "qemu:FILE", Open: p.openGuest, OpenIn: p.openGuestIn, Disks: disksOfGuest,
			Traits:      func(string) target.Traits { return qemu.Traits() },
			Completions: []string{qemu.Scheme + "\ta guest in QEMU, by the file that describes it"}},
		{Scheme: kube.Scheme, Form: kube.Form, Open: p.openPod, OpenSet: p.openPods, Traits: kube.TraitsOf,
			Completions: []string{
				kube.Scheme + "pod?\ta pod that is made for it, in the cluster of your kubeconfig",
				kube.Scheme + "nodes?\ta pod on each node, for the node itself",
				kube.Scheme + "vm?\ta machine of KubeVirt that is made for it there"}},
		{Scheme: bootloader.TalosScheme, Form: "talos://NODE", Open: p.openTalos,
			Traits: func(string) target.Traits { return bootloader.TalosTraits() }},
	}...)
}

// of is the kind of a name; nil where it is no target's.
func (k targetKinds) of(name string) *TargetKind {
	i := slices.IndexFunc(k, func(k TargetKind) bool {
		return name == k.Scheme || strings.Contains(k.Scheme, ":") && strings.HasPrefix(name, k.Scheme)
	})
	if i < 0 {
		return nil
	}
	return &k[i]
}

// has says whether an argument names a target and can't be the name of anything else.
func (k targetKinds) has(name string) bool { return k.of(name) != nil }

// traits are what a name says of its target.
func (k targetKinds) traits(name string) target.Traits {
	if kind := k.of(name); kind != nil && kind.Traits != nil {
		return kind.Traits(name)
	}
	return target.Traits{}
}

// rest is a name without the scheme of its kind.
func (k targetKinds) rest(name string) string {
	if kind := k.of(name); kind != nil {
		return strings.TrimPrefix(name, kind.Scheme)
	}
	return name
}

// forms is how targets are written.
func (k targetKinds) forms() string {
	var forms []string
	for _, k := range k {
		forms = append(forms, k.Form)
	}
	return strings.Join(forms, " or ")
}

// traits are what the name of a target says of it.
func (p *program) traits(name string) target.Traits { return p.allKinds().traits(name) }

// savedTraits are those of a target of a saved run, which the real program has opened.
func savedTraits(name string) target.Traits { return new(program).traits(name) }

// targetNames are the beginnings of targets.
func (p *program) targetNames() []string {
	var names []string
	for _, k := range p.allKinds() {
		names = append(names, k.Completions...)
	}
	return names
}

// openSet opens the targets that one name stands for, and says which are left out.
func (p *program) openSet(ctx context.Context, name string, members []string) (*targetSet, error) {
	kind := p.allKinds().of(name)
	if kind == nil || kind.OpenSet == nil {
		return nil, usage(name + " does not stand for several targets")
	}
	set, err := kind.OpenSet(ctx, name, members)
	if err != nil {
		return nil, err
	}
	for _, text := range set.leftOut {
		p.print("", text)
	}
	return set, nil
}

// openIn opens a target whose disks are images in a folder of this machine.
func (p *program) openIn(ctx context.Context, name, folder string) (target.Target, error) {
	kind := p.allKinds().of(name)
	if kind == nil || kind.OpenIn == nil {
		return p.openTarget(ctx, name)
	}
	return kind.OpenIn(ctx, name, folder)
}

func (p *program) openSSH(ctx context.Context, name string) (target.Target, error) {
	o, err := target.ParseSSH(name)
	if err != nil {
		return nil, err
	}
	if config := p.Env(sshConfigVariable); config != "" {
		o.Args = append([]string{"-F", config}, o.Args...)
	}
	if patience := p.Env(patienceVariable); patience != "" {
		if o.Patience, err = time.ParseDuration(patience); err != nil {
			return nil, usage(patienceVariable+"="+patience+" is no time", "write something like 10m")
		}
	}
	s := target.NewSSH(o)
	if err := s.Connect(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (p *program) openGuest(ctx context.Context, name string) (target.Target, error) {
	return p.openGuestIn(ctx, name, os.TempDir())
}

// openGuestIn starts a guest whose blank images are made in a folder.
func (p *program) openGuestIn(ctx context.Context, name, images string) (target.Target, error) {
	file := strings.TrimPrefix(name, qemu.Scheme)
	p.print("", "starting the guest of "+file)
	g, err := qemu.OpenOn(ctx, name, file, qemu.Host{Folder: jobsFolder(), Images: images,
		Links: &p.links.Links, Say: func(text string) { p.print("", text) }})
	if err != nil {
		return nil, err // and no guest that is nil in an interface which is not
	}
	return g, nil
}

// guestLinks connect the guests that a command starts.
type guestLinks struct{ qemu.Links }

// disksOfGuest reads which disks a guest will have, by the file that describes it.
func disksOfGuest(name string) ([]target.Disk, error) {
	path := strings.TrimPrefix(name, qemu.Scheme)
	text, err := readInput(path)
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: "can't read the guest's description", Err: err}
	}
	f, err := qemu.Decode(path, text)
	if err != nil {
		return nil, err
	}
	if f.Image != "" {
		return nil, usage(path+" starts from an image, whose own system names its disks, so that they can't be told "+
			"apart from here", "leave image: out, and name a kernel: headroom makes the guest's file system")
	}
	return f.Provided(), nil
}

func (p *program) openPod(ctx context.Context, name string) (target.Target, error) {
	o, err := p.podOptions(name)
	if err != nil {
		return nil, err
	}
	if o.Several() {
		return nil, usage(name+" stands for several pods, which headroom run measures and headroom doctor diagnoses",
			"for one node: "+name+"&node=NAME")
	}
	on, err := p.podHost()
	if err != nil {
		return nil, err
	}
	if o.Machine != nil {
		return p.openMachine(ctx, o, on)
	}
	pod, err := kube.Open(ctx, o, on)
	if err != nil {
		return nil, err // and no pod that is nil in an interface which is not
	}
	p.print("", "the pod runs on node "+pod.Node())
	return pod, nil
}

// podHost is what this machine has for pods.
func (p *program) podHost() (kube.Host, error) {
	s, err := p.openStore()
	if err == nil {
		err = s.Writable()
	}
	if err != nil {
		return kube.Host{}, err
	}
	return kube.Host{Records: s.Pods(), Report: func(text string) { p.print("", text) }}, nil
}

// openMachine makes a machine of KubeVirt.
func (p *program) openMachine(ctx context.Context, o kube.Options, on kube.Host) (target.Target, error) {
	if o.Machine.Boot == "" && o.Machine.BootClaim == "" {
		o.Machine.Boot = p.Env(kube.DiskVariable)
	}
	if config := p.Env(sshConfigVariable); config != "" {
		on.SSH = []string{"-F", config}
	}
	m, err := kube.OpenMachine(ctx, o, on)
	if err != nil {
		return nil, err // and no machine that is nil in an interface which is not
	}
	p.print("", "the machine runs on node "+m.Node())
	return m, nil
}

// openPods makes the pods that a name stands for.
func (p *program) openPods(ctx context.Context, name string, members []string) (*targetSet, error) {
	o, err := p.podOptions(name)
	if err != nil {
		return nil, err
	}
	on, err := p.podHost()
	if err != nil {
		return nil, err
	}
	pods, err := kube.OpenSet(ctx, o, members, on)
	if err != nil {
		return nil, err
	}
	set := &targetSet{leftOut: pods.LeftOut, close: pods.Close}
	for _, pod := range pods.Pods {
		set.targets = append(set.targets, pod)
		set.members = append(set.members, kube.TraitsOf(pod.Name()).Member)
	}
	return set, nil
}

// podOptions are those of a pod, or of several, by its name.
func (p *program) podOptions(name string) (kube.Options, error) {
	o, err := kube.Parse(name)
	if err == nil && o.Image == "" {
		o.Image = p.Env(kube.ImageVariable)
	}
	return o, err
}

func (p *program) openTalos(ctx context.Context, name string) (target.Target, error) {
	node := strings.TrimPrefix(name, bootloader.TalosScheme)
	if node == "" || strings.HasPrefix(node, "-") {
		return nil, usage(fmt.Sprintf("%q is no target: the node is missing", name),
			"write talos://NODE, as talosctl --nodes takes it")
	}
	n, err := bootloader.NewTalos(ctx, node, bootloader.Options{})
	if err != nil {
		return nil, err // and no node that is nil in an interface which is not
	}
	return n, nil
}
