package scripted

import "testing"

// A snapshot can be restored any number of times; later changes are gone.
func TestRemember(t *testing.T) {
	m := New("db1")
	back := m.Snapshot()
	for range 2 {
		m.Set("/proc/sys/vm/swappiness", "1")
		m.Set("/srv/new", "file")
		m.Remove("/tmp")
		back()
		if now := m.Get("/proc/sys/vm/swappiness"); now != "60" || m.Exists("/srv/new") || !m.Exists("/tmp") {
			t.Errorf("swappiness is %s, a new file is there: %v, /tmp is: %v", now, m.Exists("/srv/new"),
				m.Exists("/tmp"))
		}
	}
}
