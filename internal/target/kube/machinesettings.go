package kube

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"headroom/internal/lab"
	"headroom/internal/target"
)

// machineSetting is one thing about a machine that a boot can change, by the name that a guest of QEMU has it by.
type machineSetting struct {
	name, levels string
	// ofDisk says that it is of the disk under test.
	ofDisk bool
	set    func(m *MachineOptions, level string) error
}

// machineSettings are all of them.
func machineSettings() []machineSetting {
	onOff := func(to *bool, level string) error {
		text := ""
		err := among(&text, level, []string{"on", "off"})
		*to = text == "on"
		return err
	}
	return []machineSetting{
		{"cpus", "1 to " + strconv.Itoa(maxCores), false, func(m *MachineOptions, level string) error {
			return number(&m.Cores, level, 1, maxCores)
		}},
		{"memory", "2Gi, 512Mi, …", false, func(m *MachineOptions, level string) error {
			return quantity(level, func(text string) { m.Memory = text })
		}},
		{"iothreads", "0 for none, and how many " + threadPool + " has", true,
			func(m *MachineOptions, level string) error {
				if err := number(&m.Disk.Pool, level, 0, maxPool); err != nil {
					return err
				}
				m.Disk.Policy, m.Disk.Dedicated = "", false
				if m.Disk.Pool > 0 {
					m.Disk.Policy = threadPool
				}
				return nil
			}},
		{"iothreadspolicy", "none, " + sharedThreads + ", " + autoThreads, true,
			func(m *MachineOptions, level string) error {
				m.Disk.Pool = 0
				if err := among(&m.Disk.Policy, level, []string{"none", sharedThreads, autoThreads}); err != nil {
					return err
				}
				if level == "none" {
					m.Disk.Policy = ""
				}
				return nil
			}},
		{"dedicatediothread", "on, off", true, func(m *MachineOptions, level string) error {
			return onOff(&m.Disk.Dedicated, level)
		}},
		{"multiqueue", "on, off", true, func(m *MachineOptions, level string) error {
			return onOff(&m.Disk.MultiQueue, level)
		}},
		{"bus", strings.Join(buses(), ", "), true, func(m *MachineOptions, level string) error {
			return among(&m.Disk.Bus, level, buses())
		}},
		{"cache", strings.Join(caches(), ", "), true, func(m *MachineOptions, level string) error {
			return among(&m.Disk.Cache, level, caches())
		}},
		{"aio", strings.Join(ios(), ", "), true, func(m *MachineOptions, level string) error {
			return among(&m.Disk.IO, level, ios())
		}},
	}
}

// with is what a machine is like with other settings. All faults are reported at once.
func (o Options) with(settings map[string]string) (*MachineOptions, error) {
	m := *o.Machine
	var faults, known []string
	for _, s := range machineSettings() {
		known = append(known, s.name+" ("+s.levels+")")
		level, ok := settings[s.name]
		if !ok {
			continue
		}
		if err := s.set(&m, level); err != nil {
			faults = append(faults, s.name+" can't be "+level+": "+err.Error())
		} else if s.ofDisk && o.Volume.Kind == "" {
			faults = append(faults, s.name+" is of the disk under test, and there is none: add class, claim or "+
				"emptydisk")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if !slices.ContainsFunc(machineSettings(), func(s machineSetting) bool { return s.name == name }) {
			faults = append(faults, "a machine of KubeVirt has no setting "+name)
		}
	}
	faults = append(faults, m.Disk.faults()...)
	if len(faults) > 0 {
		return nil, &lab.Error{Kind: lab.Usage, What: strings.Join(faults, "; "), Target: o.Name,
			Hints: []string{"possible are " + strings.Join(known, ", ")}}
	}
	return &m, nil
}

// Boot halts the machine, and starts it as the spec says: on the same node, with the same disk. The zero spec gives it
// what it was asked for with.
func (m *Machine) Boot(ctx context.Context, spec target.BootSpec) error {
	if len(spec.Arguments) > 0 || len(spec.Without) > 0 || spec.Kernel != "" {
		return &lab.Error{Kind: lab.Usage, What: "a machine of KubeVirt starts the kernel of its image, whose " +
			"arguments can't be set from outside", Target: m.Name()}
	}
	asked, err := Parse(m.options.Name)
	if err != nil {
		return err
	}
	asked.Machine.Boot, asked.Machine.BootClaim = m.options.Machine.Boot, m.options.Machine.BootClaim
	changed, err := asked.with(spec.Machine)
	if err != nil {
		return err
	}
	if err := m.needsVersion(changed.Disk); err != nil {
		return err
	}
	m.options.Machine = changed
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
	if err := m.awaitHalted(ctx); err != nil {
		return err
	}
	m.options.Node = m.node // another one would be another machine
	err := m.change(ctx, func(object) object { return machineSpec(m.options, m.name(), m.claimName(), m.labels()) })
	if err != nil {
		return err
	}
	if err := m.waitUntilReady(ctx); err != nil {
		return err
	}
	return m.verify(ctx)
}

// change changes the specification of the machine, and again when somebody else has changed the object meanwhile.
func (m *Machine) change(ctx context.Context, to func(spec object) object) error {
	for {
		is, err := m.cluster.get(ctx, machines(), m.name())
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
			return m.refusal("the change of the machine", err)
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// verify reads back of the instance what was asked for: an older KubeVirt drops what it does not know.
func (m *Machine) verify(ctx context.Context) error {
	instance, err := m.cluster.get(ctx, instances(), m.name())
	if err != nil {
		return m.cluster.unreachable(err)
	}
	d := m.options.Machine.Disk
	policy, _, _ := unstructured.NestedString(instance.Object, "spec", "domain", "ioThreadsPolicy")
	pool, _, _ := unstructured.NestedInt64(instance.Object, "spec", "domain", "ioThreads",
		"supplementalPoolThreadCount")
	many, _, _ := unstructured.NestedBool(instance.Object, "spec", "domain", "devices", "blockMultiQueue")
	if policy != d.Policy || pool != int64(d.Pool) || many != d.MultiQueue {
		return &lab.Error{What: "the machine was not started as it was asked for: its instance has other IOThreads, " +
			"or queues", Target: m.Name(),
			Hints: []string{"kubectl get vmi -n " + m.cluster.namespace + " " + m.name() +
				" -o yaml shows it; an admission webhook may have a policy of its own"}}
	}
	return nil
}
