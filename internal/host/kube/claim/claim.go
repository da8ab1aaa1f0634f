// Package claim makes facts of the objects of Kubernetes that say how a volume is stored: its StorageClass and its
// PersistentVolume.
package claim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/headroom/headroom/internal/lab"
)

// Object is an object of the API, as JSON is decoded.
type Object = map[string]any

// Source names a field of an object, and where the object was read.
//
//	Kubernetes API: StorageClass parameters
func Source(from, kind, field string) string { return from + ": " + kind + " " + field }

// OfVolume returns the facts about a PersistentVolume: what serves it, and from which nodes it can be reached. driver
// is "" where that is not known. from is where it was read.
func OfVolume(volume Object, from string) (driver string, all []lab.Fact) {
	driver = text(volume, "spec", "csi", "driver")
	for _, kind := range inTree() {
		if _, is, _ := unstructured.NestedMap(volume, "spec", kind); is {
			driver = kind
		}
	}
	at := Source(from, "PersistentVolume", "spec")
	if driver == "" {
		all = append(all, unknown("claim.driver", at, "it is of a kind that is not known here"))
	} else {
		all = append(all, known("claim.driver", driver, at))
	}
	attributes, _, _ := unstructured.NestedStringMap(volume, "spec", "csi", "volumeAttributes")
	if driver != "" && len(attributes) > 0 {
		all = append(all, known("claim.attributes", withoutSecrets(attributes),
			Source(from, "PersistentVolume", "spec.csi.volumeAttributes")))
	}
	return driver, append(all,
		known("claim.nodes", nodesOf(volume), Source(from, "PersistentVolume", "spec.nodeAffinity")))
}

// inTree are the kinds of volumes that Kubernetes serves, or served, without a CSI driver. Source: kubernetes/api,
// core/v1/types.go (PersistentVolumeSource).
func inTree() []string {
	return []string{"awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "fc", "flexVolume", "flocker",
		"gcePersistentDisk", "glusterfs", "hostPath", "iscsi", "local", "nfs", "photonPersistentDisk", "portworxVolume",
		"quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume"}
}

// nodesOf returns where a volume can be used from: "any", or conditions on nodes.
//
//	kubernetes.io/hostname In node1
func nodesOf(volume Object) string {
	terms, _, _ := unstructured.NestedSlice(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms")
	var printed []string
	for _, t := range terms {
		term, ok := t.(Object)
		if !ok {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(term, "matchExpressions")
		for _, c := range conditions {
			if one, ok := c.(Object); ok {
				values, _, _ := unstructured.NestedStringSlice(one, "values")
				printed = append(printed, strings.TrimSpace(fmt.Sprintf("%v %v %s", one["key"], one["operator"],
					strings.Join(values, " or "))))
			}
		}
	}
	if len(printed) == 0 {
		return "any"
	}
	slices.Sort(printed)
	return strings.Join(slices.Compact(printed), ", ")
}

// remoteAccess returns LINSTOR's parameter that decides whether a pod may use a volume on a node that has no copy of
// it: "true", the default, "false", or where. Its name has the driver's before it, or not, and capitals do not matter.
// Source: linstor-csi's CHANGELOG.md, versions 0.6.0 and 0.7.0.
func remoteAccess(parameters map[string]string) string {
	for key, value := range parameters {
		if !strings.EqualFold(strings.TrimPrefix(key, linstor+"/"), "allowRemoteVolumeAccess") {
			continue
		}
		if allowed, err := strconv.ParseBool(value); err == nil {
			return strconv.FormatBool(allowed)
		}
		return oneLine(value)
	}
	return "true"
}

const linstor = "linstor.csi.linbit.com"

// OfClass returns the facts about a StorageClass. from is where it was read. The API always returns the volume binding
// mode; a text without it was cut off, or is one to apply. Parameters that are null were not shown.
func OfClass(class Object, from string) []lab.Fact {
	field := func(key, name string) lab.Fact {
		at := Source(from, "StorageClass", name)
		if value := text(class, name); value != "" {
			return known(key, value, at)
		}
		return unknown(key, at, "it is not said")
	}
	parameters, _, _ := unstructured.NestedStringMap(class, "parameters")
	at := Source(from, "StorageClass", "parameters")
	all := []lab.Fact{field("claim.provisioner", "provisioner"), field("claim.binding", "volumeBindingMode")}
	if hidden(class) {
		return append(all, unknown("claim.parameters", at, "kubectl get sc "+text(class, "metadata", "name")+
			" -o yaml shows them"))
	}
	all = append(all, known("claim.parameters", withoutSecrets(parameters), at))
	if text(class, "provisioner") == linstor {
		all = append(all, known("claim.remote_access", remoteAccess(parameters), at))
	}
	return all
}

// hidden reports whether the parameters of a class were not shown.
func hidden(class Object) bool {
	parameters, there := class["parameters"]
	return there && parameters == nil
}

// secretWords are words in the names of parameters whose values are secrets, lead to some, or are addresses.
func secretWords() []string {
	return []string{"secret", "password", "passwd", "passphrase", "token", "key", "user", "credential", "auth", "cert",
		"server", "endpoint", "monitors", "url", "host", "address", "portal"}
}

// withoutSecrets returns a sorted list of parameters. It leaves out secrets and addresses.
func withoutSecrets(parameters map[string]string) string {
	var printed []string
	for name, value := range parameters {
		lower := strings.ToLower(name)
		if !slices.ContainsFunc(secretWords(), func(word string) bool { return strings.Contains(lower, word) }) {
			printed = append(printed, name+"="+oneLine(value))
		}
	}
	if len(printed) == 0 {
		return "none"
	}
	slices.Sort(printed)
	return strings.Join(printed, ", ")
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// known returns a fact on one line; a text of blanks says nothing.
func known(key, value, source string) lab.Fact {
	if value = oneLine(value); value == "" {
		return unknown(key, source, "it is not said")
	}
	return lab.Fact{Key: key, Value: value, Source: oneLine(source)}
}

func unknown(key, source, why string) lab.Fact {
	return lab.Fact{Key: key, Source: oneLine(source), Unknown: oneLine(why)}
}

// text returns the field of an object that holds a text, "" where there is none.
func text(o Object, path ...string) string {
	value, _, _ := unstructured.NestedString(o, path...)
	return value
}
