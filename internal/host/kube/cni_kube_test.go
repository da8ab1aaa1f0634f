//go:build kube

package kube_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/headroom/headroom/internal/host/kube"
	"github.com/headroom/headroom/internal/testing/kubetest"
)

// flannelObjects are what flannel's manifest makes that is read here. No node is meant, so that nothing is started: the
// cluster has a network.
const flannelObjects = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: kube-flannel-cfg, namespace: kube-flannel}, data: {net-conf.json: '{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}'}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: kube-flannel-ds, namespace: kube-flannel}, spec: {selector: {matchLabels: {app: flannel}}, template: {
  metadata: {labels: {app: flannel}}, spec: {nodeSelector: {no: such}, containers: [{name: kube-flannel, image: "ghcr.io/flannel-io/flannel:v0.25.6"}]}}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: kube-proxy, namespace: kube-system}, data: {config.conf: "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: ipvs\n"}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: kube-proxy, namespace: kube-system}, spec: {selector: {matchLabels: {app: proxy}}, template: {
  metadata: {labels: {app: proxy}}, spec: {nodeSelector: {no: such}, containers: [{name: kube-proxy, image: "registry.k8s.io/kube-proxy:v1.34.2"}]}}}}
`

// networkFacts are those about the network of the pods, unknown ones with their reason.
func networkFacts(t *testing.T, p *kube.Pod) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, f := range p.Facts(t.Context()) {
		all[f.Key] = f.Value
		if f.Unknown != "" {
			all[f.Key] = "unknown: " + f.Unknown
		}
	}
	for _, key := range []string{"cluster.cni", "cni.version", "cni.encapsulation", "cni.mtu", "cni.plugins",
		"cluster.proxy", "cluster.pod.mtu"} {
		if all[key] == "" {
			t.Errorf("nothing is said of %s", key)
		}
		t.Logf("%s = %s", key, all[key])
	}
	return all
}

// The network of the pods is recognized by the node's own files where they can be read, and by the objects of a plugin,
// whose name wins.
func TestFactsOfThePodNetwork(t *testing.T) {
	cluster(t)
	namespace := space(t)
	dir := kubetest.Start(t).Dir
	conf, err := os.ReadFile(filepath.Join(dir, "config", "cni", "bridge.conflist"))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "multus", "cni", "net.d") // which the node sees below /run
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(filepath.Join(dir, "multus")); err != nil {
			t.Error(err)
		}
	}()
	if err := os.WriteFile(filepath.Join(folder, "10-pods.conflist"), conf, 0o644); err != nil {
		t.Fatal(err)
	}
	onNode := opened(t, "kube:nodes?node=node1&namespace="+namespace)
	if all := networkFacts(t, onNode); all["cluster.cni"] != "bridge" || all["cni.plugins"] != "bridge" ||
		all["cluster.pod.mtu"] != "unknown: the pod has its node's network" {
		t.Errorf("%q", all)
	}

	kubectl(t, "", "create", "namespace", "kube-flannel")
	defer kubectl(t, "", "delete", "namespace", "kube-flannel", "--wait=false")
	defer kubectl(t, flannelObjects, "delete", "-f", "-")
	kubectl(t, flannelObjects, "apply", "-f", "-")
	all := networkFacts(t, opened(t, "kube:pod?namespace="+namespace))
	for key, want := range map[string]string{"cluster.cni": "flannel vxlan", "cni.version": "v0.25.6",
		"cni.encapsulation": "vxlan", "cni.encapsulates": "always",
		"cni.mtu": "unknown: its configuration does not say", "cluster.proxy": "kube-proxy ipvs",
		"cluster.pod.mtu": "1500"} {
		if all[key] != want {
			t.Errorf("%s is %q, want %s", key, all[key], want)
		}
	}
}
