// Package saved reads a machine from files that are not on it: a folder or an archive with its /proc and /sys, and the
// text that commands printed there. Texts become files below the same paths, so that the collectors of facts read them.
// Nothing can be run, and nothing is written.
package saved

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/kube/claim"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// Machine is what is known of a machine from its files and from what commands printed there.
type Machine struct {
	name  string
	files *fileTree
	// outputs are files with what commands printed, by the names that sos gives them; printed is the same of pasted
	// text, by the command.
	outputs map[string]*collect.Node
	printed map[string]string
	// told is what no file holds. In a paste it counts more than what a collector finds; in a report the machine's
	// files do.
	told *statements
	// saidBy are the texts that files were made of, which are the sources of facts, by their paths.
	saidBy map[string]string
	disks  *blockDevices
	mounts mountTable
	// now is the output that is being read.
	now block
	// machines of KubeVirt, and volumes, claims and classes of Kubernetes are what texts tell of. Facts are made of
	// them when all texts are read.
	machines []virtualMachine
	volumes  []claim.Object
	// pasted says that there is little more than a few texts, so that what is not there goes without saying.
	pasted bool
	// Unread names what was not read, with the reason.
	Unread []string
}

var _ host.Target = (*Machine)(nil)

func newMachine(name string) *Machine {
	files, told := &fileTree{collect.Tree{Root: &collect.Node{Names: map[string]*collect.Node{}}}}, &statements{}
	return &Machine{name: name, files: files, told: told, disks: &blockDevices{files: files, told: told},
		mounts: mountTable{files: files}, printed: map[string]string{}, saidBy: map[string]string{}}
}

// Name is what the user calls it.
func (m *Machine) Name() string { return m.name }

// FS is its files.
func (m *Machine) FS() fs.FS { return m.files.Tree }

// Refusal is the error of a command that needs a machine.
func Refusal(name string) error {
	return &lab.Error{Kind: lab.Refused, What: name + " is files of a machine: nothing can be run or changed there",
		Hints: []string{"headroom doctor " + name + " and headroom facts " + name + " read them",
			"to measure, name the machine: --on ssh://HOST"}}
}

// Run returns what a command printed when the files were saved.
func (m *Machine) Run(_ context.Context, argv ...string) (host.Output, error) {
	command := lab.ShellQuote(argv)
	if text, ok := m.printed[command]; ok {
		return host.Output{Stdout: []byte(text)}, nil
	}
	if n := m.outputs[mangled(strings.Join(argv, " "))]; n != nil {
		if text, err := textOf(n); err == nil {
			return host.Output{Stdout: []byte(text)}, nil
		}
	}
	return host.Output{}, &lab.Error{Kind: lab.Refused, What: "the saved files have no output of " + command}
}

// ReadFiles reads files one after the other.
func (m *Machine) ReadFiles(_ context.Context, paths ...string) (map[string]host.File, error) {
	files := make(map[string]host.File, len(paths))
	for _, p := range paths {
		data, err := m.files.ReadFile(collect.PathInFS(p))
		files[p] = host.File{Data: data, Err: err}
	}
	return files, nil
}

// Start refuses.
func (m *Machine) Start(context.Context, host.JobSpec) (host.Job, error) {
	return nil, Refusal(m.name)
}

// Facts are what the collectors find in the files. What is not there is unknown: a report has only what its maker
// chose, and a missing file says nothing about the machine.
func (m *Machine) Facts(ctx context.Context, limit time.Duration) (facts.Document, error) {
	all, err := facts.SnapshotWithin(ctx, limit, m, lab.Place{Kind: lab.NoPlace})
	if err != nil {
		return facts.Document{}, err
	}
	type id struct{ key, about string }
	known := map[id]bool{}
	told, doubted := map[id]bool{}, map[id]bool{}
	for _, f := range m.told.all {
		told[id{f.Key, f.About}] = true
		doubted[id{f.Key, f.About}] = f.Unknown != ""
	}
	kept := make([]lab.Fact, 0, len(all))
	for _, f := range all {
		if f.Unknown == "" && !m.holds(f) {
			f.Value, f.Unknown = "", notSaved
		}
		if f.Unknown == collect.Why(fs.ErrNotExist) {
			f.Unknown = notSaved
		}
		if m.pasted && strings.Contains(f.Source, "*") && says(f, catalogue.None, "off", "0") {
			continue // the text has only a part of the folder
		}
		i := id{f.Key, f.About}
		if told[i] && (m.pasted || f.Unknown != "" || doubted[i]) || m.pasted && f.Unknown != "" {
			continue
		}
		known[id{f.Key, f.About}] = true
		if by, ok := m.saidBy[f.Source]; ok {
			f.Source = by
		}
		kept = append(kept, f)
	}
	for _, f := range m.told.all {
		if !known[id{f.Key, f.About}] {
			known[id{f.Key, f.About}] = true
			kept = append(kept, f)
		}
	}
	kept = append(kept, m.unseen(kept)...)
	return facts.Document{Schema: facts.DocumentSchema, Target: m.name, Facts: kept}, nil
}

// unseen says of each kind of thing that it is unknown whether there are any, where what lists them is not there.
func (m *Machine) unseen(known []lab.Fact) (all []lab.Fact) {
	seen, reason := map[string]bool{}, notSaved
	if m.pasted {
		reason = Unsaid
	}
	for _, f := range known {
		if f.About != "" || f.Unknown != "" {
			seen[catalogue.ClassOf(f.Key)] = true
		}
	}
	for _, l := range [][2]string{{"disk", "/sys/class/block"}, {"volume", "/sys/class/block"},
		{"multipath", "/sys/class/block"}, {"nic", "/sys/class/net"}, {"pci", "/sys/bus/pci/devices"},
		{"mount", collect.MountInfoPath}, {"port", "/sys/class/infiniband"}, {"iscsi", "/sys/class/iscsi_session"},
		{"dimm", "/sys/firmware/dmi/tables"}, {"guest", "/proc/*/comm"}, {"drive", "/proc/*/comm"}} {
		found, err := fs.Glob(m.files, collect.PathInFS(l[1]))
		if seen[l[0]] || err == nil && len(found) > 0 && !(m.disks.alone && l[1] == "/sys/class/block") {
			continue
		}
		i := slices.IndexFunc(catalogue.All(), func(d catalogue.Definition) bool {
			return catalogue.ClassOf(d.Key) == l[0] && !strings.HasSuffix(d.Key, "*")
		})
		if i >= 0 {
			all = append(all, collect.Unknown(catalogue.All()[i].Key, l[1], reason))
		}
	}
	return all
}

// Unsaid is why it is unknown of a kind of thing whether there are any, where a text does not say.
const Unsaid = "the text says nothing of it"

const notSaved = "not among the saved files"

// holds reports whether a fact was read from a file that is there. Some facts say "none" because a file is missing,
// which means something on a machine only.
func (m *Machine) holds(f lab.Fact) bool {
	source, _, _ := strings.Cut(f.Source, ";")
	source, _, _ = strings.Cut(source, " (")
	if !path.IsAbs(source) || strings.ContainsAny(source, " ") {
		return true
	}
	if strings.Contains(source, "*") {
		found, err := fs.Glob(m.files, collect.PathInFS(source))
		return err == nil && len(found) > 0
	}
	if _, err := m.files.Lstat(collect.PathInFS(source)); err == nil {
		return true
	}
	return !says(f, catalogue.None, "0", "off", "no")
}

func says(f lab.Fact, values ...string) bool { return slices.Contains(values, f.Value) }

var (
	systemFolder = prose.Pattern(`^/(usr/|)s?bin/`)
	noName       = prose.Pattern(`[^\w./-]+`)
)

// mangled is the name of the file in which sos keeps what a command printed. Source: sos,
// sos/report/plugins/__init__.py (_mangle_command); Red Hat's insights-core has the same.
//
//	ethtool -k eth0                       ethtool_-k_eth0
//	/usr/sbin/dumpe2fs -h /dev/vda        dumpe2fs_-h_.dev.vda
//	lspci -nnvv                           lspci_-nnvv
func mangled(command string) string {
	name := noName().ReplaceAllString(systemFolder().ReplaceAllString(command, ""), "_")
	return strings.Trim(strings.ReplaceAll(name, "/", "."), " ._-")
}

func textOf(n *collect.Node) (string, error) {
	if n.Read != nil {
		return n.Read()
	}
	return n.Data, nil
}
