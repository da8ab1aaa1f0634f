package scripted

import (
	"io/fs"
	"path"
	"strings"
)

// settingLocks is the folder with root's locks: symbolic links to the holder's name.
const settingLocks = "/run/headroom/settings"

// lockSettings makes missing locks, and prints those that it made and all of the given names.
func (m *Machine) lockSettings(holder string, names []string) Output {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	folder := m.tree.folder(settingLocks)
	made, locks := "", ""
	for _, name := range names {
		full := path.Join(settingLocks, name)
		if folder.names[name] == nil {
			n := m.tree.make(fs.ModeSymlink | 0o777)
			n.link = holder
			folder.names[name] = n
			made += "made " + full + "\n"
		}
		locks += "lock " + full + " " + folder.names[name].link + "\n"
	}
	return Output{Stdout: made + locks}
}

// unlockSettings removes the locks of holders with a prefix, and then the folders if they are empty.
func (m *Machine) unlockSettings(holder string) {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	folder := m.tree.folder(settingLocks)
	for name, n := range folder.names {
		if strings.HasPrefix(n.link, holder) {
			delete(folder.names, name)
		}
	}
	for _, name := range []string{settingLocks, path.Dir(settingLocks)} {
		if len(m.tree.folder(name).names) == 0 {
			delete(m.tree.folder(path.Dir(name)).names, path.Base(name))
		}
	}
}
