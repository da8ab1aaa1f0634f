package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
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
	site     *site
	api      api
	exporter *exporter
	follower follower
	// open are the connections of Serve.
	open *connections
}

// New makes a server.
func New(o Options) (*Server, error) {
	templates, err := parsePages()
	l := library{app: o.App, store: o.Store}
	h := &histories{library: l}
	// Each kind of answer has separate turns, so that none waits for another.
	light, heavy := newTurns(lightWorkers, lightWaiting), newTurns(heavyWorkers, heavyWaiting)
	return &Server{Options: o,
		site:     &site{library: l, histories: h, templates: templates, light: light, heavy: heavy},
		api:      api{library: l, histories: h, light: light, heavy: heavy},
		exporter: &exporter{library: l, turns: newTurns(scrapeWorkers, scrapeWaiting)},
		follower: follower{library: l, watching: make(chan struct{}, mostWatching)},
		open:     &connections{}}, err
}

// Handler answers all requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.site.routes(mux)
	s.api.routes(mux)
	mux.HandleFunc("GET /runs/{run}/changes", s.follower.changes)
	mux.HandleFunc("GET /metrics", s.exporter.answer)
	mux.Handle("GET /static/{file}", staticFiles())
	return gate{token: s.Token, hosts: s.Hosts, tls: s.TLS, open: s.open}.guard(mux)
}

// notFound is what an address gets that leads nowhere, with where to look.
type notFound struct{ what, hint string }

func (e notFound) Error() string { return e.what }

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

// lastWords is how long answers may take that are being sent when the server ends.
const lastWords = 2 * time.Second

// Serve answers connections until ctx is done. With a certificate and a key, files in PEM, they are encrypted.
func (s *Server) Serve(ctx context.Context, l net.Listener, certificate, key string) error {
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: helloLimit, ReadTimeout: 2 * helloLimit,
		WriteTimeout: hurriedLimit, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		Protocols: new(http.Protocols), ConnState: s.open.changed,
		BaseContext: func(net.Listener) context.Context { return ctx }, // ends those that follow a run, too
		ErrorLog:    log.New(io.Discard, "", 0)}                        // what strangers send is no news
	server.Protocols.SetHTTP1(true) // one request at a time, so that connections bound them
	ended := make(chan error, 1)
	l = netutil.LimitListener(l, mostConnections)
	go func() {
		if s.TLS {
			ended <- server.ServeTLS(l, certificate, key)
		} else {
			ended <- server.Serve(l)
		}
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := server.Shutdown(last); errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return nil
}

// NewToken returns a token that can't be guessed.
func NewToken() string { return rand.Text() }

// LoopbackHosts are the names of an address of this machine alone; nil for one that others reach.
func LoopbackHosts(a net.Addr) []string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() {
		return nil
	}
	_, port, err := net.SplitHostPort(tcp.String())
	if err != nil {
		return nil
	}
	hosts := []string{tcp.String(), net.JoinHostPort("localhost", port), net.JoinHostPort("127.0.0.1", port),
		net.JoinHostPort("::1", port)}
	if port == "80" || port == "443" { // browsers leave these out
		for _, h := range hosts {
			name, _, _ := net.SplitHostPort(h)
			hosts = append(hosts, name)
		}
	}
	return hosts
}
