package kube

import (
	"strings"

	"headroom/internal/target"
)

// TraitsOf are what the name of a pod, of a machine of KubeVirt or of several pods says of them.
func TraitsOf(name string) target.Traits {
	t := target.Traits{Noun: "pod", Scheduled: true, MemberPrefix: "pod-"}
	kind, _, _ := strings.Cut(strings.TrimPrefix(name, Scheme), "?")
	if kind == machineKind {
		t.Noun, t.LosesSettings = "machine", true
	}
	o, err := Parse(name)
	if err != nil {
		return t
	}
	t.Node, t.Ephemeral, t.Several = o.Node, o.ephemeral(), o.Several()
	t.Set, t.Member = o.memberOf()
	if o.Nodes { // which are known by their names
		t.MemberPrefix = ""
	}
	return t
}

// SharesKernel says that the pod is a container of its node.
func (p *Pod) SharesKernel() {}

// LosesDataOnBoot says whether the volume under test goes with the pod.
func (p *Pod) LosesDataOnBoot() bool { return p.options.losesDataOnBoot() }

// NodeNetwork names pods like this one on the same node; there are none for a pod that is in the node's network.
func (p *Pod) NodeNetwork() (same, inNode string, ok bool) {
	if p.options.HostNetwork {
		return "", "", false
	}
	return p.options.onNode(p.Node()), p.options.inNodeNetwork(p.Node()), true
}
