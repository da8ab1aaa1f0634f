package scripted

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Snapshot returns a function that restores all files and mounts of the machine. Jobs are unaffected: jobs that have
// ended since stay ended, and only their folders are restored, as after a headroom that was killed. So a test can
// examine what a process would leave if it died at this moment, while the process continues to its end.
func (m *Machine) Snapshot() (back func()) {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	kept, mounts := m.tree.root.copied(), m.Mounts()
	return func() {
		m.mu.Lock()
		m.mounts = slices.Clone(mounts)
		m.mu.Unlock()
		m.tree.mu.Lock()
		m.tree.root = kept.copied()
		m.tree.mu.Unlock()
		if m.Network != nil {
			for _, other := range m.Network.machines {
				other.showMounts()
			}
		}
	}
}

// showMounts updates the points of all mounts to the servers' current content, as after one of them was restored.
func (m *Machine) showMounts() {
	for _, n := range m.Mounts() {
		n.Server.tree.mu.Lock()
		export, _, err := n.Server.tree.find(n.Path, true)
		n.Server.tree.mu.Unlock()
		if err != nil {
			continue
		}
		m.tree.mu.Lock()
		m.tree.put(n.Point, export)
		m.tree.mu.Unlock()
	}
}

// copied returns a copy of a node and everything below it. File contents are never changed in place, only replaced.
func (n *node) copied() *node {
	c := *n
	c.names = maps.Clone(n.names)
	for name, below := range c.names {
		c.names[name] = below.copied()
	}
	return &c
}

// Contents returns the persistent content of the machine: files, links and folders by their paths, without computed
// files of the kernel. Comparing two results shows what was changed in between.
func (m *Machine) Contents() map[string]string {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	all := map[string]string{}
	m.tree.root.list("", all)
	return all
}

// list adds a node and everything below it.
func (n *node) list(name string, all map[string]string) {
	switch {
	case n.now != nil:
	case n.mode.IsDir():
		all[name+"/"] = ""
		for below, node := range n.names {
			node.list(name+"/"+below, all)
		}
	case n.link != "":
		all[name] = "-> " + n.link
	case n.mode&fs.ModeDevice == 0:
		all[name] = fmt.Sprintf("%s (%d)", strings.TrimSpace(string(n.data)), max(n.size-int64(len(n.data)), 0))
	}
}
