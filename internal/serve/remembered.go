package serve

import (
	"maps"
	"sync"
	"time"
)

// remembered is what takes long to make of runs, by a name, each with the stamp of the store that it was made at. It is
// made again when the stamp is another.
type remembered[V any] struct {
	mu    sync.Mutex
	known map[string]made[V]
}

type made[V any] struct {
	stamp      string
	made, used time.Time
	value      V
}

// of is what is known by a name at a stamp; where that is nothing it is made. An error is not remembered.
func (r *remembered[V]) of(name, stamp string, make func() (V, error)) (V, error) {
	if value, ok := r.look(name, stamp); ok {
		return value, nil
	}
	value, err := make() // others may make the same meanwhile
	if err == nil {
		r.add(name, stamp, value)
	}
	return value, err
}

func (r *remembered[V]) look(name, stamp string) (value V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.known[name]
	if !ok || m.stamp != stamp {
		return value, false
	}
	m.used = time.Now()
	r.known[name] = m
	return m.value, true
}

func (r *remembered[V]) add(name, stamp string, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[string]made[V]{}
	}
	r.known[name] = made[V]{stamp, time.Now(), time.Now(), value}
}

// keep forgets what has another name than some.
func (r *remembered[V]) keep(some func(name string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.known, func(name string, _ made[V]) bool { return !some(name) })
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
