package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/headroom/headroom/internal/lab"
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
	// daemon is its DaemonSet; nil where none is known, or none may be read. why has the reason.
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

// network are about the network of the pods: what an annotation of the node says is given, then the plugin's DaemonSet
// and its ConfigMap, and the configuration on the node where its files can be read.
func (w view) network(ctx context.Context, named lab.Fact) []lab.Fact {
	n := w.cluster.podNetwork(ctx)
	types, mtu, path, err := w.chain()
	switch {
	case named.Value != "":
	case n.daemon != nil && n.encapsulation != "none":
		named = known(named.Key, strings.TrimSpace(n.by.name+" "+n.encapsulation), source("DaemonSet", n.by.daemon))
	case n.daemon != nil:
		named = known(named.Key, n.by.name, source("DaemonSet", n.by.daemon))
	case len(types) > 0:
		named = known(named.Key, types[0], path)
	}
	all := []lab.Fact{named, n.proxied, w.mtu()}
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

// daemons lists the DaemonSets of the whole cluster, or of kube-system where only that may be read.
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

// proxyFact is the fact of how connections to services get to pods: by kube-proxy, in one of its modes, or by the
// plugin.
func (c *cluster) proxyFact(ctx context.Context, n network, found []unstructured.Unstructured, err error) lab.Fact {
	const key = "cluster.proxy"
	from := source("ConfigMap", "kube-proxy")
	switch {
	case n.proxy != "":
		return known(key, n.proxy, source("ConfigMap", n.proxy+"-config"))
	case err != nil:
		return unknown(key, from, err.Error())
	case !slices.ContainsFunc(found, func(o unstructured.Unstructured) bool { return o.GetName() == "kube-proxy" }):
		return unknown(key, source("DaemonSet", "kube-proxy"),
			"there is no DaemonSet of kube-proxy; it may run otherwise, or something else has its part")
	}
	config, err := c.settings(ctx, metav1.NamespaceSystem, "kube-proxy")
	if err != nil {
		return unknown(key, from, err.Error())
	}
	mode := proxyMode(config["config.conf"])
	if mode == "" {
		return unknown(key, from, "its config.conf can't be read")
	}
	return known(key, "kube-proxy "+mode, from)
}

// proxyMode reads the configuration of kube-proxy, whose mode is iptables where it says none; empty for what is no such
// configuration. Source: KubeProxyConfiguration v1alpha1.
//
//	apiVersion: kubeproxy.config.k8s.io/v1alpha1
//	kind: KubeProxyConfiguration
//	mode: "ipvs"
func proxyMode(config string) string {
	var printed struct{ Kind, Mode string }
	if yaml.Unmarshal([]byte(config), &printed) != nil || printed.Kind != "KubeProxyConfiguration" {
		return ""
	}
	return cmp.Or(oneLine(printed.Mode), "iptables")
}

// confFolders are where the runtime of a node looks for the configuration of the pod network: of most systems, of k3s,
// and of OpenShift.
func confFolders() []string {
	return []string{"etc/cni/net.d", "var/lib/rancher/k3s/agent/etc/cni/net.d", "run/multus/cni/net.d"}
}

// chain is the plugins that a packet's interface is made by, as the node's configuration names them, with the MTU that
// it sets and where that is written. It is only read by pods that have the node's files.
func (w view) chain() (types []string, mtu, path string, err error) {
	path = "/" + confFolders()[0]
	if !w.options.Nodes {
		return nil, "", path, errors.New("the pod does not have its node's files; those of kube:nodes do")
	}
	for _, folder := range confFolders() {
		entries, failed := fs.ReadDir(w.shell.FS(), folder)
		if failed != nil {
			err = failed
			continue
		}
		for _, e := range entries { // by name: the first is taken
			path = folder + "/" + e.Name()
			if !slices.ContainsFunc([]string{".conf", ".conflist", ".json"}, func(end string) bool {
				return strings.HasSuffix(path, end)
			}) {
				continue
			}
			text, err := fs.ReadFile(w.shell.FS(), path)
			if err != nil {
				return nil, "", "/" + path, err
			}
			types, mtu = readChain(text)
			return types, mtu, "/" + path, nil
		}
	}
	if err == nil {
		err = fs.ErrNotExist
	}
	return nil, "", "/" + confFolders()[0], err
}

// readChain reads a list of plugins, or a single one, and the first MTU that is set. Source: the CNI specification,
// section 1.
//
//	{"cniVersion": "1.0.0", "name": "pods", "plugins": [
//	  {"type": "bridge", "bridge": "cni0", "mtu": 1450, "ipam": {"type": "host-local"}},
//	  {"type": "portmap", "capabilities": {"portMappings": true}}]}
func readChain(text []byte) (types []string, mtu string) {
	type one struct {
		Type string
		MTU  json.Number
	}
	var list struct {
		one
		Plugins []one
	}
	if json.Unmarshal(text, &list) != nil {
		return nil, ""
	}
	for _, p := range append(list.Plugins, list.one) {
		if p.Type != "" {
			types = append(types, oneLine(p.Type))
		}
		mtu = cmp.Or(mtu, set(p.MTU.String()))
	}
	return types, mtu
}

// mtu reads the MTU of the pod's own interface.
func (w view) mtu() lab.Fact {
	const key, path = "cluster.pod.mtu", "sys/class/net/eth0/mtu"
	if w.options.HostNetwork {
		return unknown(key, "/"+path, "the pod has its node's network")
	}
	text, err := fs.ReadFile(w.shell.FS(), path)
	if err != nil {
		return unknown(key, "/"+path, err.Error())
	}
	return known(key, strings.TrimSpace(string(text)), "/"+path)
}
