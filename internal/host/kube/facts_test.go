package kube

import (
	"strings"
	"testing"
)

func TestNetworkOfANode(t *testing.T) {
	for _, c := range []struct{ annotations, want string }{
		{"flannel.alpha.coreos.com/backend-type=vxlan flannel.alpha.coreos.com/public-ip=10.0.0.1", "flannel vxlan"},
		{"projectcalico.org/IPv4Address=192.168.64.6/24 projectcalico.org/IPv4VXLANTunnelAddr=10.233.72.128",
			"calico vxlan"},
		{"projectcalico.org/IPv4Address=192.168.64.6/24", "calico"},
		{"network.cilium.io/ipv4-pod-cidr=10.244.0.0/25", "cilium"},
		{"node.alpha.kubernetes.io/ttl=0", ""},
	} {
		annotations := map[string]string{}
		for pair := range strings.FieldsSeq(c.annotations) {
			key, value, _ := strings.Cut(pair, "=")
			annotations[key] = value
		}
		if got := networkOf(annotations); got != c.want {
			t.Errorf("%s: %q, want %q", c.annotations, got, c.want)
		}
	}
}
