package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Lost returns why the pod is gone for good; nil while it is there, and while the API can't be asked.
func (p *Pod) Lost(ctx context.Context) error {
	name, _ := p.current()
	if err := p.podStatus(ctx, name); errors.Is(err, host.ErrGone) {
		return err
	}
	return nil
}

// Replace makes another pod in place of a lost one, on the same node, because another node would be another machine.
// The claim is kept.
func (p *Pod) Replace(ctx context.Context) error { return p.replace(ctx) }

// Generation is the name of the present pod.
func (p *Pod) Generation() string {
	name, _ := p.current()
	return name
}

// Boot makes the pod again with other limits, on the same node and with the same claim. The zero spec restores the
// limits of the target's name.
func (p *Pod) Boot(ctx context.Context, spec host.BootSpec) error {
	if len(spec.Arguments) > 0 || len(spec.Without) > 0 || spec.Kernel != "" {
		return &lab.Error{Kind: lab.Usage, What: "a pod has the kernel of its node, and can't be started with " +
			"another or with other arguments", Target: p.Name()}
	}
	asked, err := ParseName(p.request.options.Name)
	if err != nil {
		return err
	}
	cpu, memory := asked.CPU, asked.Memory
	for name, level := range spec.Machine {
		var err error
		switch name {
		case "cpu":
			err = Amounts(level, &cpu)
		case "memory":
			err = Amounts(level, &memory)
		default:
			err = fmt.Errorf("a pod has no setting %s; it has %s", name, strings.Join(Settings(), " and "))
		}
		if err != nil {
			return &lab.Error{Kind: lab.Usage, What: err.Error(), Target: p.Name()}
		}
	}
	if cpu == p.cpu && memory == p.memory && p.Lost(ctx) == nil {
		return nil
	}
	p.request.options.CPU, p.request.options.Memory = cpu, memory
	return p.replace(ctx)
}

// Settings are what Boot can change.
func Settings() []string { return []string{"cpu", "memory"} }

// replace removes the pod and makes the next, unless the node takes none. The claim is given to the next one first, so
// that it does not go with the old; one that went already is made again, where that is a folder, which is seen to be
// empty.
func (p *Pod) replace(ctx context.Context) error {
	old, node := p.current()
	p.request.options.Node = node
	if err := p.request.lacksNode(ctx); err != nil {
		return err
	}
	if p.request.options.Volume.Kind == Ephemeral && p.request.options.Volume.Block {
		return p.volumeGone("class= keeps the volume for the next pod")
	}
	if err := p.Forget(); err != nil {
		return err
	}
	p.mu.Lock()
	p.user = nil
	p.mu.Unlock()
	if p.request.options.Volume.Kind == Claimed {
		if err := p.keepClaim(ctx); err != nil {
			return err
		}
	}
	if _, err := p.cluster.remove(ctx, pods(), old, p.request.session); err != nil {
		return err
	}
	if err := p.cluster.awaitGone(ctx, pods(), "pod", old); err != nil {
		return err
	}
	if p.request.options.Volume.Kind == Claimed && p.claimUID == "" {
		if err := p.cluster.awaitGone(ctx, claims(), "pvc", p.request.objects(1).claim); err != nil {
			return err
		}
		if err := p.request.lacksClass(ctx, 1); err != nil {
			return err
		}
	}
	return p.start(ctx)
}

// keepClaim makes the claim outlast the pod. It forgets a claim that was removed with the pod.
func (p *Pod) keepClaim(ctx context.Context) error {
	patch := []byte(`{"metadata":{"ownerReferences":null}}`)
	claim, err := p.cluster.of(claims()).Patch(ctx, p.request.objects(1).claim, types.MergePatchType, patch,
		metav1.PatchOptions{})
	switch {
	case err != nil && !absent(err):
		return &lab.Error{What: "can't keep the claim for the next pod", Target: p.Name(), Err: err}
	case err == nil && claim.GetDeletionTimestamp() == nil:
		return nil
	case p.request.options.Volume.Block:
		return p.volumeGone("a device that was made again is checked before it is written to: continue with headroom " +
			"run --resume")
	}
	p.claimUID = ""
	return nil
}

func (p *Pod) volumeGone(hint string) error {
	return &lab.Error{What: "the device went with the pod, and another one may hold data", Target: p.Name(),
		Err: host.ErrGone, Hints: []string{hint}}
}

// Caveats returns what every report of a measurement in the pod must say.
func (p *Pod) Caveats(ctx context.Context) []string {
	printed := p.Shell.Caveats(ctx)
	if p.request.options.CPU.None() && p.request.options.Memory.None() {
		printed = append(printed,
			"the pod requests no CPU and no memory (BestEffort), so that other pods of node "+p.Node()+" come first; "+
				"cpu=2&memory=1Gi gives it its own")
	}
	if p.request.provisioner != "" && p.request.binding == "Immediate" && p.request.options.Node != "" {
		printed = append(printed, "StorageClass "+p.request.options.Volume.Of+" binds Immediate: the volume was made "+
			"before the node was known")
	}
	return printed
}

// less compares two amounts; it returns false if one can't be parsed.
func less(a, b string) bool {
	x, err1 := resource.ParseQuantity(a)
	y, err2 := resource.ParseQuantity(b)
	return err1 == nil && err2 == nil && x.Cmp(y) < 0
}
