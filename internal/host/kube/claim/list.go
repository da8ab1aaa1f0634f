package claim

import "github.com/headroom/headroom/internal/lab"

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

// Tells reports whether an object is one that OfList makes facts of.
func Tells(o Object) bool {
	switch text(o, "kind") {
	case "PersistentVolumeClaim", "PersistentVolume", "StorageClass":
		return text(o, "metadata", "name") != ""
	}
	return false
}

// Mode returns the volume mode of a claim in a list of objects, "" where the list does not tell.
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
