package serve

import (
	"errors"
	"maps"
	"sync"
	"time"
)

// remembered is what takes long to make of runs, by a name, each with the stamp of the store that it was made at. It is
// made again when the stamp is another.
type remembered[V any] struct {
	mu    sync.Mutex
	known map[string]*made[V]
}

// made is a value that is there, or with an error is not, when ready is closed.
type made[V any] struct {
	stamp string
	used  time.Time
	ready chan struct{}
	value V
	err   error
}

// of is what is known by a name at a stamp; where that is nothing it is made, once for all who ask meanwhile. An error
// is not remembered.
func (r *remembered[V]) of(name, stamp string, value func() (V, error)) (V, error) {
	m, known := r.look(name, stamp)
	if !known {
		func() {
			defer close(m.ready)
			m.err = errors.New("it could not be made") // should value panic
			m.value, m.err = value()
		}()
	}
	<-m.ready
	if m.err != nil {
		r.forget(name, m)
	}
	return m.value, m.err
}

// look is what is known by a name, or is to be made now by whoever asks.
func (r *remembered[V]) look(name, stamp string) (m *made[V], known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m = r.known[name]; m != nil && m.stamp == stamp {
		m.used = time.Now()
		return m, true
	}
	if r.known == nil {
		r.known = map[string]*made[V]{}
	}
	m = &made[V]{stamp: stamp, used: time.Now(), ready: make(chan struct{})}
	r.known[name] = m
	return m, false
}

func (r *remembered[V]) forget(name string, m *made[V]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[name] == m {
		delete(r.known, name)
	}
}

// keep forgets what has another name than some.
func (r *remembered[V]) keep(some func(name string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.known, func(name string, _ *made[V]) bool { return !some(name) })
}

// keepMost forgets what was used longest ago until so many are left.
func (r *remembered[V]) keepMost(most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.known) > most {
		oldest, at := "", time.Now()
		for name, m := range r.known {
			if oldest == "" || m.used.Before(at) {
				oldest, at = name, m.used
			}
		}
		delete(r.known, oldest)
	}
}
