package storage

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

// replica is the state of one DRBD device. Where a device has several peers, the words of each are joined, equal ones
// once.
type replica struct {
	role, disk, replication, protocol string
}

func drbdStatusCommand() []string { return []string{"drbdsetup", "status", "--json"} }

func drbdShowCommand() []string { return []string{"drbdsetup", "show", "--show-defaults", "--json"} }

const drbdPath = "/proc/drbd"

// replicasOf reads all DRBD devices: of version 8.4 from /proc/drbd, of version 9 from drbdsetup. Of devices that
// neither tells, reason says why.
func replicasOf(r collect.Reader, in collect.Scope) (found map[int]replica, source, reason string) {
	text, err := r.Text(drbdPath)
	if err == nil {
		if found := parseDRBD8(text); len(found) > 0 {
			return found, drbdPath, ""
		}
	}
	source = lab.ShellQuote(drbdStatusCommand())
	if reason := cannotRun(r, "drbdsetup", "drbd-utils"); reason != "" {
		return nil, source, reason
	}
	status, show := in.Lookup(drbdStatusCommand()), in.Lookup(drbdShowCommand())
	if status.Failed != "" {
		return nil, source, status.Failed
	}
	found, err = parseDRBD9(status.Stdout, show.Stdout)
	if err != nil {
		return nil, source, "drbdsetup: its output is not the JSON that was asked for"
	}
	return found, source, "drbdsetup does not list it"
}

// parseDRBD8 reads /proc/drbd of version 8.4: connection, roles (own first), disk states (own first), protocol. Version
// 9 has only the version there.
//
//	version: 8.4.11 (api:1/proto:86-101)
//	 0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----
//	    ns:1048576 nr:0 dw:1048576 dr:2121 al:8 bm:0 lo:0 pe:0 ua:0 ap:0 ep:1 wo:f oos:0
func parseDRBD8(text string) map[int]replica {
	found := map[int]replica{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || !strings.HasSuffix(f[0], ":") {
			continue
		}
		minor, err := strconv.Atoi(strings.TrimSuffix(f[0], ":"))
		if err != nil || minor < 0 {
			continue
		}
		var r replica
		for _, word := range f[1:] {
			key, value, ok := strings.Cut(word, ":")
			own, _, _ := strings.Cut(value, "/")
			switch {
			case key == "cs":
				r.replication = value
			case key == "ro":
				r.role = own
			case key == "ds":
				r.disk = own
			case !ok && (word == "A" || word == "B" || word == "C"):
				r.protocol = word
			}
		}
		found[minor] = r
	}
	return found
}

// parseDRBD9 reads "drbdsetup status --json" and, for the protocols, "drbdsetup show --show-defaults --json".
//
//	[ { "name": "r0", "role": "Primary",
//	    "devices": [ { "volume": 0, "minor": 0, "disk-state": "UpToDate" } ],
//	    "connections": [ { "peer_devices": [ { "volume": 0, "replication-state": "Established" } ] } ] } ]
//	[ { "resource": "r0", "connections": [ { "_peer_node_id": 1, "net": { "protocol": "C" } } ] } ]
func parseDRBD9(status, show string) (map[int]replica, error) {
	var resources []struct {
		Name    string `json:"name"`
		Role    string `json:"role"`
		Devices []struct {
			Volume int    `json:"volume"`
			Minor  int    `json:"minor"`
			Disk   string `json:"disk-state"`
		} `json:"devices"`
		Connections []struct {
			State   string `json:"connection-state"`
			Devices []struct {
				Volume      int    `json:"volume"`
				Replication string `json:"replication-state"`
			} `json:"peer_devices"`
		} `json:"connections"`
	}
	if err := json.Unmarshal([]byte(status), &resources); err != nil {
		return nil, err
	}
	var settings []struct {
		Resource    string `json:"resource"`
		Connections []struct {
			Net struct {
				Protocol string `json:"protocol"`
			} `json:"net"`
		} `json:"connections"`
	}
	protocols := map[string][]string{}
	// Without it the protocols stay unknown, and everything else is still good.
	if json.Unmarshal([]byte(show), &settings) == nil {
		for _, r := range settings {
			for _, c := range r.Connections {
				if p := c.Net.Protocol; p != "" && !slices.Contains(protocols[r.Resource], p) {
					protocols[r.Resource] = append(protocols[r.Resource], p)
				}
			}
		}
	}
	found := map[int]replica{}
	for _, r := range resources {
		states := map[int][]string{}
		for _, c := range r.Connections {
			for _, d := range c.Devices {
				state := d.Replication
				if state == "Off" || state == "" {
					state = c.State // why there is no replication
				}
				if state != "" && !slices.Contains(states[d.Volume], state) {
					states[d.Volume] = append(states[d.Volume], state)
				}
			}
		}
		for _, d := range r.Devices {
			found[d.Minor] = replica{role: r.Role, disk: d.Disk, replication: strings.Join(states[d.Volume], ", "),
				protocol: strings.Join(protocols[r.Name], ", ")}
		}
	}
	return found, nil
}

// drbd are the facts of one DRBD device.
func drbd(name string, replicas map[int]replica, source, reason string) []lab.Fact {
	minor, err := strconv.Atoi(strings.TrimPrefix(name, "drbd"))
	r, ok := replicas[minor]
	var facts []lab.Fact
	for _, f := range []struct{ key, value string }{
		{"volume.drbd.protocol", r.protocol}, {"volume.drbd.role", r.role},
		{"volume.drbd.disk", r.disk}, {"volume.drbd.replication", r.replication},
	} {
		source := source
		if f.key == "volume.drbd.protocol" && source != drbdPath {
			source = lab.ShellQuote(drbdShowCommand())
		}
		switch {
		case err != nil || !ok:
			facts = append(facts, collect.Unknown(f.key, source, reason))
		case f.value == "":
			facts = append(facts, collect.Unknown(f.key, source, "it has no peer, or drbd reports nothing about it"))
		default:
			facts = append(facts, collect.Known(f.key, f.value, source))
		}
	}
	return facts
}
