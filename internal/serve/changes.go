package serve

import (
	"fmt"
	"net/http"
	"time"
)

// How often a run that has not ended is looked at, and how long nothing is said at most: what is between forgets
// connections that are silent.
const (
	lookEvery   = time.Second
	quietAtMost = 15 * time.Second
)

// follower lets browsers follow runs.
type follower struct {
	library library
	// watching bounds how many browsers do.
	watching chan struct{}
}

// mostWatching is how many browsers follow runs.
const mostWatching = 64

// changes tells a browser, as server-sent events, that a run has changed since the stamp that the browser has seen:
// "changed" with the stamp of now, and "ended" when no process carries it out any more.
// Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
//
//	event: changed
//	data: 10 1795772503549560163 80808 1795772462633558956 2026-11-27T18:20:14.251Z
func (f follower) changes(w http.ResponseWriter, r *http.Request) {
	select {
	case f.watching <- struct{}{}:
		defer func() { <-f.watching }()
	default:
		w.Header().Set("Retry-After", "60")
		refuse(w, r, http.StatusServiceUnavailable, "too many browsers follow runs")
		return
	}
	b, err := f.library.find(r.PathValue("run"))
	if err != nil {
		refuse(w, r, statusOf(err), err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	say := func(format string, a ...any) error {
		_ = out.SetWriteDeadline(time.Now().Add(2 * quietAtMost))
		if _, err := fmt.Fprintf(w, format, a...); err != nil {
			return err
		}
		return out.Flush()
	}
	seen, spoke := r.URL.Query().Get("seen"), time.Now()
	for {
		stamp, err := f.library.stamp(b)
		switch {
		case err != nil || !b.Whole().Active():
			_ = say("event: ended\ndata: %s\n\n", stamp)
			return
		case stamp != seen:
			if say("event: changed\ndata: %s\n\n", stamp) != nil {
				return
			}
			seen, spoke = stamp, time.Now()
		case time.Since(spoke) > quietAtMost:
			if say(": still here\n\n") != nil {
				return
			}
			spoke = time.Now()
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(lookEvery):
		}
	}
}
