package kube

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Scheme begins the name of a pod, or of a machine of KubeVirt, as a target.
const Scheme = "kube:"

// Form is how such a name is written.
const Form = "kube:pod?OPTIONS, kube:nodes?OPTIONS or kube:vm?OPTIONS"

// Options define the pod and where it is made.
type Options struct {
	// Name is the user's name of the target: "kube:pod?class=fast".
	Name string
	// Context and Kubeconfig are the user's; empty for kubectl's defaults.
	Context, Kubeconfig string
	// Namespace is where the pod is made; empty for the context's namespace.
	Namespace string
	// Image is the image of the container, empty if the name has none. Pull is when to pull it: Always, IfNotPresent,
	// Never.
	Image, Pull string
	// PullSecret is the name of a secret with which the image is pulled.
	PullSecret string
	// Volume that the pod is made with.
	Volume Volume
	// Node is the name of the pod's node; NodeLabels are labels that the node must have.
	Node       string
	NodeLabels map[string]string
	// Nodes makes a pod that represents its node: privileged, and with the node's own files as the source of facts.
	// Without Node the name means one such pod on each node.
	Nodes bool
	// Count is the number of identical pods that the name means, 0 for a single one. Replica is the number of this one,
	// from 1; 0 for all.
	Count, Replica int
	// Tolerate lets the pod run on nodes with any taint.
	Tolerate bool
	// CPU and Memory are the requests and limits; empty for none.
	CPU, Memory Range
	// HostNetwork gives the pod the node's network. Privileged gives it the rights of the node's root. Restricted keeps
	// it to the strictest of the Pod Security Standards.
	HostNetwork, Privileged, Restricted bool
	// Deadline ends the pod if headroom never returns.
	Deadline time.Duration
	// Wait is the longest time for the pod to start.
	Wait time.Duration
	// Machine has the options of a machine of KubeVirt; nil for a pod.
	Machine *MachineOptions
}

// Range is what a container requests of a resource, and its limit.
type Range struct{ Request, Limit string }

func (r Range) None() bool { return r == Range{} }

// Volume is what a pod is made with to be measured.
type Volume struct {
	Kind VolumeKind
	// Class of storage, of a claim that is made; the path on the node; or the name of a claim that is there.
	Of string
	// Size of a claim that is made, and the limit of an emptyDir.
	Size string
	// Block says that the volume is given as a device, without a file system.
	Block bool
	// Memory says that an emptyDir is in memory.
	Memory bool
	// At is where it is in the container: a folder, or a device.
	At string
}

// VolumeKind is one of the kinds below; empty for no volume.
type VolumeKind string

const (
	// Claimed is a claim of a class of storage that is made for the pod, and removed with it.
	Claimed VolumeKind = "class"
	// Ephemeral is a claim that Kubernetes makes and removes with the pod.
	Ephemeral VolumeKind = "ephemeral"
	// Existing is a claim that is there, and stays.
	Existing VolumeKind = "claim"
	// EmptyDir is a folder of the node that is removed with the pod.
	EmptyDir VolumeKind = "emptydir"
	// EmptyDisk is a sparse image on the node, of a machine, that is removed with it.
	EmptyDisk VolumeKind = "emptydisk"
	// HostPath is a folder, or a device, of the node that stays.
	HostPath VolumeKind = "hostpath"
)

// The defaults.
const (
	defaultSize     = "10Gi"
	DefaultFolder   = "/data"
	DefaultDevice   = "/dev/headroom"
	defaultDeadline = 24 * time.Hour
	defaultWait     = 3 * time.Minute
)

const (
	nodesKind = "nodes"
	// maxPods is the most pods that a name can mean: more than any node or cluster can run.
	maxPods = 100000
)

// OnNode returns the name of a pod like this one on a node.
func (o Options) OnNode(node string) string {
	return rewriteName(o.Name, []string{"node"}, "node="+url.QueryEscape(node))
}

// InNodeNetwork returns the name of a pod like this one, on a node and in the node's own network. That pod has no
// volume, and keeps to no standard that forbids the node's network.
func (o Options) InNodeNetwork(node string) string {
	return rewriteName(o.Name, []string{"node", "class", "ephemeral", "claim", "emptydir", "hostpath", "size", "mode",
		"at", "restricted"}, "node="+url.QueryEscape(node), "hostnetwork")
}

// Several reports whether the name means several pods, even if there turns out to be only one.
func (o Options) Several() bool { return o.Nodes && o.Node == "" || o.Count > 0 && o.Replica == 0 }

// Member returns the name of one of the several pods that a name means: by its node, or by its number.
func (o Options) Member(node string, replica int) string {
	option := "node=" + url.QueryEscape(node)
	if !o.Nodes {
		option = "replica=" + strconv.Itoa(replica)
	}
	join := "?"
	if strings.Contains(o.Name, "?") {
		join = "&"
	}
	return o.Name + join + option
}

// memberOf returns the name that means several pods including this one, and which one it is: its node, or its number.
// It returns empty strings for a single pod, and for a name that a user has written.
func (o Options) memberOf() (set, which string) {
	if o.Several() {
		return "", ""
	}
	name := o.Name
	i := max(strings.LastIndex(name, "?"), strings.LastIndex(name, "&"))
	if i < 0 {
		return "", ""
	}
	option := "node="
	if which = o.Node; o.Count > 0 {
		option, which = "replica=", strconv.Itoa(o.Replica)
	} else if !o.Nodes {
		return "", ""
	}
	if !strings.HasPrefix(name[i+1:], option) {
		return "", ""
	}
	return name[:i], which
}

// ImageVariable names the image of pods whose names say none.
const ImageVariable = "HEADROOM_KUBE_IMAGE"

// LacksImage is the error for a missing image name.
func (o Options) LacksImage() error {
	if o.Image == "" {
		return &lab.Error{Kind: lab.Usage, What: "no image is named for the pod", Target: o.Name,
			Hints: []string{"name one that the cluster can pull, with a shell and fio: image=NAME, or once for all " +
				ImageVariable + "=NAME", "headroom's Containerfile makes one"}}
	}
	return nil
}

// ephemeral reports whether all storage that is measured in a pod or a machine is removed with it. A machine only reads
// an existing claim.
func (o Options) ephemeral() bool {
	return o.Machine != nil || o.Volume.Kind != Existing && o.Volume.Kind != HostPath
}

// LosesDataOnBoot reports whether the volume of a pod is removed with the pod, so that the next pod finds it empty.
func (o Options) LosesDataOnBoot() bool {
	return o.Machine == nil && (o.Volume.Kind == EmptyDir || o.Volume.Kind == Ephemeral || o.Volume.Kind == "")
}
