package serve

import (
	"context"
	"errors"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/store"
)

// occupied is a server all of whose turns for heavy pages are taken, and all places of those that wait for one.
func occupied(t *testing.T) (*Server, []lab.Run) {
	t.Helper()
	a, all := saved(t, 2, nil)
	st, err := a.OpenStore()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{App: a, Store: st})
	if err != nil {
		t.Fatal(err)
	}
	for range heavyWorkers {
		s.site.heavy.working <- struct{}{}
	}
	for range heavyWorkers + heavyWaiting {
		s.site.heavy.admitted <- struct{}{}
	}
	return s, all
}

// Lists, probes, Prometheus and files are answered while no more heavy pages can be asked for, and those say so at
// once.
func TestLightPagesDoNotWaitForHeavyOnes(t *testing.T) {
	s, all := occupied(t)
	at := servedBy(t, s)
	for path, status := range map[string]int{"/": 200, "/?q=run&sort=suite": 200, "/history": 200, "/machines": 200,
		"/api/v1/runs": 200, "/metrics": 200, healthPath: 200, "/static/serve.js": 200, "/api/v1/openapi.yaml": 200,
		"/elsewhere": 404} {
		if got, body := answer(t, at, http.MethodGet, path); got.StatusCode != status {
			t.Errorf("%s: %s\n%s", path, got.Status, body)
		}
	}
	id, two := all[0].ID, "?run="+all[0].ID+"&run="+all[1].ID
	for _, path := range []string{"/runs/" + id, overTimeAddress(id, all[0].Cells[0].ID), "/compare" + two,
		historyAddress(all[0].Suite), machineAddress(id, ""), "/machines/difference" + two, profileAddress(id),
		"/profiles/difference" + two, "/api/v1/runs/" + id, "/api/v1/runs/" + id + "/result",
		"/api/v1/runs/" + id + "/facts", "/api/v1/runs/" + id + "/doctor", "/api/v1/runs/" + id + "/profile",
		"/api/v1/compare" + two, "/api/v1/history/" + all[0].Suite} {
		got, body := answer(t, at, http.MethodGet, path)
		if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s, %v\n%s", path, got.Status, got.Header, body)
		}
	}
	<-s.site.heavy.working
	<-s.site.heavy.admitted
	if got, body := answer(t, at, http.MethodGet, "/runs/"+id); got.StatusCode != http.StatusOK {
		t.Errorf("with a turn: %s\n%s", got.Status, body)
	}
}

// As many pages are made at the same time as there are workers, as many requests wait as may, and no longer than they
// may.
func TestTurns(t *testing.T) {
	const workers, waiting = 2, 3
	synctest.Test(t, func(t *testing.T) {
		turns, end := newTurns(workers, waiting), make(chan struct{})
		making, made, refused := 0, 0, 0
		ask := func(ctx context.Context) {
			err := turns.admit()
			if err == nil {
				defer func() { <-turns.admitted }()
				err = turns.work(ctx, func() error {
					making++ // one runs at a time in a bubble that waits in between
					<-end
					made++
					return nil
				})
			}
			if errors.Is(err, busy{}) {
				refused++
			}
		}
		check := func(when string, wantMaking, wantMade, wantRefused int) {
			t.Helper()
			synctest.Wait()
			if making != wantMaking || made != wantMade || refused != wantRefused {
				t.Errorf("%s: %d were begun, %d made, %d refused; want %d, %d, %d", when, making, made, refused,
					wantMaking, wantMade, wantRefused)
			}
		}
		gone, leave := context.WithCancel(t.Context())
		for range workers {
			go ask(t.Context())
			synctest.Wait()
		}
		go ask(gone)
		for range waiting - 1 {
			go ask(t.Context())
			synctest.Wait()
		}
		check("all places are taken", workers, 0, 0)
		go ask(t.Context())
		check("one more", workers, 0, 1)
		leave()
		check("one that waited has left", workers, 0, 2)
		end <- struct{}{}
		check("a page is made", workers+1, 1, 2)
		time.Sleep(longestWait + time.Second)
		check("the other has waited as long as it may", workers+1, 1, 3)
		close(end)
		check("the end", workers+1, workers+1, 3)
	})
}

// An answer keeps its place among those admitted until it is read, and not its turn.
func TestAnswersThatAreNotReadTakeNoTurn(t *testing.T) {
	s, all := occupied(t)
	for range heavyWorkers + heavyWaiting {
		<-s.site.heavy.admitted
	}
	for range heavyWorkers {
		<-s.site.heavy.working
	}
	w := unread{http.Header{}, make(chan struct{}), make(chan struct{})}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/runs/"+all[0].ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	go s.Handler().ServeHTTP(w, r)
	<-w.writing
	if working, admitted := len(s.site.heavy.working), len(s.site.heavy.admitted); working != 0 || admitted != 1 {
		t.Errorf("%d turns and %d places are taken", working, admitted)
	}
	close(w.read)
}

// unread is a client that reads its answer when it is told to.
type unread struct {
	header        http.Header
	writing, read chan struct{}
}

func (u unread) Header() http.Header { return u.header }

func (u unread) WriteHeader(int) {}

func (u unread) Write(p []byte) (int, error) {
	close(u.writing)
	<-u.read
	return len(p), nil
}

// Heavy pages that are made at the same time have room in the container of deploy/serve.yaml, and Go collects garbage
// before its limit.
func TestHeavyPagesFitTheContainer(t *testing.T) {
	text, err := os.ReadFile("../../deploy/serve.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`GOMEMLIMIT, value: (\d+)MiB[\s\S]*limits: {memory: (\d+)Gi}`).FindSubmatch(text)
	if found == nil {
		t.Fatal("it has no limits")
	}
	soft, errSoft := strconv.Atoi(string(found[1]))
	limit, errLimit := strconv.Atoi(string(found[2]))
	if err := errors.Join(errSoft, errLimit); err != nil {
		t.Fatal(err)
	}
	soft, limit = soft<<20, limit<<30
	if pages := heavyWorkers * mostOfPage; pages > limit*3/4 || pages > soft || soft >= limit {
		t.Errorf("%d pages of %d MiB, of %d MiB, garbage within %d MiB", heavyWorkers, mostOfPage>>20, limit>>20,
			soft>>20)
	}
}

// Runs whose facts or profiles would take more memory than a page may are refused.
func TestPagesOfTooMuchAreRefused(t *testing.T) {
	a, all := saved(t, 5, nil)
	large := facts.Document{Schema: facts.DocumentSchema, Facts: []lab.Fact{{Key: "machine.product",
		Value: strings.Repeat("a", 30<<20)}}}
	stacks := profile.Load{Cell: "1", Recording: profile.Recording{Sampled: &profile.Sampled{
		Stacks: make([]profile.Stack, 1_000_000)}}}
	for i, run := range all {
		st := store.Open(a.StoreDir)
		b, err := st.Find(run.ID)
		if err != nil {
			t.Fatal(err)
		}
		w, err := st.Resume(b)
		if err != nil {
			t.Fatal(err)
		}
		err = w.Facts(run.Targets[0].Role, store.Before, large)
		if i == 4 {
			err = errors.Join(err, w.Profile(stacks))
		}
		if err := errors.Join(err, w.Close(func(*lab.Run) {})); err != nil {
			t.Fatal(err)
		}
	}
	at := served(t, Options{App: a})
	query := "?anyway"
	for _, run := range all[:4] {
		query += "&run=" + run.ID
	}
	for path, want := range map[string]string{"/compare" + query + "&run=" + all[4].ID: "profiles of run",
		"/runs/" + all[4].ID:                            "profiles of run",
		"/api/v1/compare" + query + "&run=" + all[0].ID: "facts of these machines"} {
		if got, body := answer(t, at, http.MethodGet, path); got.StatusCode == 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %s\n%s", path, got.Status, body)
		}
	}
	if got, body := answer(t, at, http.MethodGet, "/"); got.StatusCode != 200 {
		t.Errorf("%s\n%s", got.Status, body)
	}
}
