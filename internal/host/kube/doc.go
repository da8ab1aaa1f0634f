// Package kube makes pods of Kubernetes targets: a pod exists for the time of its measurement, with a volume of the
// kind under test, and is removed with all that was made for it. The cluster needs nothing but an image with a shell
// and the load generator; headroom reaches it with the user's own kubeconfig, through the dynamic client.
//
// The name of a pod or of a machine of KubeVirt, "kube:pod?class=fast", defines how and where it is made, and what is
// measured in it.
package kube
