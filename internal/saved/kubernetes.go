package saved

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/host/kube/claim"
	"github.com/headroom/headroom/internal/prose"
)

// resource is an object of the API of Kubernetes.
type resource struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Items    []yaml.Node
	node     *yaml.Node
}

// object returns the object as JSON is decoded, nil where it is none.
func (r resource) object() claim.Object {
	var decoded any
	if r.node.Decode(&decoded) != nil {
		return nil
	}
	data, err := json.Marshal(decoded)
	if err != nil {
		return nil
	}
	var o claim.Object
	if json.Unmarshal(data, &o) != nil || o == nil {
		return nil
	}
	o["kind"] = r.Kind // items of a list may have none
	return o
}

// objectLine fits the lines of YAML and of JSON: what does not follows the objects in the text.
var objectLine = prose.Pattern(`^(?:\s|- |-$|---|[\w.]+:(?: |$)|[{}\[\]]|#|$)`)

// maxResources bounds the objects of one text.
const maxResources = 10_000

// resources returns the objects in a text, including the items of lists. JSON is YAML.
func resources(text string) []resource {
	lines := strings.Split(text, "\n")
	if i := slices.IndexFunc(lines, func(l string) bool { return !objectLine().MatchString(l) }); i >= 0 {
		lines = lines[:i]
	}
	var all []resource
	add := func(n *yaml.Node, kind string) bool {
		r := resource{node: n}
		if n.Decode(&r) != nil || len(all) >= maxResources {
			return false
		}
		if r.Kind == "" {
			r.Kind = kind
		}
		all = append(all, r)
		return true
	}
	for documents := yaml.NewDecoder(strings.NewReader(strings.Join(lines, "\n"))); ; {
		var n yaml.Node
		if err := documents.Decode(&n); err == io.EOF || err != nil {
			break
		}
		at := len(all)
		if !add(&n, "") {
			continue
		}
		list := all[at]
		if kind, ok := strings.CutSuffix(list.Kind, "List"); ok {
			all = all[:at]
			for i := range list.Items {
				add(&list.Items[i], kind)
			}
		}
	}
	return all
}

// readKubernetes reads virtual machines of KubeVirt, claims, volumes and StorageClasses, as kubectl prints objects with
// -o yaml and -o json. Others say nothing of a machine. Source: kubernetes/apimachinery, pkg/apis/meta/v1/types.go
// (TypeMeta, ObjectMeta, List).
//
//	apiVersion: v1
//	items:
//	- apiVersion: kubevirt.io/v1
func readKubernetes(m *Machine, text string) bool {
	read := false
	for _, r := range resources(text) {
		switch r.Kind {
		case "VirtualMachineInstance", "VirtualMachine":
			v := virtualMachine{}
			if err := r.node.Decode(&v); err != nil {
				m.Unread = append(m.Unread, fmt.Sprintf("%s %s: %s", r.Kind, r.Metadata.Name,
					strings.Join(strings.Fields(err.Error()), " ")))
				continue
			}
			v.Kind = r.Kind // items of a list may have none
			m.machines = append(m.machines, v)
		default:
			o := r.object()
			if o == nil || !claim.Tells(o) {
				continue
			}
			m.volumes = append(m.volumes, o)
		}
		read = true
	}
	return read
}

// finishKubernetes makes facts of what all texts tell of Kubernetes. A machine of KubeVirt that runs is there as an
// instance, too, which says more.
func (m *Machine) finishKubernetes() {
	all := parts()
	m.now = block{part: &all[slices.IndexFunc(all, func(p part) bool { return p.name == kubeSource })]}
	slices.SortStableFunc(m.machines, func(a, b virtualMachine) int { return -strings.Compare(a.Kind, b.Kind) })
	seen := map[string]bool{}
	for _, v := range m.machines {
		if key := v.Metadata.Namespace + "/" + v.Metadata.Name; !seen[key] && len(seen) < maxGuests {
			seen[key] = m.kubeVirt(v)
		}
	}
	m.told.all = append(m.told.all, claim.OfList(m.volumes, kubeSource)...)
}

// readDescribedClass reads what kubectl describes of StorageClasses, one after the other. One that was cut off before
// its parameters is left out. Source: kubectl, pkg/describe/describe.go (StorageClassDescriber).
//
//	Name:                  linstor
//	Provisioner:           linstor.csi.linbit.com
//	Parameters:            linstor.csi.linbit.com/storagePool=pool1,linstor.csi.linbit.com/placementCount=2
func readDescribedClass(m *Machine, text string) bool {
	var objects []claim.Object
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch {
		case name == "Name":
			objects = append(objects, claim.Object{"kind": "StorageClass", "metadata": claim.Object{"name": value}})
		case len(objects) == 0:
		case name == "Provisioner":
			objects[len(objects)-1]["provisioner"] = value
		case name == "VolumeBindingMode":
			objects[len(objects)-1]["volumeBindingMode"] = value
		case name == "Parameters":
			parameters := claim.Object{}
			for pair := range strings.SplitSeq(value, ",") {
				if key, v, ok := strings.Cut(pair, "="); ok {
					parameters[key] = v
				}
			}
			objects[len(objects)-1]["parameters"] = parameters
		}
	}
	objects = slices.DeleteFunc(objects, func(o claim.Object) bool { return o["parameters"] == nil })
	m.volumes = append(m.volumes, objects...)
	return len(objects) > 0
}

// readClassTable reads the table of StorageClasses, which does not show parameters. Older ones have no column for
// the time when volumes are made. Source: kubernetes, pkg/printers/internalversion/printers.go (printStorageClass).
//
//	NAME             PROVISIONER              RECLAIMPOLICY   VOLUMEBINDINGMODE      ALLOWVOLUMEEXPANSION   AGE
//	fast (default)   rbd.csi.ceph.com         Delete          WaitForFirstConsumer   true                   41d
func readClassTable(m *Machine, text string) bool {
	head, rows, _ := strings.Cut(text, "\n")
	binding := slices.Index(strings.Fields(head), "VOLUMEBINDINGMODE")
	read := false
	for row := range strings.Lines(rows) {
		f := strings.Fields(strings.Replace(row, " (default)", "", 1))
		if len(f) < 3 || binding >= len(f) || len(f) > len(strings.Fields(head)) {
			continue
		}
		read = true
		// The kind stands before the name where other kinds were asked for, too.
		class := claim.Object{"kind": "StorageClass", "provisioner": f[1], "parameters": nil,
			"metadata": claim.Object{"name": strings.TrimPrefix(f[0], "storageclass.storage.k8s.io/")}}
		if binding > 0 {
			class["volumeBindingMode"] = f[binding]
		}
		m.volumes = append(m.volumes, class)
	}
	return read
}
