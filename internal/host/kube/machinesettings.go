package kube

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Boot halts the machine, and starts it as the spec says: on the same node, with the same disk. The zero spec gives it
// the settings that it was first asked for with.
func (m *Machine) Boot(ctx context.Context, spec host.BootSpec) error {
	if len(spec.Arguments) > 0 || len(spec.Without) > 0 || spec.Kernel != "" {
		return &lab.Error{Kind: lab.Usage, What: "a machine of KubeVirt starts the kernel of its image, whose " +
			"arguments can't be set from outside", Target: m.Name()}
	}
	asked, err := ParseName(m.request.options.Name)
	if err != nil {
		return err
	}
	asked.Machine.Boot, asked.Machine.BootClaim = m.request.options.Machine.Boot, m.request.options.Machine.BootClaim
	changed, err := asked.WithSettings(spec.Machine)
	if err != nil {
		return err
	}
	if err := m.request.needsVersion(changed.Disk); err != nil {
		return err
	}
	m.request.options.Machine = changed
	return m.restart(ctx)
}

// restart has an instance made again of the machine as it is wanted now. What its file systems hold back is written
// first, when it still answers.
func (m *Machine) restart(ctx context.Context) error {
	sync, cancel := context.WithTimeout(ctx, 10*time.Second)
	_, _ = m.Run(sync, "sync")
	cancel()
	if err := m.Forget(); err != nil {
		return err
	}
	if err := m.change(ctx, func(spec object) object { spec["runStrategy"] = runHalted; return spec }); err != nil {
		return err
	}
	if err := m.cluster.awaitGone(ctx, instances(), "vmi", m.request.name()); err != nil {
		return err
	}
	m.request.options.Node = m.node // another one would be another machine
	err := m.change(ctx, func(object) object {
		return machineSpec(m.request.options, m.request.name(), m.request.claimName(), m.request.labels())
	})
	if err != nil {
		return err
	}
	if err := m.waitUntilReady(ctx); err != nil {
		return err
	}
	return m.verify(ctx)
}

// change changes the specification of the machine, and again when another client has changed the object meanwhile.
func (m *Machine) change(ctx context.Context, to func(spec object) object) error {
	for {
		is, err := m.cluster.get(ctx, machines(), m.request.name())
		if absent(err) {
			return m.gone("it was deleted")
		}
		if err != nil {
			return m.cluster.unreachable(err)
		}
		spec, _, _ := unstructured.NestedMap(is.Object, "spec")
		is.Object["spec"] = to(spec)
		_, err = m.cluster.of(machines()).Update(ctx, is,
			metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) {
			return m.request.refusal("the change of the machine", err)
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// verify reads back of the instance what was asked for: an older KubeVirt drops what it does not know.
func (m *Machine) verify(ctx context.Context) error {
	instance, err := m.cluster.get(ctx, instances(), m.request.name())
	if err != nil {
		return m.cluster.unreachable(err)
	}
	d := m.request.options.Machine.Disk
	policy, _, _ := unstructured.NestedString(instance.Object, "spec", "domain", "ioThreadsPolicy")
	pool, _, _ := unstructured.NestedInt64(instance.Object, "spec", "domain", "ioThreads",
		"supplementalPoolThreadCount")
	many, _, _ := unstructured.NestedBool(instance.Object, "spec", "domain", "devices", "blockMultiQueue")
	if policy != d.Policy || pool != int64(d.Pool) || many != d.MultiQueue {
		return &lab.Error{What: "the machine was not started as requested: its instance has other IOThreads, " +
			"or queues", Target: m.Name(),
			Hints: []string{"kubectl get vmi -n " + m.cluster.namespace + " " + m.request.name() +
				" -o yaml shows it; an admission webhook may have changed it"}}
	}
	return nil
}
