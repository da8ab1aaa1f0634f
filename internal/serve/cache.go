package serve

import (
	"errors"
	"maps"
	"sync"
	"time"
)

// cache has what takes long to make of runs, by a name, each with the stamp of the store that it was made at. It is
// made again when the stamp is another.
type cache[V any] struct {
	mu    sync.Mutex
	known map[string]*cached[V]
}

// cached is a value that is there, or with an error is not, when ready is closed.
type cached[V any] struct {
	stamp string
	used  time.Time
	ready chan struct{}
	value V
	err   error
}

// get is what is known by a name at a stamp; where that is nothing it is made, once for all who ask meanwhile. An error
// is not kept.
func (c *cache[V]) get(name, stamp string, value func() (V, error)) (V, error) {
	m, known := c.look(name, stamp)
	if !known {
		func() {
			defer close(m.ready)
			m.err = errors.New("it could not be made") // should value panic
			m.value, m.err = value()
		}()
	}
	<-m.ready
	if m.err != nil {
		c.forget(name, m)
	}
	return m.value, m.err
}

// look returns the value that is known by a name, or a new one that whoever asks must make now.
func (c *cache[V]) look(name, stamp string) (m *cached[V], known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m = c.known[name]; m != nil && m.stamp == stamp {
		m.used = time.Now()
		return m, true
	}
	if c.known == nil {
		c.known = map[string]*cached[V]{}
	}
	m = &cached[V]{stamp: stamp, used: time.Now(), ready: make(chan struct{})}
	c.known[name] = m
	return m, false
}

func (c *cache[V]) forget(name string, m *cached[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[name] == m {
		delete(c.known, name)
	}
}

// keep forgets what has another name than some.
func (c *cache[V]) keep(some func(name string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.known, func(name string, _ *cached[V]) bool { return !some(name) })
}

// keepMost forgets what was used longest ago until so many are left.
func (c *cache[V]) keepMost(most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.known) > most {
		oldest, at := "", time.Now()
		for name, m := range c.known {
			if oldest == "" || m.used.Before(at) {
				oldest, at = name, m.used
			}
		}
		delete(c.known, oldest)
	}
}
