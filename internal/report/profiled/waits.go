package profiled

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/profile"
)

// Waits are the times in which threads of the load were off the CPU.
type Waits struct {
	// Seconds of all recorded threads: two threads for a second are two.
	Seconds float64 `json:"thread_seconds"`
	Lost    uint64  `json:"lost"`
	// Stacks in which they waited, the longest first.
	Stacks []Wait `json:"stacks"`
}

// Wait is one stack in which threads waited.
type Wait struct {
	Task string `json:"task"`
	// Frames from the outermost to the function in which the thread left the CPU.
	Frames []string `json:"frames"`
	Count  uint64   `json:"count"`
	// Seconds in total, and their Share of the time of all threads.
	Seconds float64 `json:"seconds"`
	Share   float64 `json:"share"`
}

func waitsOf(loads []profile.Load) *Waits {
	var w *Waits
	byKey := map[string]*Wait{}
	for _, l := range loads {
		if l.Failed != "" || l.Waits == nil {
			continue
		}
		if w == nil {
			w = &Waits{}
		}
		w.Seconds += float64(l.Waits.Seconds * float64(l.Waits.Threads))
		w.Lost += l.Waits.Lost
		for _, s := range l.Waits.Stacks {
			key := s.Task + "\x00" + strings.Join(s.Frames, "\x00")
			if byKey[key] == nil {
				byKey[key] = &Wait{Task: s.Task, Frames: s.Frames}
			}
			byKey[key].Count += s.Count
			byKey[key].Seconds += s.Seconds
		}
	}
	if w == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		wait := *byKey[key]
		if w.Seconds > 0 {
			wait.Share = wait.Seconds / w.Seconds
		}
		w.Stacks = append(w.Stacks, wait)
	}
	slices.SortStableFunc(w.Stacks, func(a, b Wait) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return w
}
