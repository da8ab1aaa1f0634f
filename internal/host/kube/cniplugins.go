package kube

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// ofFlannel reads the part of flannel's ConfigMap with the way that packets get to other nodes. Source: flannel's
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
// were changed later are in separate objects. The operator has neither. Source: Calico's manifests/calico.yaml and its
// reference of calico/node.
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
