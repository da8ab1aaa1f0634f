package kube

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// machineRequest is a machine as it is asked for: the objects that are made of it in a cluster, and what can keep it
// from running.
type machineRequest struct {
	options Options
	cluster *cluster
	session string
	// userData is the configuration for cloud-init, once there are keys.
	userData string
	// ssh are the arguments of the user's own ssh, by which another host is reached that leads to it.
	ssh []string
	// run is the ID of the run that it belongs to, once there is one.
	run string
	// version of KubeVirt is empty where it may not be seen.
	version string
}

// name returns the name of the machine, which its instance, its secret and its timer have, too.
func (r *machineRequest) name() string { return "headroom-" + r.session }

// claimName returns the name of the claim that is made for the machine; empty for none.
func (r *machineRequest) claimName() string {
	if r.options.Volume.Kind != Claimed {
		return ""
	}
	return r.name()
}

// claimNames returns the names of the claims that the machine may wait for.
func (r *machineRequest) claimNames() []string {
	var names []string
	for _, name := range []string{r.claimName(), r.options.Machine.BootClaim} {
		if name != "" {
			names = append(names, name)
		}
	}
	if r.options.Volume.Kind == Existing {
		names = append(names, r.options.Volume.Of)
	}
	return names
}

func (r *machineRequest) labels() map[string]string {
	l := map[string]string{managedBy: headroom, sessionLabel: r.session}
	if r.run != "" {
		l[runLabel] = r.run
	}
	return l
}

// component is one object that a machine is made of.
type component struct {
	kind schema.GroupVersionResource
	// word is what an error calls it.
	word   string
	object *unstructured.Unstructured
}

// components are all of them, in the order in which they are made: each goes with the timer, which is the first.
func (r *machineRequest) components(timer types.UID) []component {
	name, labels := r.name(), r.labels()
	owned := func(o *unstructured.Unstructured) *unstructured.Unstructured { return ownedByTimer(o, name, timer) }
	all := []component{{timers(), "the job that would end it", timerOf(r.options, name, labels)},
		{secrets(), "the secret with its keys", owned(secretOf(name, r.userData, labels))}}
	if claim := r.claimName(); claim != "" {
		all = append(all, component{claims(), "the claim", owned(claimOf(r.options, claim, labels))})
	}
	return append(all, component{machines(), "the machine", owned(machineOf(r.options, name, r.claimName(), labels))})
}
