package kube

import "strings"

// onNode is where the container of a pod that is for its node has what a path names on the node. The kernel's own
// folders are the same in both, as far as they do not depend on who reads them: what is mounted is told of the node's
// first process. All else of the system is below nodeFolder; the rest is the container's, with the place under test and
// with the tools that look at it.
func onNode(path string) string {
	for _, of := range []string{"/etc", "/boot", "/lib/modules", "/usr/lib/modules", "/usr/lib/os-release",
		"/run", "/var/lib"} {
		if path == of || strings.HasPrefix(path, of+"/") {
			return nodeFolder + path
		}
	}
	return path
}
