package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Machine is a machine of KubeVirt that was made to be measured. It is the SSH server in its guest for everything but
// its life.
type Machine struct {
	*host.SSH
	request machineRequest
	cluster *cluster
	journal *journal
	record  Record
	keys    keyPair
	// node where it runs, uid of the instance that runs, and place of the disk under test in the guest.
	node, uid, place string
}

// The kinds of objects of KubeVirt, and those of Kubernetes that only a machine takes.
func machines() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachines"}
}

func instances() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachineinstances"}
}

func kubevirts() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "kubevirts"}
}

func secrets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
}

func timers() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
}

// OpenMachine makes a machine and returns when commands can be carried out in it. Nothing is made before the preflight
// has passed, and what was made is removed when it does not start.
func OpenMachine(ctx context.Context, o Options, on Host) (*Machine, error) {
	if o.Machine.Boot == "" && o.Machine.BootClaim == "" {
		return nil, &lab.Error{Kind: lab.Usage, What: "nothing is named that the machine starts from", Target: o.Name,
			Hints: []string{"name a container disk with cloud-init and SSH: boot=quay.io/containerdisks/fedora:42, " +
				"or once for all " + DiskVariable + "=NAME",
				"or a claim with such an image: bootclaim=NAME", "fio must be in it, or is brought: --bring-fio"}}
	}
	c, err := connect(o)
	if err != nil {
		return nil, err
	}
	r := machineRequest{options: o, cluster: c, session: newSession(), ssh: on.SSH}
	if err := r.preflight(ctx); err != nil {
		return nil, err
	}
	m := &Machine{request: r, cluster: c}
	if m.journal, err = newJournal(on.Records, r.session); err != nil {
		return nil, &lab.Error{What: "can't note what is about to be made in the cluster", Target: o.Name, Err: err}
	}
	dir := filepath.Join(on.Records, r.session+keysSuffix)
	m.SSH = host.NewSSH(host.SSHOptions{Name: o.Name, Destination: hostAlias,
		Args: []string{"-F", filepath.Join(dir, sshConfig)}, Gone: m.instanceStatus})
	m.record = Record{Target: o.Name, Session: r.session, Server: c.config.Host, Context: o.Context,
		Kubeconfig: o.Kubeconfig, Namespace: c.namespace}
	if on.Report != nil {
		on.Report(fmt.Sprintf("making a machine in namespace %s", c.namespace))
	}
	if m.keys, err = newKeys(ctx, dir); err == nil {
		m.request.userData = m.keys.userData
		err = m.make(ctx)
	}
	if err == nil {
		err = m.waitUntilReady(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// MachineName returns the names of the machine and of its namespace.
func (m *Machine) MachineName() (name, namespace string) {
	return m.request.name(), m.cluster.namespace
}

// make makes all that the machine is made of. What is about to be made is on disk before.
func (m *Machine) make(ctx context.Context) error {
	m.record.Machines = []string{m.request.name()}
	if claim := m.request.claimName(); claim != "" {
		m.record.Claims = []string{claim}
	}
	if err := m.journal.save(m.record); err != nil {
		return &lab.Error{What: "can't note what is about to be made in the cluster", Target: m.Name(), Err: err}
	}
	var timer types.UID
	for i := range m.request.components("") {
		p := m.request.components(timer)[i]
		made, err := m.cluster.of(p.kind).Create(ctx, p.object,
			metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			return m.request.refusal(p.word, err)
		}
		if i == 0 {
			timer = made.GetUID()
		}
	}
	return nil
}

// waitUntilReady waits until the machine runs and its guest can be spoken to, and finds the disk under test there.
func (m *Machine) waitUntilReady(ctx context.Context) error {
	s, err := m.awaitRunning(ctx)
	if err != nil {
		return err
	}
	m.node, m.uid = s.node, s.uid
	proxy, err := m.request.proxy()
	if err == nil {
		err = m.keys.writeConfig(*m.request.options.Machine, s.address, proxy)
	}
	if err != nil {
		return err
	}
	if err := m.awaitGuest(ctx, s.address); err != nil {
		return err
	}
	return m.findDisk(ctx)
}

// awaitGuest waits until the guest has booted, and cloud-init has let headroom in: until then there is no SSH server,
// or one with other keys.
func (m *Machine) awaitGuest(ctx context.Context, address string) error {
	for end := time.Now().Add(m.request.options.Wait); ; {
		err := m.Connect(ctx)
		if err == nil {
			return nil
		}
		if errors.Is(err, host.ErrGone) || ctx.Err() != nil {
			return err
		}
		if time.Now().After(end) {
			return &host.NotStarted{
				Err: &lab.Error{What: fmt.Sprintf("the machine runs, and its guest at %s has not let headroom in "+
					"after %s", address, m.request.options.Wait), Target: m.Name(), Err: err,
					Hints: []string{"does its image have cloud-init and an SSH server that lets " +
						m.request.options.Machine.User + " in? virtctl console -n " + m.cluster.namespace + " " +
						m.request.name() + " shows it boot, while it is there",
						"can addresses of pods be reached from here? through=virtctl goes by the API server, " +
							"through=ssh://user@node by a host that reaches them"}}}
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// findDiskScript prints the link to the disk with a serial number. What stands before it is the bus and the model:
// virtio-headroom, scsi-0QEMU_QEMU_HARDDISK_headroom, ata-QEMU_HARDDISK_headroom.
const findDiskScript = `for d in /dev/disk/by-id/"$1" /dev/disk/by-id/*[-_]"$1"; do if [ -b "$d" ]; then echo "$d"; exit; fi; done`

// findDisk finds the disk under test by its serial number; the name that the kernel gives it may be another at each
// boot.
func (m *Machine) findDisk(ctx context.Context) error {
	if m.request.options.Volume.Kind == "" {
		return nil
	}
	out, err := m.Run(ctx, "sh", "-c", findDiskScript, headroom, diskSerial)
	if err != nil {
		return err
	}
	if m.place = strings.TrimSpace(string(out.Stdout)); m.place == "" {
		return &lab.Error{What: "the guest does not see the disk with the serial number " + diskSerial,
			Target: m.Name(), Output: string(out.Stderr),
			Hints: []string{"/dev/disk/by-id is made by udev, which its image must have",
				"lsblk -o NAME,SERIAL shows what it sees"}}
	}
	return nil
}

// Label has all that was made carry the run's ID: there is no run yet when the machine is made.
func (m *Machine) Label(ctx context.Context, run string) error {
	m.request.run = run
	patch, err := (&unstructured.Unstructured{
		Object: object{"metadata": object{"labels": object{runLabel: run}}}}).MarshalJSON()
	if err != nil {
		return err
	}
	for _, p := range m.request.components("") {
		if _, err := m.cluster.of(p.kind).Patch(ctx, p.object.GetName(), types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			return &lab.Error{What: "can't label what was made with the run's ID", Target: m.Name(), Err: err}
		}
	}
	return nil
}

// Close removes the machine and all that was made for it, and returns when it is gone.
func (m *Machine) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*deletionTimeout)
	defer cancel()
	err := m.SSH.Close()
	_, clearing := m.cluster.clear(ctx, m.record)
	if clearing != nil {
		return errors.Join(err, clearing, m.journal.release()) // headroom restore looks again
	}
	return errors.Join(err, os.RemoveAll(m.keys.dir), m.journal.remove())
}

// Node is where the machine runs.
func (m *Machine) Node() string { return m.node }

// Address is the machine's in the network of the cluster.
func (m *Machine) Address(ctx context.Context) (string, error) {
	s, err := m.look(ctx)
	if err == nil && s.address == "" {
		err = &lab.Error{What: "the machine has no address", Target: m.Name(),
			Hints: []string{"kubectl get vmi -n " + m.cluster.namespace + " " + m.request.name() + " -o wide"}}
	}
	return s.address, err
}

// TestPath is the disk under test, by its serial number; empty without one.
func (m *Machine) TestPath() string { return m.place }

// MadeBlank reports whether a device is a disk that was made for this machine, and goes with it. A class may hand out
// what was used before, so that its content is still to be looked at.
func (m *Machine) MadeBlank(ctx context.Context, device string) (bool, error) {
	if m.request.options.Volume.Kind != Claimed && m.request.options.Volume.Kind != EmptyDisk {
		return false, nil
	}
	out, err := m.Run(ctx, "readlink", "-f", "--", m.place)
	return err == nil && out.ExitCode == 0 && device == strings.TrimSpace(string(out.Stdout)), err
}

// Unseen is true: whoever provisions volumes of a class may hand out what was used before.
func (m *Machine) Unseen() bool { return m.request.options.Volume.Kind == Claimed }

// instanceStatus is an error that is host.ErrGone when the instance that was connected to does not run any more; nil
// while it does, and while the API can't be asked.
func (m *Machine) instanceStatus(ctx context.Context) error {
	s, err := m.look(ctx)
	switch {
	case err != nil && errors.Is(err, host.ErrGone):
		return err
	case err != nil:
		return nil
	case s.phase == "" || s.leaving:
		return m.gone("its instance is being removed")
	case s.uid != m.uid:
		return m.gone("another instance is in its place")
	case s.failed && len(s.reasons) > 0:
		return m.gone(s.phase + ": " + strings.Join(s.reasons, "; "))
	case s.failed:
		return m.gone("its guest has ended, or was ended: " + s.phase)
	}
	return nil
}

func (m *Machine) gone(why string) error {
	return &lab.Error{What: fmt.Sprintf("the machine %s on node %s is gone: %s", m.request.name(), m.node, why),
		Target: m.request.options.Name, Err: host.ErrGone}
}

// Lost returns why the machine is gone for good; nil while it is there, and while the API can't be asked.
func (m *Machine) Lost(ctx context.Context) error { return m.instanceStatus(ctx) }

// Replace starts the machine again when it is lost, on the same node and with the same disk.
func (m *Machine) Replace(ctx context.Context) error { return m.restart(ctx) }

// Generation is the instance that runs.
func (m *Machine) Generation() string { return m.uid }

// Caveats returns what every report of a measurement in the machine must say.
func (m *Machine) Caveats(ctx context.Context) []string {
	printed := m.SSH.Caveats(ctx)
	if m.request.options.Volume.Kind == Claimed && !m.request.options.Volume.Block {
		printed = append(printed, "the disk is an image in a file system of its claim; mode=block gives the guest the "+
			"volume itself")
	}
	if m.request.options.Volume.Kind == EmptyDisk {
		printed = append(printed, "an emptydisk is a sparse image in the file system of its node, and not a volume "+
			"of any class")
	}
	return printed
}

var (
	_ host.Target      = (*Machine)(nil)
	_ host.Leftovers   = (*Machine)(nil)
	_ host.Receiver    = (*Machine)(nil)
	_ host.Closer      = (*Machine)(nil)
	_ host.Clock       = (*Machine)(nil)
	_ host.Caveats     = (*Machine)(nil)
	_ host.Booter      = (*Machine)(nil)
	_ host.Disposable  = (*Machine)(nil)
	_ host.HasTestPath = (*Machine)(nil)
	_ host.Replaceable = (*Machine)(nil)
	_ host.Addressed   = (*Machine)(nil)
	_ host.Labelled    = (*Machine)(nil)
	_ host.Migratable  = (*Machine)(nil)
)
