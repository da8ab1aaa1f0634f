package machine

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
)

// option is one option of the command line with its argument, "" for none.
type option struct{ name, value string }

// properties are the settings of one option. Those inside others have dots in their names, in both ways of writing:
//
//	driver=qcow2,file.driver=file,file.filename=/srv/a.qcow2,cache.direct=on
//	{"driver":"qcow2","file":{"driver":"file","filename":"/srv/a.qcow2"},"cache":{"direct":true}}
type properties map[string]string

const (
	maxArguments  = 4096
	maxProperties = 1024
	maxDepth      = 16
)

// parseGuest reads a command line of QEMU; false when it is none. Three starters of virtual machines, with the parts
// that tell them apart:
//
//	libvirt    /usr/bin/qemu-system-x86_64 -name guest=db1,debug-threads=on -object {"qom-type":"secret","id":"masterKey0",…}
//	Proxmox    /usr/bin/kvm -id 101 -name web1,debug-threads=on … -pidfile /var/run/qemu-server/101.pid
//	KubeVirt   /usr/libexec/qemu-kvm -name guest=prod_vm3,… -smbios type=1,manufacturer=KubeVirt,product=None,…
//
// Source: qemu(1); libvirt's and qemu-server's tests have hundreds of such lines.
func parseGuest(argv []string) (guest, bool) {
	if len(argv) < 2 {
		return guest{}, false
	}
	g := guest{program: argv[0], objects: map[string]properties{}, nodes: map[string]properties{},
		networks: map[string]properties{}}
	base := path.Base(argv[0])
	if base != "kvm" && base != "qemu-kvm" && !strings.HasPrefix(base, "qemu-system-") {
		return guest{}, false
	}
	argv = argv[1:min(len(argv), maxArguments)]
	for i := 0; i < len(argv); i++ {
		name, ok := strings.CutPrefix(argv[i], "-")
		if !ok {
			continue
		}
		o := option{name: strings.TrimPrefix(name, "-")}
		if i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-") {
			i++
			o.value = argv[i]
		}
		g.options = append(g.options, o)
		g.take(o)
	}
	if p, ok := g.last("machine", "type"); ok && p["type"] == "none" {
		return guest{}, false // libvirt asks QEMU what it can do
	}
	return g, true
}

// take keeps what other options refer to by name.
func (g *guest) take(o option) {
	switch o.name {
	case "object":
		p := parseProperties(o.value, "qom-type")
		g.objects[p["id"]] = p
	case "device":
		g.devices = append(g.devices, parseProperties(o.value, "driver"))
	case "blockdev":
		p := parseProperties(o.value, "driver")
		g.nodes[p["node-name"]] = p
	case "drive":
		g.legacyDrives = append(g.legacyDrives, parseProperties(o.value, "file"))
	case "hda", "hdb", "hdc", "hdd":
		g.legacyDrives = append(g.legacyDrives, properties{"file": o.value, "if": "ide", "id": o.name})
	case "netdev", "nic":
		p := parseProperties(o.value, "type")
		id := p["id"]
		if o.name == "nic" {
			id = "nic" + strconv.Itoa(len(g.networks))
			model := p["model"]
			if model == "" {
				model = "default"
			}
			g.devices = append(g.devices, properties{"driver": model, "netdev": id})
		}
		g.networks[id] = p
	}
}

// last is the last use of an option, its settings split, with the name that the first one may go without.
func (g *guest) last(name, implied string) (properties, bool) {
	for _, o := range slices.Backward(g.options) {
		if o.name == name {
			return parseProperties(o.value, implied), true
		}
	}
	return nil, false
}

// parseProperties splits the settings of an option; two commas stand for one within a value.
func parseProperties(text, implied string) properties {
	p := properties{}
	if strings.HasPrefix(text, "{") {
		var tree map[string]any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		if decoder.Decode(&tree) == nil {
			p.flatten("", tree, 0)
		}
		return p
	}
	const comma = "\x01"
	for i, part := range strings.Split(strings.ReplaceAll(text, ",,", comma), ",") {
		if len(p) >= maxProperties {
			break
		}
		key, value, ok := strings.Cut(part, "=")
		switch {
		case !ok && i == 0:
			key, value = implied, part
		case !ok:
			value = "on" // the short form of a switch: "server,nowait"
		}
		p[key] = strings.ReplaceAll(value, comma, ",")
	}
	return p
}

func (p properties) flatten(prefix string, value any, depth int) {
	if depth > maxDepth || len(p) >= maxProperties {
		return
	}
	dot := prefix
	if dot != "" {
		dot += "."
	}
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			p.flatten(dot+key, inner, depth+1)
		}
	case []any:
		for i, inner := range v {
			p.flatten(dot+strconv.Itoa(i), inner, depth+1)
		}
	case bool:
		p[prefix] = map[bool]string{true: "on", false: "off"}[v]
	case nil:
		p[prefix] = ""
	default:
		p[prefix] = fmt.Sprint(v)
	}
}

func (p properties) on(name string) bool {
	on, _ := catalogue.ParseFlag(p[name])
	return on
}

// first is the first of several settings that is there.
func (p properties) first(names ...string) string {
	for _, n := range names {
		if v := p[n]; v != "" {
			return v
		}
	}
	return ""
}
