package kube

import (
	"strings"

	"github.com/headroom/headroom/internal/host"
)

// TraitsOf are what the name of a pod, of a machine of KubeVirt or of several pods says of them.
func TraitsOf(name string) host.Traits {
	t := host.Traits{Noun: "pod", Scheduled: true, MemberPrefix: "pod-"}
	kind, _, _ := strings.Cut(strings.TrimPrefix(name, Scheme), "?")
	if kind == machineKind {
		t.Noun, t.LosesSettings = "machine", true
	}
	o, err := ParseName(name)
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
