package kube

import (
	"cmp"
	"context"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"headroom/internal/lab"
)

func daemons() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}
}

func configs() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
}

// network is what the objects of a pod network's plugin say of it. What they do not say is empty.
type network struct {
	// encapsulation of what goes to other nodes: vxlan, ipip, geneve, or none.
	encapsulation string
	// encapsulates says of which packets that holds: of all that go to another node (always), or of those that leave
	// its subnet (betweenSubnets).
	encapsulates string
	// mtu of the pods' interfaces, in bytes, where it is set and not found by the plugin.
	mtu string
	// proxy is who carries connections to services to pods, where that is the plugin and not kube-proxy.
	proxy string
}

// The packets to other nodes that are encapsulated.
const (
	always         = "always"
	betweenSubnets = "between subnets"
)

// podNetwork is what the objects of a cluster say of the network of its pods.
type podNetwork struct {
	by plugin
	// daemon is its DaemonSet; nil where there is none that is known, or none that may be read. why says which.
	daemon *unstructured.Unstructured
	why    string
	network
	proxied lab.Fact
}

// clusterCache is what is asked of a cluster once, for however many pods.
type clusterCache struct {
	mu      sync.Mutex
	network *podNetwork
}

// podNetwork looks for the DaemonSet of a plugin, and for its ConfigMap. All of it is optional: few roles may read
// that.
func (c *cluster) podNetwork(ctx context.Context) podNetwork {
	c.known.mu.Lock()
	defer c.known.mu.Unlock()
	if c.known.network != nil {
		return *c.known.network
	}
	n := podNetwork{why: "no DaemonSet is called as that of a plugin which is known here"}
	found, err := c.daemons(ctx)
	if err != nil {
		n.why = err.Error()
	}
	if n.by, n.daemon = pluginOf(found); n.daemon != nil && n.by.read != nil {
		config, err := c.settings(ctx, n.daemon.GetNamespace(), n.by.config)
		n.why = "its configuration does not say"
		if err != nil {
			n.why = err.Error()
		}
		n.network = n.by.read(config, n.daemon.Object)
	}
	n.proxied = c.proxyFact(ctx, n.network, found, err)
	c.known.network = &n
	return n
}

// cniFacts are about the network of the pods: what an annotation of the node says is given, then the plugin's DaemonSet
// and its ConfigMap, and the configuration on the node where its files can be read.
func (p *Pod) cniFacts(ctx context.Context, named lab.Fact) []lab.Fact {
	n := p.cluster.podNetwork(ctx)
	types, mtu, path, err := p.chain()
	switch {
	case named.Value != "":
	case n.daemon != nil && n.encapsulation != "none":
		named = known(named.Key, strings.TrimSpace(n.by.name+" "+n.encapsulation), source("DaemonSet", n.by.daemon))
	case n.daemon != nil:
		named = known(named.Key, n.by.name, source("DaemonSet", n.by.daemon))
	case len(types) > 0:
		named = known(named.Key, types[0], path)
	}
	all := []lab.Fact{named, n.proxied, p.mtuFact()}
	if named.Value == "" {
		return all
	}
	settings := source("ConfigMap", cmp.Or(n.by.config, "of the plugin"))
	own := []lab.Fact{
		factOrUnknown("cni.version", tagOf(imageOf(n.daemon)),
			source("DaemonSet", "spec.template.spec.containers.image"),
			n.why),
		factOrUnknown("cni.encapsulation", n.encapsulation, settings, n.why),
		factOrUnknown("cni.encapsulates", n.encapsulates, settings, n.why),
		factOrUnknown("cni.mtu", n.mtu, settings, n.why),
		factOrUnknown("cni.plugins", strings.Join(types, ", "), path, "it names no plugin"),
	}
	if n.mtu == "" && mtu != "" {
		own[3] = known("cni.mtu", mtu, path)
	}
	if err != nil {
		own[4].Unknown = err.Error()
	}
	for i := range own {
		own[i].About, _, _ = strings.Cut(named.Value, " ")
	}
	return append(all, own...)
}

// factOrUnknown is a fact, or why there is none.
func factOrUnknown(key, value, from, why string) lab.Fact {
	if value == "" {
		return unknown(key, from, why)
	}
	return known(key, value, from)
}

// daemons are those of the whole cluster, or of kube-system where only that may be read.
func (c *cluster) daemons(ctx context.Context) ([]unstructured.Unstructured, error) {
	var list *unstructured.UnstructuredList
	var err error
	for _, namespace := range []string{metav1.NamespaceAll, metav1.NamespaceSystem} {
		list, err = retried(ctx, c, func(ctx context.Context) (*unstructured.UnstructuredList, error) {
			return c.client.Resource(daemons()).Namespace(namespace).List(ctx, metav1.ListOptions{})
		})
		if err == nil {
			return list.Items, nil
		}
	}
	return nil, err
}

func (c *cluster) settings(ctx context.Context, namespace, name string) (map[string]string, error) {
	o, err := retried(ctx, c, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return c.client.Resource(configs()).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	})
	if err != nil {
		return nil, err
	}
	data, _, err := unstructured.NestedStringMap(o.Object, "data")
	return data, err
}
