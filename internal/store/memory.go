package store

import "sync"

// Memory is the index of a store in a process that lists runs again and again. In a store that is read-only, or that
// others can change, there is no file with the index, and each list would read all bundles. The zero value is empty.
type Memory struct {
	mu    sync.Mutex
	known map[string]entry // replaced, never changed
}

// entries returns the entries of the last list, by the IDs of their runs. It returns nil before the first list.
func (m *Memory) entries() map[string]entry {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known
}

func (m *Memory) keep(entries []entry) {
	if m == nil {
		return
	}
	known := make(map[string]entry, len(entries))
	for _, e := range entries {
		known[e.ID] = e
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = known
}
