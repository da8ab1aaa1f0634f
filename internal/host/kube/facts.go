package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/kube/claim"
	"github.com/headroom/headroom/internal/lab"
)

// Facts are what the API of the cluster knows of the pod, of its node and of its volume, and can't be seen in the
// container. What the user may not read is unknown. They hold no secrets: parameters whose names tell of some are left
// out.
func (p *Pod) Facts(ctx context.Context) []lab.Fact {
	name, node := p.current()
	w := view{p.Shell, p.cluster, p.request.options, p.request.claimNames(name)}
	all := p.cluster.versionFacts(ctx)
	ofNode, network := p.cluster.nodeFacts(ctx, node)
	all = append(append(all, ofNode...), w.network(ctx, network)...)
	pod, err := p.cluster.get(ctx, pods(), name)
	all = append(all, podFacts(pod, err)...)
	return append(all, w.volume(ctx)...)
}

// view reads facts of a pod from inside it, and from the objects of the cluster that it uses.
type view struct {
	shell   *host.Shell
	cluster *cluster
	options Options
	// claims are the names of the claims that the pod may wait for.
	claims []string
}

// source returns the place in the API that a field was read from.
func source(kind, field string) string { return claim.Source(api, kind, field) }

// api is where facts are read.
const api = "Kubernetes API"

func known(key, value, source string) lab.Fact {
	return lab.Fact{Key: key, Value: value, Source: source}
}

func unknown(key, source, why string) lab.Fact {
	return lab.Fact{Key: key, Source: source, Unknown: why}
}

// field is a fact from a field of an object, or why it is not available.
func field(key, kind string, o *unstructured.Unstructured, err error, path ...string) lab.Fact {
	from := source(kind, strings.Join(path, "."))
	if err != nil {
		return unknown(key, from, err.Error())
	}
	value, _, _ := unstructured.NestedString(o.Object, path...)
	if value == "" {
		return unknown(key, from, "it is not said")
	}
	return known(key, value, from)
}

// versionFacts ask the server, which tells its version to everybody.
func (c *cluster) versionFacts(ctx context.Context) []lab.Fact {
	const key = "cluster.version"
	from := source("/version", "gitVersion")
	version, err := retried(ctx, c, c.version)
	if err != nil {
		return []lab.Fact{unknown(key, from, err.Error())}
	}
	return []lab.Fact{known(key, version, from)}
}

// version reads what the server says of itself. It is no object, so that the client for objects does not ask for it.
//
//	{"major": "1", "minor": "34", "gitVersion": "v1.34.2", …}
func (c *cluster) version(ctx context.Context) (string, error) {
	client, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(c.config))
	if err != nil {
		return "", err
	}
	answer, err := client.Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", err
	}
	var printed struct{ GitVersion string }
	if err := json.Unmarshal(answer, &printed); err != nil {
		return "", err
	}
	if printed.GitVersion == "" {
		return "", errors.New("it is not said")
	}
	return printed.GitVersion, nil
}

// nodeFacts read NodeSystemInfo of the API's reference, and, for the network of the pods, annotations of the node.
func (c *cluster) nodeFacts(ctx context.Context, name string) (all []lab.Fact, network lab.Fact) {
	node, err := c.global(ctx, nodes(), name)
	all = []lab.Fact{known("cluster.node", name, source("Pod", "spec.nodeName"))}
	for key, path := range map[string]string{"cluster.node.os": "osImage", "cluster.kubelet": "kubeletVersion",
		"cluster.runtime": "containerRuntimeVersion"} {
		all = append(all, field(key, "Node", node, err, "status", "nodeInfo", path))
	}
	slices.SortFunc(all[1:], func(a, b lab.Fact) int { return strings.Compare(a.Key, b.Key) })
	const key = "cluster.cni"
	from := source("Node", "metadata.annotations")
	switch {
	case err != nil:
		network = unknown(key, from, err.Error())
	case networkOf(node.GetAnnotations()) == "":
		network = unknown(key, from, "no annotation of a network plugin that is known here, and no DaemonSet; its "+
			"configuration is on the node")
	default:
		network = known(key, networkOf(node.GetAnnotations()), from)
	}
	return all, network
}

// networkOf names the network plugin that has annotated a node, and how it gets packets to other nodes where it says
// so; empty where none is known. Sources: flannel's Documentation/kubernetes.md, Calico's lib/backend (annotations of
// nodes), Cilium's Documentation on annotate-k8s-node, OVN-Kubernetes' go-controller/pkg/util/node_annotations.go.
//
//	flannel.alpha.coreos.com/backend-type: vxlan
//	projectcalico.org/IPv4VXLANTunnelAddr: 192.168.185.0
//	network.cilium.io/ipv4-pod-cidr: 10.244.0.0/25
func networkOf(annotations map[string]string) string {
	has := func(name string) bool { _, ok := annotations[name]; return ok }
	switch {
	case has("flannel.alpha.coreos.com/backend-type"):
		return "flannel " + annotations["flannel.alpha.coreos.com/backend-type"]
	case has("projectcalico.org/IPv4VXLANTunnelAddr"):
		return "calico vxlan"
	case has("projectcalico.org/IPv4IPIPTunnelAddr"):
		return "calico ipip"
	case has("projectcalico.org/IPv4Address"):
		return "calico"
	case has("network.cilium.io/ipv4-pod-cidr"), has("network.cilium.io/ipv6-pod-cidr"),
		has("io.cilium.network.ipv4-pod-cidr"):
		return "cilium"
	case has("k8s.ovn.org/node-subnets"):
		return "ovn-kubernetes"
	}
	return ""
}

// podFacts are the pod's class of service, its requests and its limits.
func podFacts(pod *unstructured.Unstructured, err error) []lab.Fact {
	all := []lab.Fact{field("cluster.pod.qos", "Pod", pod, err, "status", "qosClass")}
	if err != nil {
		return all
	}
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	if len(containers) == 0 {
		return all
	}
	container, ok := containers[0].(object)
	if !ok {
		return all
	}
	for _, what := range []string{"cpu", "memory"} {
		for _, kind := range []string{"requests", "limits"} {
			value, _, _ := unstructured.NestedString(container, "resources", kind, what)
			if value == "" {
				value = "none"
			}
			all = append(all, known("cluster.pod."+what+"."+strings.TrimSuffix(kind, "s"), value,
				source("Pod", "spec.containers.resources."+kind)))
		}
	}
	return all
}

// volume are about the volume, by its name in the pod, where it is a claim's.
func (w view) volume(ctx context.Context) []lab.Fact {
	v := w.options.Volume
	if v.Kind == "" {
		return nil
	}
	kind := known("cluster.volume.kind", string(v.Kind), source("Pod", "spec.volumes"))
	if v.Kind == EmptyDir || v.Kind == HostPath {
		return []lab.Fact{kind}
	}
	var all []lab.Fact
	driver, class := "", ""
	var volume *unstructured.Unstructured
	asked, err := w.cluster.get(ctx, claims(), w.claims[0])
	if err == nil {
		class, _, _ = unstructured.NestedString(asked.Object, "spec", "storageClassName")
		bound, _, _ := unstructured.NestedString(asked.Object, "spec", "volumeName")
		volume, err = w.cluster.global(ctx, volumes(), bound)
	}
	if class != "" {
		all = append(all, w.cluster.classFacts(ctx, class)...)
	}
	if err != nil {
		all = append(all, unknown("claim.driver", source("PersistentVolume", "spec"), err.Error()))
	} else {
		var facts []lab.Fact
		driver, facts = claim.OfVolume(volume.Object, api)
		all = append(all, facts...)
	}
	all = append(all, w.replica(ctx, driver))
	for i := range all {
		all[i].About = volumeName
	}
	return append([]lab.Fact{kind}, all...)
}

// The places of the copy that a volume is served from.
const (
	local  = "local"
	remote = "remote"
)

func (c *cluster) classFacts(ctx context.Context, name string) []lab.Fact {
	all := []lab.Fact{known("claim.class", name, source("PersistentVolumeClaim", "spec.storageClassName"))}
	class, err := c.global(ctx, classes(), name)
	if err != nil {
		return append(all, field("claim.provisioner", "StorageClass", class, err, "provisioner"),
			field("claim.binding", "StorageClass", class, err, "volumeBindingMode"))
	}
	return append(all, claim.OfClass(class.Object, api)...)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// replica is the fact of whether the node has a copy of the volume's data. Of DRBD the kernel shows it to every
// container: a device links the disk that it has its copy on (bd_link_disk_holder in drbd_nl.c, of versions 8.4 and 9),
// and one without a disk has no link.
func (w view) replica(ctx context.Context, driver string) lab.Fact {
	const key = "claim.replica"
	if driver == "local" || driver == "hostPath" {
		return known(key, local, source("PersistentVolume", "spec"))
	}
	number, err := w.device(ctx)
	if err != nil {
		return unknown(key, w.options.Volume.At, err.Error())
	}
	folder := "sys/dev/block/" + number
	link, err := fs.ReadLink(w.shell.FS(), folder)
	if err != nil {
		return unknown(key, "/"+folder, "the volume is no block device of the node")
	}
	if !strings.HasPrefix(link[strings.LastIndex(link, "/")+1:], "drbd") {
		return unknown(key, "/"+folder, "where its driver has the copies is not seen on the node")
	}
	slaves := folder + "/slaves"
	entries, err := fs.ReadDir(w.shell.FS(), slaves)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return unknown(key, "/"+slaves, err.Error())
	case len(entries) == 0:
		return known(key, remote, "/"+slaves)
	}
	return known(key, local, "/"+slaves)
}

// device is the number of the volume's device, or of the one that its file system is on: "253:7".
func (w view) device(ctx context.Context) (string, error) {
	at, format := w.options.Volume.At, "%d"
	if w.options.Volume.Block {
		format = "%t %T"
	}
	out, err := w.shell.Run(ctx, "stat", "-L", "-c", format, "--", at)
	if err != nil {
		return "", err
	}
	var major, minor uint32
	var number uint64
	if w.options.Volume.Block {
		_, err = fmt.Sscanf(string(out.Stdout), "%x %x", &major, &minor)
	} else if _, err = fmt.Sscanf(string(out.Stdout), "%d", &number); err == nil {
		major, minor = unix.Major(number), unix.Minor(number)
	}
	if err != nil {
		return "", fmt.Errorf("stat says %q of it", oneLine(string(out.Stdout)+string(out.Stderr)))
	}
	return fmt.Sprintf("%d:%d", major, minor), nil
}
