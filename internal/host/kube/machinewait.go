package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// machineStatus is how far a machine is.
type machineStatus struct {
	// printable is KubeVirt's word for the machine, phase that for its instance; empty while there is none.
	printable, phase string
	// uid of the instance, its node, and its address.
	uid, node, address string
	// reasons are what conditions say that hold it up, each "Reason: message".
	reasons []string
	// failed says that waiting changes nothing.
	failed bool
	// leaving says that the instance is being removed.
	leaving bool
}

// fatalMachineStates are words for machines that do not start by themselves any more. A claim, or an image, that is
// missing may come; headroom's own claims are there before the machine.
func fatalMachineStates() []string {
	return []string{"ImagePullBackOff", "ErrorPvcNotFound", "DataVolumeError", "CrashLoopBackOff"}
}

// machineStatusOf reads the status of a machine, and of its instance where there is one. Source: KubeVirt's API
// reference, VirtualMachineStatus and VirtualMachineInstanceStatus.
func machineStatusOf(machine, instance object) machineStatus {
	text := func(of object, fields ...string) string {
		s, _, _ := unstructured.NestedString(of, fields...)
		return s
	}
	s := machineStatus{printable: text(machine, "status", "printableStatus")}
	s.failed = slices.Contains(fatalMachineStates(), s.printable)
	for _, c := range conditionsOf(machine) {
		if c["type"] == "Failure" && c["status"] == "True" { // such as one that a webhook does not let be made
			s.failed = true
			s.reasons = append(s.reasons, fmt.Sprintf("%v: %v", c["reason"], c["message"]))
		}
	}
	if instance == nil {
		return s
	}
	s.phase, s.uid, s.node = text(instance, "status", "phase"), text(instance, "metadata", "uid"),
		text(instance, "status", "nodeName")
	s.leaving = text(instance, "metadata", "deletionTimestamp") != ""
	s.failed = s.failed || s.phase == "Failed" || s.phase == "Succeeded"
	for _, c := range conditionsOf(instance) {
		message, _ := c["message"].(string)
		bad := c["status"] == "False" && slices.Contains([]any{"Ready", "Synchronized", "PodScheduled"}, c["type"])
		if bad && message != "" {
			s.reasons = append(s.reasons, fmt.Sprintf("%v: %s", c["reason"], message))
		}
	}
	interfaces, _, _ := unstructured.NestedSlice(instance, "status", "interfaces")
	for _, i := range interfaces {
		one, ok := i.(object)
		if address, _ := one["ipAddress"].(string); ok && address != "" && s.address == "" {
			s.address = address
		}
	}
	return s
}

func conditionsOf(of object) []object {
	list, _, _ := unstructured.NestedSlice(of, "status", "conditions")
	var all []object
	for _, c := range list {
		if one, ok := c.(object); ok {
			all = append(all, one)
		}
	}
	return all
}

// look reads the machine and its instance, which has the same name.
func (m *Machine) look(ctx context.Context) (machineStatus, error) {
	machine, err := m.cluster.get(ctx, machines(), m.request.name())
	if absent(err) {
		return machineStatus{}, m.gone("it was deleted")
	}
	if err != nil {
		return machineStatus{}, m.cluster.unreachable(err)
	}
	instance, err := m.cluster.get(ctx, instances(), m.request.name())
	if absent(err) {
		return machineStatusOf(machine.Object, nil), nil
	}
	if err != nil {
		return machineStatus{}, m.cluster.unreachable(err)
	}
	return machineStatusOf(machine.Object, instance.Object), nil
}

// awaitRunning waits until the guest runs and has an address. What can't become better by waiting is an error at once.
func (m *Machine) awaitRunning(ctx context.Context) (machineStatus, error) {
	for end := time.Now().Add(m.request.options.Wait); ; {
		s, err := m.look(ctx)
		if err != nil {
			return s, err
		}
		switch {
		case s.phase == "Running" && s.address != "" && !s.leaving:
			return s, nil
		case s.failed:
			return s, m.request.notStarted(ctx, s, "did not start")
		case time.Now().After(end):
			return s, m.request.notStarted(ctx, s, "has not started after "+m.request.options.Wait.String())
		}
		if err := pause(ctx); err != nil {
			return s, err
		}
	}
}

// pause waits until it is time to look again.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(300 * time.Millisecond):
		return nil
	}
}

// notStarted is the error of a machine that does not start, with what KubeVirt says, what the events of all that it is
// made of say, and the way out.
func (r *machineRequest) notStarted(ctx context.Context, s machineStatus, what string) error {
	names := append([]string{r.name()}, r.claimNames()...)
	launcher, name := r.launcher(ctx, s.uid)
	if name != "" {
		names = append(names, name)
	}
	printed := append(slices.Clone(s.reasons), r.cluster.eventMessages(ctx, names...)...)
	e := &lab.Error{What: "the machine " + what, Target: r.options.Name,
		Output: strings.Join(slices.Compact(printed), "\n")}
	if s.printable != "" {
		e.What += ": " + s.printable
	}
	if launcher.reason != "" && launcher.reason != s.printable {
		e.What += ": its pod says " + launcher.reason
	}
	if launcher.message != "" && !strings.Contains(e.Output, launcher.message) {
		e.Output = strings.TrimPrefix(e.Output+"\n"+launcher.message, "\n")
	}
	e.Hints = r.hints(s, e.Output+"\n"+launcher.reason)
	if !s.failed {
		return &host.NotStarted{Err: e} // started in another way it may
	}
	return e
}

// launcher is how far the pod is in which an instance runs, and its name.
func (r *machineRequest) launcher(ctx context.Context, uid string) (status, string) {
	if uid == "" {
		return status{}, ""
	}
	list, err := retried(ctx, r.cluster, func(ctx context.Context) (*unstructured.UnstructuredList, error) {
		return r.cluster.of(pods()).List(ctx, metav1.ListOptions{LabelSelector: "kubevirt.io/created-by=" + uid})
	})
	if err != nil || len(list.Items) == 0 {
		return status{}, "" // pods may not be seen by everybody, and only explain
	}
	return statusOf(list.Items[0].Object), list.Items[0].GetName()
}

// hints are the ways out of what keeps a machine from starting.
func (r *machineRequest) hints(s machineStatus, printed string) []string {
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(printed, text) })
	}
	by := "kubectl describe vmi -n " + r.cluster.namespace + " shows machines while they are there"
	switch {
	case s.printable == "ImagePullBackOff" || has("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull"):
		return []string{"check the name of the container disk: boot=" + r.options.Machine.Boot,
			"a registry that asks who you are needs a secret of the namespace: pullsecret=NAME"}
	case has("unbound immediate PersistentVolumeClaims", "didn't find available persistent volumes",
		"ProvisioningFailed"):
		return []string{"StorageClass " + r.options.Volume.Of +
			" has no volume to give; kubectl get pv shows those there are"}
	case has("Insufficient devices.kubevirt.io/kvm"):
		return []string{"no node has KVM; KubeVirt emulates where its developerConfiguration.useEmulation is set, " +
			"which measures nothing but itself"}
	case has("Insufficient cpu", "Insufficient memory"):
		return []string{"no node has that much left: ask for less with cores= and memory=",
			"kubectl describe nodes shows what is allocated"}
	case has("untolerated taint"):
		return []string{"add tolerate, which has the machine run on nodes with taints, too"}
	case has("node affinity/selector"):
		return []string{"no node is like that: check node= and selector=; kubectl get nodes --show-labels",
			"KubeVirt only takes nodes with the label kubevirt.io/schedulable=true"}
	case has("O_DIRECT", "io mode", "aio"):
		return []string{"the storage can't be opened like that: leave out cache= and io="}
	}
	if s.failed {
		return []string{by}
	}
	return []string{"a large image or a slow registry needs more time: wait=30m", by}
}
