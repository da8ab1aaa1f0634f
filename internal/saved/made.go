package saved

import (
	"path"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/lab"
)

// fileTree are the files of a machine, and those that are made of texts.
type fileTree struct{ collect.Tree }

// put places a node unless the machine's own is there. Links on the way are followed.
func (t *fileTree) put(name string, n *collect.Node) {
	if _, err := t.Lstat(collect.PathInFS(name)); err == nil {
		return
	}
	r := collect.Reader{FS: t}
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if full, err := r.Resolve(dir); err == nil {
			name = full + strings.TrimPrefix(name, dir)
			break
		}
	}
	t.Put(name, n)
}

// file places a text below a path.
func (t *fileTree) file(name, text string) { t.put(name, &collect.Node{Data: text}) }

// link places a symbolic link.
func (t *fileTree) link(name, to string) { t.put(name, collect.LinkTo(to)) }

// folder places an empty folder.
func (t *fileTree) folder(name string) { t.put(name, &collect.Node{Names: map[string]*collect.Node{}}) }

// driver gives a device its link to a driver. On which bus that is, the link's name does not say to any reader.
func (t *fileTree) driver(device, name string) {
	to := "/sys/drivers/" + path.Base(name)
	t.folder(to)
	t.link(device+"/driver", to)
}

// statements are facts that a text says and no file holds, and facts that are unknown for a reason that no collector
// sees.
type statements struct{ all []lab.Fact }

// add adds facts that no file holds, about a thing or about the machine.
func (s *statements) add(about string, all ...lab.Fact) {
	s.all = append(s.all, collect.About(about, all...)...)
}

// addUnsaid adds that facts of a disk are unknown which no text says.
func (s *statements) addUnsaid(disk string, keys ...string) {
	for _, key := range keys {
		if !slices.ContainsFunc(s.all, func(f lab.Fact) bool { return f.Key == key && f.About == disk }) {
			s.add(disk, collect.Unknown(key, storage.Class(disk), Unsaid))
		}
	}
}
