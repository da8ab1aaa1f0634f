package saved

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// readJSON reads what commands print as JSON, which is known by its names; other JSON is not recognised. A typed
// command names the device of the first document alone.
func readJSON(m *Machine, text string) bool {
	read := false
	for documents := json.NewDecoder(strings.NewReader(text)); ; m.now.command = nil {
		var raw json.RawMessage
		var doc map[string]any
		if documents.Decode(&raw) != nil {
			return read
		}
		exact := json.NewDecoder(strings.NewReader(string(raw)))
		exact.UseNumber()
		if exact.Decode(&doc) != nil {
			continue
		}
		has := func(name string) bool { _, ok := doc[name]; return ok }
		switch {
		case has("lscpu"):
			rows := lscpuJSON{}
			read = json.Unmarshal(raw, &rows) == nil && readLSCPU(m, rows.text("")) || read
		case has("blockdevices"):
			read = readLSBLKJSON(m, doc["blockdevices"]) || read
		case has("Devices"):
			read = readNVMeJSON(m, doc["Devices"]) || read
		case has("smartctl"):
			read = readSmartctlJSON(m, flat(doc)) || read
		case has("lbafs"):
			read = m.disks.tellFormats(m.now.typedDisk(), "nvme id-ns", raw, true) || read
		case has("vwc"):
			read = m.disks.controller(m.now.typedDisk(), "nvme id-ctrl", flat(doc)) || read
		case has("percent_used"):
			name := m.now.typedDisk()
			read = name != "" && m.disks.drive(name, "nvme smart-log", flat(doc)) || read
		case has("sysstat"):
			said := flat(doc)
			const host = "sysstat.hosts.0."
			read = m.sysstat(said[host+"release"], said[host+"machine"],
				said[host+"statistics.0.avg-cpu.steal"]) || read
			if said[host+"statistics.0.disk.0.disk_device"] != "" {
				m.Unread = append(m.Unread, ratesOfDevices)
			}
		case has("kind"):
			all := parts()
			m.now.part = &all[slices.IndexFunc(all, func(p part) bool { return p.name == kubeSource })]
			read = readKubernetes(m, string(raw)) || read
		default:
			m.now.part = nil
		}
	}
}

// flat are the values of a document by their names, those within others with dots between: "device.name". Lists count
// from 0.
func flat(doc map[string]any) map[string]string {
	said := map[string]string{}
	var walk func(name string, value any, depth int)
	walk = func(name string, value any, depth int) {
		switch v := value.(type) {
		case map[string]any:
			for key, e := range v {
				if depth < 8 {
					walk(strings.TrimPrefix(name+"."+key, "."), e, depth+1)
				}
			}
		case []any:
			for i, e := range v {
				if depth < 8 {
					walk(name+"."+strconv.Itoa(i), e, depth+1)
				}
			}
		case string:
			said[name] = v
		case json.Number:
			said[name] = v.String()
		case bool:
			said[name] = strconv.FormatBool(v)
		}
	}
	walk("", doc, 0)
	return said
}

// lscpuJSON is what "lscpu -J" prints. Source: util-linux, sys-utils/lscpu.c.
//
//	{"lscpu": [{"field": "Architecture:", "data": "x86_64", "children": [
//		{"field": "CPU op-mode(s):", "data": "32-bit, 64-bit"}]}]}
type lscpuJSON struct {
	Rows []struct {
		Field, Data string
		Children    []json.RawMessage
	} `json:"lscpu"`
}

func (l lscpuJSON) text(indent string) string {
	var out strings.Builder
	for _, r := range l.Rows {
		out.WriteString(indent + r.Field + " " + r.Data + "\n")
		for _, c := range r.Children {
			below := lscpuJSON{}
			if json.Unmarshal([]byte(`{"lscpu":[`+string(c)+`]}`), &below) == nil && len(indent) < 8 {
				out.WriteString(below.text(indent + "  "))
			}
		}
	}
	return out.String()
}
