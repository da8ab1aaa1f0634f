package serve

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report/runs"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/visible"
)

// Options of a server.
type Options struct {
	App *app.App
	// Store has the runs.
	Store *store.Store
	// Token is what whoever asks must know; empty where everybody may read who reaches the address.
	Token string
	// Hosts are the names under which the address may be asked for, "localhost:8765". A page from elsewhere whose name
	// was made to lead here has another. Nil allows any: a token keeps such a page out.
	Hosts []string
	// TLS says that connections are encrypted.
	TLS bool
}

// Server answers requests.
type Server struct {
	Options
	pages *template.Template
	// Each kind of page has turns of its own, so that none waits for another.
	light, heavy, scrapes turns
	// open are the connections of Serve.
	open connections
	// watching bounds how many browsers follow runs.
	watching chan struct{}
	// rendered is what Prometheus was told of runs, by their IDs.
	rendered cache[*runs.Families]
	// histories are those that were looked at last.
	histories cache[followedHistory]
}

// mostWatching is how many browsers follow runs.
const mostWatching = 64

// New makes a server.
func New(o Options) (*Server, error) {
	pages, err := parsePages()
	return &Server{Options: o, pages: pages, light: newTurns(lightWorkers, lightWaiting),
		heavy: newTurns(heavyWorkers, heavyWaiting), scrapes: newTurns(scrapeWorkers, scrapeWaiting),
		watching: make(chan struct{}, mostWatching)}, err
}

// Handler answers all requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page(s.light, s.runs))
	mux.HandleFunc("GET /runs/{run}", s.page(s.heavy, s.run))
	mux.HandleFunc("GET /runs/{run}/changes", s.changes)
	mux.HandleFunc("GET /runs/{run}/cells/{cell}", s.page(s.heavy, s.overTime))
	mux.HandleFunc("GET /compare", s.page(s.heavy, s.comparison))
	s.historyRoutes(mux)
	s.machineRoutes(mux)
	s.profileRoutes(mux)
	s.apiRoutes(mux)
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.Handle("GET /static/{file}", staticFiles())
	mux.HandleFunc("GET /", s.page(s.light, func(*http.Request) (page, error) {
		return page{}, notFound{"there is no such page", ""}
	}))
	return s.guard(mux)
}

// page is what a template fills in below the navigation.
type page struct {
	Title string
	// Template names the one for the page's own part, which gets Data.
	Template string
	Data     any
	// Changes is where the browser hears that the page has changed; empty where it doesn't.
	Changes string
	// Section of the navigation that the page belongs to.
	Section string
}

// notFound is what an address gets that leads nowhere, with where to look.
type notFound struct{ what, hint string }

func (e notFound) Error() string { return e.what }

// page answers with a page that is made for a request, or with one that says what is wrong.
func (s *Server) page(t turns, of func(*http.Request) (page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t.answer(w, r, content{"text/html; charset=utf-8", func() ([]byte, error) {
			p, err := of(r)
			if err != nil {
				return nil, err
			}
			return s.filledIn(p)
		}, func(err error) []byte {
			body, err := s.filledIn(errorPage(err))
			if err != nil {
				return []byte("the page can't be made")
			}
			return body
		}})
	}
}

// filledIn is a page as it is sent. What turns the direction of writing, or speaks to a terminal, is shown instead.
func (s *Server) filledIn(p page) ([]byte, error) {
	var body bytes.Buffer
	err := s.pages.ExecuteTemplate(&body, "page", layout{p})
	return []byte(visible.Text(body.String())), err
}

// sendLimit is how long a client may take to read an answer on a connection that it may keep.
const sendLimit = 2 * time.Minute

func send(w http.ResponseWriter, r *http.Request, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store") // it may be about to change, and is for whoever knows the token
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	limit := sendLimit
	if w.Header().Get("Connection") == "close" {
		limit = hurriedLimit
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// statusOf is how HTTP calls an error.
func statusOf(err error) int {
	_, missing := errors.AsType[notFound](err)
	_, noTurn := errors.AsType[busy](err)
	switch {
	case missing:
		return http.StatusNotFound
	case noTurn:
		return http.StatusServiceUnavailable
	case lab.KindOf(err) == lab.Usage:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// saidOf is an error as it is said: what is wrong, and what to try.
func saidOf(err error) *lab.Error {
	if missing, ok := errors.AsType[notFound](err); ok {
		said := &lab.Error{What: missing.what}
		if missing.hint != "" {
			said.Hints = []string{missing.hint}
		}
		return said
	}
	if said, ok := errors.AsType[*lab.Error](err); ok {
		return said
	}
	if _, noTurn := errors.AsType[busy](err); noTurn {
		return &lab.Error{What: err.Error(), Hints: []string{"try again later"}}
	}
	return &lab.Error{What: err.Error()}
}

func errorPage(err error) page {
	said := saidOf(err)
	return page{Title: said.What, Template: "error", Data: struct {
		What, Cause string
		Hints       []string
	}{said.What, cause(said), said.Hints}}
}

func cause(e *lab.Error) string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func noRun(ref string) error {
	return notFound{"there is no run " + visible.Line(ref), "it may have been removed, or is in another store"}
}

// find finds a run by its ID, or the start of one, with ":ARM" behind it for an arm. Labels and paths are none: a label
// may be another run's tomorrow, and a path names a file of the machine.
func (s *Server) find(ref string) (*store.Bundle, error) {
	id, arm, ok := strings.Cut(ref, ":")
	if !store.MayBeID(id) || ok && arm == "" {
		return nil, noRun(ref)
	}
	b, err := s.Store.FindID(ref)
	if lab.KindOf(err) == lab.Usage {
		return nil, noRun(ref)
	}
	if err != nil {
		return nil, err
	}
	return b, mayShow(b)
}

// mostOfProfiles is how much memory the profiled loads of a run may take that pages show, in bytes: a load of a hundred
// CPUs takes some tens of megabytes.
const mostOfProfiles = 128 << 20

// mayShow refuses a run whose profiles take more memory than a page may.
func mayShow(b *store.Bundle) error {
	memory, err := b.ProfileMemory(mostOfProfiles)
	if err == nil && memory > mostOfProfiles {
		what := fmt.Sprintf("the profiles of run %s take more than %d MiB", b.Run.ID, mostOfProfiles>>20)
		err = &lab.Error{What: what, Hints: []string{"headroom profile show " + b.Run.ID + " shows them"}}
	}
	return err
}
