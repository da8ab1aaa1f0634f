package scripted

import "maps"

// Snapshot returns what has all files of the machine hold again what they hold now. Jobs are left alone: those that
// have ended since stay so, and only their folders are there again, as after a headroom that was killed. So a test
// looks at what a process leaves that dies at this moment, while it goes on to its end.
func (m *Machine) Snapshot() (back func()) {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	kept := m.tree.root.copied()
	return func() {
		m.tree.mu.Lock()
		defer m.tree.mu.Unlock()
		m.tree.root = kept.copied()
	}
}

// copied is a node with all that is below it. What a file holds is never changed in place, only replaced.
func (n *node) copied() *node {
	c := *n
	c.names = maps.Clone(n.names)
	for name, below := range c.names {
		c.names[name] = below.copied()
	}
	return &c
}
