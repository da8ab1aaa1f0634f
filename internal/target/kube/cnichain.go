package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"headroom/internal/lab"
)

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
