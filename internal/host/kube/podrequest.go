package kube

import (
	"fmt"
)

// request is a pod as it is asked for: the objects that are made of it in a cluster, and what can keep it from running.
type request struct {
	options Options
	cluster *cluster
	session string
	// base begins the names of what is made for the pod. member says that it is one of a set, which removes what was
	// made.
	base   string
	member bool
	// run is the ID of the run that the pod belongs to, once there is one.
	run string
	// binding and provisioner of the volume's class are empty where they may not be seen.
	binding, provisioner string
}

// objects returns the names of the objects that a try makes.
func (r *request) objects(try int) objects {
	o := objects{pod: r.base}
	if try > 1 {
		o.pod += fmt.Sprintf("-%d", try)
	}
	if r.options.Volume.Kind == Claimed {
		o.claim = r.base
	}
	return o
}

// claimNames returns the names of the claims that a pod may wait for.
func (r *request) claimNames(pod string) []string {
	switch r.options.Volume.Kind {
	case Claimed:
		return []string{r.objects(1).claim}
	case Existing:
		return []string{r.options.Volume.Of}
	case Ephemeral:
		return []string{pod + "-" + volumeName}
	}
	return nil
}

func (r *request) labels() map[string]string {
	l := map[string]string{managedBy: headroom, sessionLabel: r.session}
	if r.run != "" {
		l[runLabel] = r.run
	}
	return l
}
