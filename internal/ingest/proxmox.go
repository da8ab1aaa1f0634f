package ingest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// proxmoxMigration reads the log of a task of Proxmox VE that moved a running guest to another node:
//
//	2024-12-08 04:38:18 use dedicated network address for sending migration traffic (10.111.1.202)
//	2024-12-08 04:38:21 migration active, transferred 656.7 MiB of 8.0 GiB VM-state, 813.8 MiB/s
//	2024-12-08 04:38:27 average migration speed: 1.1 GiB/s - downtime 86 ms
//
// The first line exists only if the cluster's options name a network for it. The average counts pages of zeros, which
// are not sent, so it is not a speed of the network. Source: QemuMigrate.pm of qemu-server, and the log of a field
// report; the fixtures are modelled on it.
func proxmoxMigration() Importer {
	return Importer{
		Name:  "proxmox",
		Title: "the log of a migration by Proxmox VE",
		Units: "KiB, MiB and GiB are binary; ms",
		Sniff: func(_ string, head []byte) bool {
			return headHas(head, " starting migration of VM ", " to node '")
		},
		read: readProxmoxMigration,
	}
}

var (
	taskLine        = prose.Pattern(`^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (.*)$`)
	migrationBegins = prose.Pattern(`^starting migration of VM (\d+) to node '([^']*)'(?: \(([^)]*)\))?`)
	migrationOver   = prose.Pattern(`^use dedicated network address for sending migration traffic \(([^)]*)\)`)
	migrationActive = prose.Pattern(
		`^migration active, transferred ([0-9.]+ [KMGT]?i?B) of ([0-9.]+ [KMGT]?i?B) VM-state, ([0-9.]+ [KMGT]?i?B)/s`)
	migrationSpeed = prose.Pattern(`^average migration speed: .* - downtime (\d+) ms`)
	migrationEnds  = prose.Pattern(`finished (successfully|with problems) \(duration (\d+):(\d\d):(\d\d)\)`)
)

func readProxmoxMigration(f file, d *runBuilder) error {
	m := measurement{job: "migration", engine: "proxmox", params: map[string]string{},
		repetition: lab.Repetition{Values: map[string]float64{}}}
	var speeds speedLog
	var fault, network string
	for line := range strings.Lines(string(f.data)) {
		parts := taskLine().FindStringSubmatch(strings.TrimSpace(line))
		if parts == nil {
			continue // "TASK OK"
		}
		at, err := time.Parse(time.DateTime, parts[1]) // the node's local time, without its zone
		if err != nil {
			continue
		}
		text := parts[2]
		if p := migrationBegins().FindStringSubmatch(text); p != nil && m.repetition.Start.IsZero() {
			m.repetition.Start = at
			m.params["vm"] = p[1]
			m.facts = append(m.facts, lab.Fact{Key: "migration.node", Value: p[2], Source: f.name})
		}
		if p := migrationOver().FindStringSubmatch(text); p != nil {
			network = p[1]
			m.facts = append(m.facts, lab.Fact{Key: "migration.network", Value: network, Source: f.name})
		}
		if p := migrationActive().FindStringSubmatch(text); p != nil {
			speed, err := unit.ParseIEC(p[3])
			if err != nil {
				return fmt.Errorf("%q is no speed: %w", p[3], err)
			}
			m.params["memory"] = withoutSpace(p[2])
			speeds.add(at, 8*speed)
		}
		if p := migrationSpeed().FindStringSubmatch(text); p != nil {
			ms, err := strconv.ParseFloat(p[1], 64)
			if err != nil {
				return err
			}
			m.repetition.Values[lab.Downtime] = ms / 1000
		}
		if printed, found := strings.CutPrefix(text, "ERROR: "); found && fault == "" {
			fault = printed
		}
		if p := migrationEnds().FindStringSubmatch(text); p != nil {
			took := 0.0
			for _, s := range p[2:] {
				n, err := strconv.ParseFloat(s, 64)
				if err != nil {
					return err
				}
				took = 60*took + n
			}
			m.repetition.Seconds, m.ended = took, at
			if p[1] == "successfully" {
				m.repetition.Values["elapsed"] = took
			}
		}
	}
	if m.repetition.Start.IsZero() {
		return errors.New("expected the log of a migration, found no line with its start")
	}
	if s, mean := speeds.series(); len(s.Values) > 0 {
		m.repetition.Series = []lab.Series{s}
		m.repetition.Values[s.Metric] = mean
	}
	m.repetition.Warnings = migrationWarnings(network, fault)
	return d.add(m)
}

// migrationWarnings returns the warnings about a migration, and about its network.
func migrationWarnings(network, fault string) []lab.Warning {
	var all []lab.Warning
	if fault != "" {
		all = append(all, lab.Warning{Code: "migration-failed", Taints: []string{"*"}, Text: "the migration failed: " +
			fault})
	}
	if network == "" {
		all = append(all, lab.Warning{Code: "migration-network", Taints: []string{},
			Text: "the log names no dedicated network, so the memory went over the network of the node's own name, " +
				"which is the management's as a rule; to have it go over the storage's: Datacenter, Options, " +
				"Migration Settings"})
	}
	return all
}

func withoutSpace(text string) string { return strings.ReplaceAll(text, " ", "") }

// speedLog are the speeds in a log, by the second.
type speedLog struct {
	first time.Time
	last  int
	bits  map[int]float64
}

// maxLogSeconds is the maximum length of a series: a day.
const maxLogSeconds = 86400

func (l *speedLog) add(at time.Time, bits float64) {
	if l.bits == nil {
		l.first, l.bits = at, map[int]float64{}
	}
	if i := int(at.Sub(l.first).Seconds()); i >= 0 && i < maxLogSeconds {
		l.bits[i], l.last = bits, max(l.last, i)
	}
}

// series returns a value for each second. A second that the log omits has the speed of the next line, which is the mean
// since the line before.
func (l *speedLog) series() (s lab.Series, mean float64) {
	if len(l.bits) == 0 {
		return s, 0
	}
	s = lab.Series{Metric: lab.Bitrate(lab.Send), Interval: 1, Values: make([]float64, l.last+1)}
	next := 0.0
	for i := l.last; i >= 0; i-- {
		if v, printed := l.bits[i]; printed {
			next = v
		}
		s.Values[i] = next
		mean += next / float64(l.last+1)
	}
	return s, mean
}
