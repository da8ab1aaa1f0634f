package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
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

// plugin is one whose programs on the nodes are known by the name of their DaemonSet.
type plugin struct {
	name, daemon string
	// config is the ConfigMap beside it; empty where none is read.
	config string
	read   func(config map[string]string, daemon object) network
}

// plugins are those that are known. Sources: the manifests of Calico (manifests/calico.yaml), Cilium
// (install/kubernetes/cilium/templates), flannel (Documentation/kube-flannel.yml), and of the others, which only have a
// name here.
func plugins() []plugin {
	return []plugin{
		{"calico", "calico-node", "calico-config", ofCalico},
		{"canal", "canal", "canal-config", ofFlannel},
		{"cilium", "cilium", "cilium-config", ofCilium},
		{"flannel", "kube-flannel-ds", "kube-flannel-cfg", ofFlannel},
		{"amazon-vpc", "aws-node", "", nil},
		{"antrea", "antrea-agent", "", nil},
		{"kindnet", "kindnet", "", nil},
		{"kube-router", "kube-router", "", nil},
		{"ovn-kubernetes", "ovnkube-node", "", nil},
		{"weave", "weave-net", "", nil},
	}
}

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

// pluginOf is the first plugin that a DaemonSet is of, with that; nil for none.
func pluginOf(found []unstructured.Unstructured) (plugin, *unstructured.Unstructured) {
	for _, p := range plugins() {
		for i := range found {
			if found[i].GetName() == p.daemon {
				return p, &found[i]
			}
		}
	}
	return plugin{}, nil
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

// containerOf is the first container of a DaemonSet, which is the plugin's in the manifests that are known.
func containerOf(daemon object) object {
	containers, _, _ := unstructured.NestedSlice(daemon, "spec", "template", "spec", "containers")
	if len(containers) == 0 {
		return nil
	}
	first, _ := containers[0].(object)
	return first
}

// imageOf is that container's image; empty where there is no DaemonSet.
func imageOf(daemon *unstructured.Unstructured) string {
	if daemon == nil {
		return ""
	}
	image, _ := containerOf(daemon.Object)["image"].(string)
	return image
}

// tagOf is the tag of an image, without its digest; empty where it has none.
//
//	docker.io/calico/node:v3.28.1
//	quay.io/cilium/cilium:v1.16.1@sha256:0b4a3ab41a4760d86b7fc945b8783747ba27f29dac30dd434d94f2c9e3679f39
//	registry.example:5000/flannel/flannel
func tagOf(image string) string {
	name, _, _ := strings.Cut(image, "@")
	_, tag, tagged := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	if !tagged {
		return ""
	}
	return oneLine(tag)
}

// ofFlannel reads the part of flannel's ConfigMap that says how packets get to other nodes. Source: flannel's
// Documentation/configuration.md, backends.md.
//
//	net-conf.json: |
//	  {"Network": "10.244.0.0/16", "EnableNFTables": false,
//	   "Backend": {"Type": "vxlan", "VNI": 1, "Port": 8472}}
func ofFlannel(config map[string]string, _ object) network {
	var printed struct {
		Backend struct {
			Type          string
			DirectRouting bool
		}
	}
	if json.Unmarshal([]byte(config["net-conf.json"]), &printed) != nil {
		return network{}
	}
	switch backend := strings.ToLower(oneLine(printed.Backend.Type)); backend {
	case "host-gw", "alloc":
		return network{encapsulation: "none"}
	case "vxlan", "ipip":
		if printed.Backend.DirectRouting {
			return network{encapsulation: backend, encapsulates: betweenSubnets}
		}
		return network{encapsulation: backend, encapsulates: always}
	default:
		return network{encapsulation: backend}
	}
}

// ofCalico reads Calico's ConfigMap, and the environment of its DaemonSet, by which the first pool is made; pools that
// were changed later are in objects of its own. The operator has neither. Source: Calico's manifests/calico.yaml and
// its reference of calico/node.
//
//	calico_backend: "bird"
//	veth_mtu: "0"
//	{name: CALICO_IPV4POOL_IPIP, value: Always}
func ofCalico(config map[string]string, daemon object) network {
	env := map[string]string{}
	list, _ := containerOf(daemon)["env"].([]any)
	for _, e := range list {
		if one, ok := e.(object); ok {
			name, _ := one["name"].(string)
			env[name], _ = one["value"].(string)
		}
	}
	var n network
	if env["CALICO_IPV4POOL_IPIP"] != "" {
		n.encapsulation = "none"
	}
	for _, way := range []string{"ipip", "vxlan"} {
		switch strings.ToLower(env["CALICO_IPV4POOL_"+strings.ToUpper(way)]) {
		case "always":
			n.encapsulation, n.encapsulates = way, always
		case "crosssubnet":
			n.encapsulation, n.encapsulates = way, betweenSubnets
		}
	}
	n.mtu = set(config["veth_mtu"])
	return n
}

// ofCilium reads Cilium's ConfigMap. Before 1.14 there was one key, tunnel. Source: Cilium's
// Documentation/network/concepts/routing.rst, and the upgrade notes of 1.14 and 1.15.
//
//	routing-mode: tunnel
//	tunnel-protocol: vxlan
//	kube-proxy-replacement: "true"
func ofCilium(config map[string]string, _ object) network {
	var n network
	switch {
	case config["routing-mode"] == "native", config["tunnel"] == "disabled":
		n.encapsulation = "none"
	case config["routing-mode"] == "tunnel":
		n.encapsulation, n.encapsulates = cmp.Or(oneLine(config["tunnel-protocol"]), "vxlan"), always
	case config["tunnel"] != "":
		n.encapsulation, n.encapsulates = oneLine(config["tunnel"]), always
	}
	n.mtu = set(config["mtu"])
	if word := config["kube-proxy-replacement"]; word == "true" || word == "strict" {
		n.proxy = "cilium"
	}
	return n
}

// set is a number of bytes that is not 0, which stands for what the plugin finds by itself.
func set(text string) string {
	if n, err := strconv.Atoi(text); err != nil || n <= 0 {
		return ""
	}
	return text
}

// proxyFact says how connections to services get to pods: by kube-proxy, in one of its modes, or by the plugin.
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
func (p *Pod) chain() (types []string, mtu, path string, err error) {
	path = "/" + confFolders()[0]
	if !p.options.Nodes {
		return nil, "", path, errors.New("the pod does not have its node's files; those of kube:nodes do")
	}
	for _, folder := range confFolders() {
		entries, failed := fs.ReadDir(p.FS(), folder)
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
			text, err := fs.ReadFile(p.FS(), path)
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

// mtuFact is that of the pod's own interface.
func (p *Pod) mtuFact() lab.Fact {
	const key, path = "cluster.pod.mtu", "sys/class/net/eth0/mtu"
	if p.options.HostNetwork {
		return unknown(key, "/"+path, "the pod has its node's network")
	}
	text, err := fs.ReadFile(p.FS(), path)
	if err != nil {
		return unknown(key, "/"+path, err.Error())
	}
	return known(key, strings.TrimSpace(string(text)), "/"+path)
}
