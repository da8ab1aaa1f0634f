// Package kube is pods of Kubernetes as targets: a pod is made for the time that it is measured, with a volume of the
// kind under test, and removed with all that was made for it. The cluster needs nothing but an image with a shell and
// the load generator; it is reached with the user's own kubeconfig, through the dynamic client.
//
// The name of a pod or of a machine of KubeVirt, "kube:pod?class=fast", says which one is made, where, and what is
// measured in it.
package kube
