package kube

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// daemonSet is one with an image, and an environment: "NAME=VALUE …".
func daemonSet(name, image, env string) unstructured.Unstructured {
	var list []any
	for pair := range strings.FieldsSeq(env) {
		key, value, _ := strings.Cut(pair, "=")
		list = append(list, object{"name": key, "value": value})
	}
	return unstructured.Unstructured{Object: object{"metadata": object{"name": name},
		"spec": object{"template": object{"spec": object{"containers": []any{object{"image": image, "env": list}}}}}}}
}

func TestWhatPluginsSayOfThePodNetwork(t *testing.T) {
	for _, c := range []struct {
		daemon, image, env string
		config             map[string]string
		want               string // name, tag, encapsulation, of which packets, MTU, proxy
	}{
		{"kube-flannel-ds", "ghcr.io/flannel-io/flannel:v0.25.6", "",
			map[string]string{"net-conf.json": `{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}`},
			"flannel v0.25.6 vxlan always - -"},
		{"kube-flannel-ds", "ghcr.io/flannel-io/flannel:v0.25.6", "",
			map[string]string{"net-conf.json": `{"Backend": {"Type": "host-gw"}}`}, "flannel v0.25.6 none - - -"},
		{"kube-flannel-ds", "flannel:v1", "",
			map[string]string{"net-conf.json": `{"Backend": {"Type": "vxlan", "Directrouting": true}}`},
			"flannel v1 vxlan between subnets - -"},
		{"kube-flannel-ds", "flannel:v1", "", map[string]string{"net-conf.json": `{"Backend": {"Type": "wireguard"}}`},
			"flannel v1 wireguard - - -"},
		{"kube-flannel-ds", "flannel", "", nil, "flannel - - - - -"},
		{"calico-node", "docker.io/calico/node:v3.28.1", "CALICO_IPV4POOL_IPIP=Always CALICO_IPV4POOL_VXLAN=Never",
			map[string]string{"veth_mtu": "0"}, "calico v3.28.1 ipip always - -"},
		{"calico-node", "docker.io/calico/node:v3.28.1", "CALICO_IPV4POOL_IPIP=Never CALICO_IPV4POOL_VXLAN=CrossSubnet",
			map[string]string{"veth_mtu": "1440"}, "calico v3.28.1 vxlan between subnets 1440 -"},
		{"calico-node", "docker.io/calico/node:v3.28.1", "CALICO_IPV4POOL_IPIP=Never CALICO_IPV4POOL_VXLAN=Never", nil,
			"calico v3.28.1 none - - -"},
		{"cilium", "quay.io/cilium/cilium:v1.16.1@sha256:0b4a", "",
			map[string]string{"routing-mode": "tunnel", "tunnel-protocol": "geneve", "kube-proxy-replacement": "true",
				"mtu": "0"}, "cilium v1.16.1 geneve always - cilium"},
		{"cilium", "quay.io/cilium/cilium:v1.16.1", "", map[string]string{"routing-mode": "native",
			"kube-proxy-replacement": "false"}, "cilium v1.16.1 none - - -"},
		{"cilium", "quay.io/cilium/cilium:v1.13.4", "", map[string]string{"tunnel": "vxlan",
			"kube-proxy-replacement": "strict"}, "cilium v1.13.4 vxlan always - cilium"},
		{"cilium", "quay.io/cilium/cilium:v1.13.4", "", map[string]string{"tunnel": "disabled"},
			"cilium v1.13.4 none - - -"},
	} {
		by, daemon := pluginOf([]unstructured.Unstructured{daemonSet("node-exporter", "x:1", ""),
			daemonSet(c.daemon, c.image, c.env)})
		if daemon == nil {
			t.Errorf("%s is not known", c.daemon)
			continue
		}
		n := by.read(c.config, daemon.Object)
		got := []string{by.name, tagOf(imageOf(daemon)), n.encapsulation, n.encapsulates, n.mtu, n.proxy}
		for i, word := range got {
			if word == "" {
				got[i] = "-"
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s, %v: %s, want %s", c.env, c.config, text, c.want)
		}
	}
	if _, daemon := pluginOf([]unstructured.Unstructured{daemonSet("node-exporter", "x:1", "")}); daemon != nil {
		t.Errorf("%v is taken for a plugin", daemon)
	}
}

func TestTagsOfImages(t *testing.T) {
	for image, want := range map[string]string{
		"docker.io/calico/node:v3.28.1": "v3.28.1", "quay.io/cilium/cilium:v1.16.1@sha256:0b4a": "v1.16.1",
		"registry.example:5000/flannel/flannel": "", "": "",
	} {
		if got := tagOf(image); got != want {
			t.Errorf("%s: %q", image, got)
		}
	}
}

// chainSeeds are configurations as they are on nodes.
func chainSeeds() map[string]string {
	return map[string]string{
		`{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge", "mtu": 1450}, {"type": "portmap"}]}`:        "bridge, portmap 1450",
		`{"cniVersion": "0.3.1", "name": "cbr0", "plugins": [{"type": "flannel", "delegate": {}}, {"type": "portmap"}]}`:    "flannel, portmap ",
		`{"cniVersion": "0.3.1", "name": "cilium", "type": "cilium-cni", "enable-debug": false}`:                            "cilium-cni ",
		`{"name": "k8s-pod-network", "plugins": [{"type": "calico", "mtu": 0, "ipam": {"type": "calico-ipam"}}, {"x": 1}]}`: "calico ",
		`{"plugins": "none"}`: " ",
		`mtu: 1450`:           " ",
	}
}

func TestChainsOfPlugins(t *testing.T) {
	for text, want := range chainSeeds() {
		types, mtu := readChain([]byte(text))
		if got := strings.Join(types, ", ") + " " + mtu; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestModeOfKubeProxy(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: \"ipvs\"\n": "ipvs",
		"kind: KubeProxyConfiguration\nmode: \"\"\n":                                                   "iptables",
		"": "", "mode: [": "", "mode: ipvs": "",
	} {
		if got := proxyMode(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// Whatever a cluster and a node hold, what is read of it is a few words in a line, and nothing fails.
func FuzzPodNetwork(f *testing.F) {
	for text := range chainSeeds() {
		f.Add(text, "docker.io/calico/node:v3.28.1")
	}
	f.Add(`{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}`, "quay.io/cilium/cilium:v1.16.1@sha256:0b4a")
	f.Add("kind: KubeProxyConfiguration\nmode: ipvs\n", "registry.example:5000/flannel/flannel")
	f.Fuzz(func(t *testing.T, text, image string) {
		types, mtu := readChain([]byte(text))
		printed := append(types, mtu, tagOf(image), proxyMode(text),
			ofFlannel(map[string]string{"net-conf.json": text}, nil).encapsulation)
		daemon := daemonSet("calico-node", image, text)
		config := map[string]string{"veth_mtu": text, "mtu": text, "tunnel": text, "routing-mode": image,
			"kube-proxy-replacement": text}
		for _, n := range []network{ofCalico(config, daemon.Object), ofCilium(config, daemon.Object)} {
			printed = append(printed, n.encapsulation, n.encapsulates, n.mtu, n.proxy)
		}
		for _, word := range printed {
			if strings.ContainsAny(word, "\n\t") {
				t.Errorf("%q", word)
			}
		}
	})
}
