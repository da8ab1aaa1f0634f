package saved

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// Scheme is what names of saved machines begin with.
const Scheme = "dir:"

// Open reads a machine from a folder or an archive. Below an archive, the path of a folder inside may follow.
func Open(name string) (*Machine, error) {
	at := filepath.Clean(strings.TrimPrefix(name, Scheme))
	inner := ""
	info, err := os.Stat(at)
	for errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		parent := filepath.Dir(at)
		if parent == at || parent == "." {
			return nil, &lab.Error{Kind: lab.Usage, What: "there is no " + name, Err: err}
		}
		inner = path.Join(filepath.Base(at), inner)
		at = parent
		if info, err = os.Stat(at); err == nil && info.IsDir() {
			return nil, &lab.Error{Kind: lab.Usage, What: "there is no " + inner + " in " + at}
		}
	}
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: "can't read " + name, Err: err}
	}
	if info.IsDir() {
		root, err := os.OpenRoot(at)
		if err != nil {
			return nil, &lab.Error{Kind: lab.Usage, What: "can't read " + name, Err: err}
		}
		return open(name, collect.Tree{Root: folderNode(root, ".")}, nil)
	}
	if !info.Mode().IsRegular() {
		return nil, &lab.Error{Kind: lab.Usage, What: name + " is neither a folder nor a file"}
	}
	f, err := os.Open(at)
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: "can't read " + name, Err: err}
	}
	defer f.Close()
	return fromArchive(name, inner, f, info.Size())
}

// Bytes reads a machine from an archive that is in memory.
func Bytes(name string, data []byte) (*Machine, error) {
	return fromArchive(name, "", bytes.NewReader(data), int64(len(data)))
}

func fromArchive(name, inner string, from io.ReaderAt, size int64) (*Machine, error) {
	if !IsArchive(from) {
		return nil, &lab.Error{Kind: lab.Usage, What: name + " is neither a folder nor an archive of files",
			Hints: []string{"archives are tar, tar.gz, tar.xz, tar.bz2, tar.zst and zip",
				"the text of a command is read without " + Scheme + ": headroom doctor FILE"}}
	}
	k, err := readArchive(from, size)
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: "can't unpack " + name, Err: err,
			Hints: []string{"fetch it again; it is cut off or damaged"}}
	}
	if inner != "" {
		n, err := k.tree.Folder(collect.PathInFS(inner))
		if err != nil {
			return nil, &lab.Error{Kind: lab.Usage, What: "there is no folder " + inner + " in " +
				strings.TrimSuffix(name, "/"+inner)}
		}
		k.tree = collect.Tree{Root: n}
	}
	return open(name, k.tree, k.unread)
}

// open finds the machine in a tree and reads its texts.
func open(name string, t collect.Tree, unread []string) (*Machine, error) {
	found := roots(t)
	switch {
	case len(found) == 0:
		what := name + " holds no files of a machine that can be read"
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			what = name + " is a folder without a run.json, so it is no run, and holds no files of a machine"
		}
		return nil, &lab.Error{Kind: lab.Usage, What: what,
			Hints: []string{"what does has a folder proc/, sys/ or sos_commands/, or texts named after commands: dmesg, " +
				"lscpu, lspci, sysctl"}}
	case len(found) > 1:
		hints := make([]string, 0, len(found))
		for _, f := range found[:min(len(found), 8)] {
			hints = append(hints, Scheme+strings.TrimPrefix(name, Scheme)+"/"+f)
		}
		return nil, &lab.Error{Kind: lab.Usage, What: name + " holds " + prose.Count(len(found), "machine"),
			Hints: []string{"name one: " + strings.Join(hints, ", "), "headroom doctor takes several at once"}}
	}
	m := newMachine(name)
	m.Unread = unread
	n, err := t.Folder(found[0])
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: "can't read " + name, Err: err}
	}
	m.files.Root = n
	m.readSnapshot()
	m.readReport()
	return m, nil
}

// How far roots looks for machines.
const (
	maxDepth   = 7
	maxFolders = 4096
)

var reportFile = prose.Pattern(
	`^(dmesg|lscpu|lspci|sysctl|mount|numactl|nfsstat|uname|proc_cmdline|cmdline|cpuinfo|meminfo|ethtool|lsblk|` +
		`nvme|smartctl|multipath|basic-environment|sysstats|sysinfo)(\W|_|$)`)

// sections are the texts of supportconfig and of crm report that have outputs and files that facts are read from. Those
// that must-gather has of ethtool are about the pod that ran it.
var (
	sections = prose.Pattern(`^(boot|env|fs-diskio|fs-softraid|hardware|memory|network|nfs|proc|gfs2|ocfs2)\.txt$`)
	ofPod    = prose.Pattern(`^ethtool_(features|channels)$`)
)

// roots are the folders that hold a machine's files, the closest to the top: those with proc, sys or sos_commands
// below, and where there are none those with the output of commands, as must-gather and Talos have a folder for each
// node.
func roots(t collect.Tree) []string {
	var found, texts []string
	seen := 0
	level := []string{"."}
	for range maxDepth {
		var next []string
		for _, dir := range level {
			if seen++; seen > maxFolders {
				return append(found, texts...)
			}
			entries, err := t.ReadDir(dir)
			if err != nil {
				continue
			}
			is := func(e fs.DirEntry) bool {
				return e.IsDir() && slices.Contains([]string{"proc", "sys", "sos_commands"}, e.Name())
			}
			if slices.ContainsFunc(entries, is) {
				found = append(found, dir)
				continue
			}
			if slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
				return e.Type().IsRegular() && reportFile().MatchString(e.Name())
			}) {
				texts = append(texts, dir)
				continue
			}
			for _, e := range entries {
				if below := path.Join(dir, e.Name()); e.IsDir() && !needless().MatchString(below+"/") {
					next = append(next, below)
				}
			}
		}
		level = next
	}
	if len(found) == 0 {
		return texts
	}
	return found
}

// maxTexts is how many outputs of commands are looked at.
const maxTexts = 4096

// typedAs are the words of the command that printed a file of a report, as mangled has them.
//
//	nvme_smart-log_.dev.nvme0n1           nvme smart-log /dev/nvme0n1
func typedAs(base string) []string {
	words := strings.Split(base, "_")
	for i, w := range words {
		words[i] = strings.Replace(w, ".dev.", "/dev/", 1)
	}
	return words
}

// readReport reads the outputs of commands that lie beside the files: those of sos in sos_commands/PLUGIN/, and texts
// that are named after what printed them.
func (m *Machine) readReport() {
	m.completeLinks()
	m.partitions()
	m.outputs = map[string]*collect.Node{}
	adapters := collect.Reader{FS: m.files}.Exists(network.NetDir)
	other := 0
	for _, pattern := range []string{"sos_commands/*", "sos_commands/*/*", "*"} {
		names, _ := fs.Glob(m.files, pattern)
		for _, name := range names[:min(len(names), maxTexts)] {
			info, err := m.files.Lstat(name)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			n, err := m.files.Node(name)
			if err != nil {
				continue
			}
			base := path.Base(name)
			m.outputs[base] = n
			// An adapter's own files say more than ethtool, whose output is read where a fact asks for it.
			if base == snapshotFile {
				continue
			}
			if !reportFile().MatchString(base) && !sections().MatchString(base) || ofPod().MatchString(base) ||
				adapters && strings.HasPrefix(base, "ethtool") {
				other++
				continue
			}
			text, err := textOf(n)
			if err != nil {
				m.Unread = append(m.Unread, name+": "+err.Error())
				continue
			}
			if read, _ := m.take(text, typedAs(base)); len(read) == 0 {
				other++
			}
		}
	}
	m.completeLinks() // of what the texts had
	m.partitions()
	for _, name := range []string{"proc/mounts", "proc/self/mounts"} {
		if text, err := m.files.ReadFile(name); err == nil {
			readMounts(m, string(text)) // where the better table is not there
		}
	}
	m.disks.finish(m.pasted)
	m.finishKubernetes()
	m.readTalosResources()
	m.describeAdapters()
	if other > 0 {
		m.Unread = append(m.Unread, prose.Count(other, "other text")+
			" of commands, which are read only where a fact asks for exactly that command")
	}
}
