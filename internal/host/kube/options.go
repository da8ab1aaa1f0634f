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

// Options say which pod is made, and where.
type Options struct {
	// Name is what the user calls the target: "kube:pod?class=fast".
	Name string
	// Context and Kubeconfig of the user; empty for those that kubectl would take.
	Context, Kubeconfig string
	// Namespace that the pod is made in; empty for that of the context.
	Namespace string
	// Image of the container, empty where the name says none, and when it is pulled: Always, IfNotPresent, Never.
	Image, Pull string
	// PullSecret is the name of a secret with which the image is pulled.
	PullSecret string
	// Volume that the pod is made with.
	Volume Volume
	// Node that the pod is to run on, by name; NodeLabels that it must have.
	Node       string
	NodeLabels map[string]string
	// Nodes says that the pod is for its node: privileged, and with the node's own files where facts are read. Without
	// Node the name stands for one such pod on each node.
	Nodes bool
	// Count is how many pods alike the name stands for, 0 for the only one. Replica is which of them it is, from 1; 0
	// for all.
	Count, Replica int
	// Tolerate says that the pod may run on nodes with any taint.
	Tolerate bool
	// CPU and Memory that are requested, and that are the limit; empty for none.
	CPU, Memory Range
	// HostNetwork says that the pod has the node's network, Privileged that it may do what root of the node may, and
	// Restricted that it keeps to the strictest of the Pod Security Standards.
	HostNetwork, Privileged, Restricted bool
	// Deadline ends the pod if headroom never comes back.
	Deadline time.Duration
	// Wait is how long the pod may take to start.
	Wait time.Duration
	// Machine is what a machine of KubeVirt is like; nil for a pod.
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
	// maxPods is how many a name can stand for: more than any node or cluster takes.
	maxPods = 100000
)

// OnNode is the name of a pod like this one that runs on a node.
func (o Options) OnNode(node string) string {
	return rewriteName(o.Name, []string{"node"}, "node="+url.QueryEscape(node))
}

// InNodeNetwork is the name of a pod like this one, on a node and in the node's own network. It has no volume, and
// keeps to no standard that forbids that.
func (o Options) InNodeNetwork(node string) string {
	return rewriteName(o.Name, []string{"node", "class", "ephemeral", "claim", "emptydir", "hostpath", "size", "mode",
		"at", "restricted"}, "node="+url.QueryEscape(node), "hostnetwork")
}

// Several says whether the name stands for several pods, however many there turn out to be.
func (o Options) Several() bool { return o.Nodes && o.Node == "" || o.Count > 0 && o.Replica == 0 }

// Member is the name of one of the several pods that a name stands for: by its node, or by its number.
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

// memberOf is the name that stands for several pods of which this is one, and which of them it is: its node, or its
// number. It is empty for a pod by itself, and for a name that a user has written.
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

// ephemeral says whether all that a pod or a machine is measured on goes with it. A claim that is there already is only
// read by a machine.
func (o Options) ephemeral() bool {
	return o.Machine != nil || o.Volume.Kind != Existing && o.Volume.Kind != HostPath
}

// LosesDataOnBoot says whether the volume of a pod goes with the pod, so that the next one finds it empty.
func (o Options) LosesDataOnBoot() bool {
	return o.Machine == nil && (o.Volume.Kind == EmptyDir || o.Volume.Kind == Ephemeral || o.Volume.Kind == "")
}
