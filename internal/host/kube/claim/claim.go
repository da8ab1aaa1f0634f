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

// OfList returns the facts about the claims in a list of objects, and about the volumes and classes that no claim in it
// names. A claim is named with its namespace, the others by their names. An object without a name is left out. from is
// where the list was read.
//
// Sources: kubernetes/api, core/v1/types.go (PersistentVolumeClaimSpec); kubernetes,
// pkg/controller/volume/persistentvolume/pv_controller.go (the annotations that name a provisioner).
func OfList(objects []Object, from string) []lab.Fact {
	l := list{from: from, classes: map[string]Object{}, volumes: map[string]Object{}, named: map[string]bool{}}
	for _, o := range objects {
		switch text(o, "kind") {
		case "StorageClass":
			if name := text(o, "metadata", "name"); l.classes[name] == nil || !hidden(o) {
				l.classes[name] = o
			}
		case "PersistentVolume":
			l.volumes[text(o, "metadata", "name")] = o
		}
	}
	for _, kind := range []string{"PersistentVolumeClaim", "PersistentVolume", "StorageClass"} {
		for _, o := range objects {
			if text(o, "kind") == kind {
				l.add(kind, o)
			}
		}
	}
	return l.all
}

// Tells reports whether OfList makes facts of an object.
func Tells(o Object) bool {
	switch text(o, "kind") {
	case "PersistentVolumeClaim", "PersistentVolume", "StorageClass":
		return text(o, "metadata", "name") != ""
	}
	return false
}

// Mode returns the volume mode of a claim in a list of objects, "" if the list does not have it.
func Mode(objects []Object, namespace, name string) string {
	for _, o := range objects {
		if text(o, "kind") == "PersistentVolumeClaim" && text(o, "metadata", "name") == name &&
			text(o, "metadata", "namespace") == namespace {
			return text(o, "spec", "volumeMode")
		}
	}
	return ""
}

// list is a list of objects on its way to facts.
type list struct {
	from             string
	classes, volumes map[string]Object
	// named are the objects that were told, and the volumes and classes that these name, by kind and name.
	named map[string]bool
	all   []lab.Fact
}

func (l *list) add(kind string, o Object) {
	name := text(o, "metadata", "name")
	if namespace := text(o, "metadata", "namespace"); namespace != "" {
		name = namespace + "/" + name
	}
	if text(o, "metadata", "name") == "" || l.named[kind+"/"+name] {
		return
	}
	l.named[kind+"/"+name] = true
	switch kind {
	case "PersistentVolumeClaim":
		volume := text(o, "spec", "volumeName")
		l.named["PersistentVolume/"+volume] = true
		l.class(name, kind, o)
		l.volume(name, volume)
	case "PersistentVolume":
		l.class(name, kind, o)
		l.volume(name, name)
	case "StorageClass":
		l.tell(name, known("claim.class", name, Source(l.from, kind, "metadata.name")))
		l.tell(name, OfClass(l.classes[name], l.from)...)
	}
}

// class adds the known facts about the class of a claim or of a volume.
func (l *list) class(about, kind string, o Object) {
	name, at := text(o, "spec", "storageClassName"), Source(l.from, kind, "spec.storageClassName")
	if name == "" {
		l.tell(about, unknown("claim.class", at, "it names none"))
	} else {
		l.tell(about, known("claim.class", name, at))
	}
	l.named["StorageClass/"+name] = true
	if class := l.classes[name]; class != nil {
		l.tell(about, OfClass(class, l.from)...)
		return
	}
	way := "the text has no such StorageClass: kubectl get sc " + name + " -o yaml"
	if name == "" {
		way = "no StorageClass is named"
	}
	at = Source(l.from, "StorageClass", name)
	provisioner := lab.Fact{}
	for _, annotation := range []string{"volume.kubernetes.io/storage-provisioner",
		"volume.beta.kubernetes.io/storage-provisioner", "pv.kubernetes.io/provisioned-by"} {
		if by := text(o, "metadata", "annotations", annotation); by != "" && provisioner.Key == "" {
			provisioner = known("claim.provisioner", by, Source(l.from, kind, "metadata.annotations"))
		}
	}
	if provisioner.Key == "" {
		provisioner = unknown("claim.provisioner", at, way)
	}
	l.tell(about, provisioner, unknown("claim.binding", at, way), unknown("claim.parameters", at, way))
	if provisioner.Value == linstor {
		l.tell(about, unknown("claim.remote_access", at, way))
	}
}

// volume adds the known facts about the volume of that name.
func (l *list) volume(about, name string) {
	at, driver := Source(l.from, "PersistentVolume", "spec"), ""
	volume := l.volumes[name]
	switch {
	case volume != nil:
		var all []lab.Fact
		driver, all = OfVolume(volume, l.from)
		l.tell(about, all...)
	case name == "":
		l.tell(about, unknown("claim.driver", at, "no volume is bound to the claim"))
	default:
		l.tell(about, unknown("claim.driver", at, "the text has no such volume: kubectl get pv "+name+" -o yaml"))
	}
	if driver == "local" || driver == "hostPath" {
		l.tell(about, known("claim.replica", "local", at))
	} else {
		l.tell(about, unknown("claim.replica", at,
			"the node of a pod that uses it knows: headroom doctor 'kube:pod?claim=NAME'"))
	}
}

func (l *list) tell(about string, all ...lab.Fact) {
	for _, f := range all {
		f.About = oneLine(about)
		l.all = append(l.all, f)
	}
}
