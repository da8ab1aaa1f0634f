package app

import (
	"slices"
	"strings"
	"sync"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// OtherRuns are the runs that other processes were carrying out when a command first looked.
type OtherRuns struct {
	once   sync.Once
	active []*store.Bundle

	mu sync.Mutex
	// told are the runs that the user was told about.
	told []string
}

// In returns the runs in a store. It looks once, before the command begins a run.
func (o *OtherRuns) In(s *store.Store) []*store.Bundle {
	o.once.Do(func() { o.active = s.Active() })
	return o.active
}

// FirstTold notes that the user is told about a run, and reports whether it is for the first time.
func (o *OtherRuns) FirstTold(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if slices.Contains(o.told, id) {
		return false
	}
	o.told = append(o.told, id)
	return true
}

// StartedRuns are the runs that a command has begun.
type StartedRuns struct {
	mu      sync.Mutex
	ids     []string
	savedIn *store.Store
}

// Add notes a run that is carried out, to be named when its clean-up is cut short.
func (r *StartedRuns) Add(s *store.Store, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids, r.savedIn = append(r.ids, id), s
}

// unfinished names the runs that have not ended; none that can't be listed now, which restore finds all the same.
func (r *StartedRuns) unfinished() string {
	r.mu.Lock()
	ids, s := slices.Clone(r.ids), r.savedIn
	r.mu.Unlock()
	if s == nil {
		return ""
	}
	rows, _ := s.List()
	var left []string
	for _, row := range rows {
		if row.Status == lab.Running && slices.Contains(ids, row.ID) {
			left = append(left, "run "+s.ShortID(row.ID))
		}
	}
	return strings.Join(left, " and ")
}
