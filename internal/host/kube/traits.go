package kube

// SharesKernel marks the pod as a container of its node.
func (p *Pod) SharesKernel() {}

// LosesDataOnBoot reports whether the volume under test goes with the pod.
func (p *Pod) LosesDataOnBoot() bool { return p.request.options.LosesDataOnBoot() }

// NodeNetwork names pods like this one on the same node; there are none for a pod that is in the node's network.
func (p *Pod) NodeNetwork() (same, inNode string, ok bool) {
	if p.request.options.HostNetwork {
		return "", "", false
	}
	return p.request.options.OnNode(p.Node()), p.request.options.InNodeNetwork(p.Node()), true
}
