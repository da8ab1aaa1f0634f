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

// ephemeral says whether all that a pod or a machine is measured on goes with it. A claim that is there already is only
// read by a machine.
func (o Options) ephemeral() bool {
	return o.Machine != nil || o.Volume.Kind != Existing && o.Volume.Kind != HostPath
}

// losesDataOnBoot says whether the volume of a pod goes with the pod, so that the next one finds it empty.
func (o Options) losesDataOnBoot() bool {
	return o.Machine == nil && (o.Volume.Kind == EmptyDir || o.Volume.Kind == Ephemeral || o.Volume.Kind == "")
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
