// Package saved reads a machine from files that are not on it: a folder or an archive with its /proc and /sys, and the
// text that commands printed there. Texts become files below the same paths, so that the collectors of facts read them.
// Nothing can be run, and nothing is written.
package saved

import (
	"context"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/kube/claim"
	"github.com/headroom/headroom/internal/lab"
)

// Machine is what is known of a machine from its files and from what commands printed there.
type Machine struct {
	name  string
	files collect.Tree
	// outputs are files with what commands printed, by the names that sos gives them; printed is the same of pasted
	// text, by the command.
	outputs map[string]*collect.Node
	printed map[string]string
	// told are facts that a text says and no file holds, and facts that are unknown for a reason that no collector
	// sees. In a paste they count more than a collector's; in a report the machine's files do.
	told []lab.Fact
	// saidBy are the texts that files were made of, which are the sources of facts, by their paths.
	saidBy map[string]string
	// mounted is the table of mounts that texts make, where the machine's own is not there.
	mounted *collect.Node
	// now is the output that is being read.
	now block
	// made are the block devices, without partitions, that texts tell of and that the machine's files do not have;
	// alone says that these files have none. later is what waits until all texts are read.
	made  map[string]bool
	alone bool
	later []ofDisk
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
	return &Machine{name: name, files: collect.Tree{Root: &collect.Node{Names: map[string]*collect.Node{}}},
		printed: map[string]string{}, saidBy: map[string]string{}}
}

// Name is what the user calls it.
func (m *Machine) Name() string { return m.name }

// FS is its files.
func (m *Machine) FS() fs.FS { return m.files }

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
	for _, f := range m.told {
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
	for _, f := range m.told {
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
		if seen[l[0]] || err == nil && len(found) > 0 && !(m.alone && l[1] == "/sys/class/block") {
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

// put places a node unless the machine's own is there. Links on the way are followed.
func (m *Machine) put(name string, n *collect.Node) {
	if _, err := m.files.Lstat(collect.PathInFS(name)); err == nil {
		return
	}
	r := collect.Reader{FS: m.files}
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if full, err := r.Resolve(dir); err == nil {
			name = full + strings.TrimPrefix(name, dir)
			break
		}
	}
	m.files.Put(name, n)
}

// file places a text below a path.
func (m *Machine) file(name, text string) { m.put(name, &collect.Node{Data: text}) }

// link places a symbolic link.
func (m *Machine) link(name, to string) { m.put(name, collect.LinkTo(to)) }

// folder places an empty folder.
func (m *Machine) folder(name string) { m.put(name, &collect.Node{Names: map[string]*collect.Node{}}) }

// driver gives a device its link to a driver. On which bus that is, the link's name does not say to any reader.
func (m *Machine) driver(device, name string) {
	to := "/sys/drivers/" + path.Base(name)
	m.folder(to)
	m.link(device+"/driver", to)
}

// tell adds facts that no file holds, about a thing or about the machine.
func (m *Machine) tell(about string, all ...lab.Fact) {
	m.told = append(m.told, collect.About(about, all...)...)
}

var (
	systemFolder = regexp.MustCompile(`^/(usr/|)s?bin/`)
	noName       = regexp.MustCompile(`[^\w./-]+`)
)

// mangled is the name of the file in which sos keeps what a command printed. Source: sos,
// sos/report/plugins/__init__.py (_mangle_command); Red Hat's insights-core has the same.
//
//	ethtool -k eth0                       ethtool_-k_eth0
//	/usr/sbin/dumpe2fs -h /dev/vda        dumpe2fs_-h_.dev.vda
//	lspci -nnvv                           lspci_-nnvv
func mangled(command string) string {
	name := noName.ReplaceAllString(systemFolder.ReplaceAllString(command, ""), "_")
	return strings.Trim(strings.ReplaceAll(name, "/", "."), " ._-")
}

func textOf(n *collect.Node) (string, error) {
	if n.Read != nil {
		return n.Read()
	}
	return n.Data, nil
}
