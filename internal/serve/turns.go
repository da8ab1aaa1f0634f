package serve

import (
	"context"
	"net/http"
	"time"

	"github.com/headroom/headroom/internal/results"
)

// How many pages of a kind are made at the same time, and how many requests wait for their turn. A heavy page reads
// repetitions, facts or profiles of runs. A light one, a list, has what the index knows. Prometheus has a separate
// turn, so that readers cost it no sample.
const (
	heavyWorkers, heavyWaiting   = 2, 16
	lightWorkers, lightWaiting   = 4, 256
	scrapeWorkers, scrapeWaiting = 1, 4
)

// mostOfPage is how much memory a heavy page may take: a comparison of facts that all differ takes six times theirs
// (scripts/attack measures it), before it reads profiles. heavyWorkers such pages are within the memory of
// deploy/serve.yaml, with a quarter left for all else.
const mostOfPage = 6 * results.MostKnown

// longestWait is how long a request waits for its turn.
const longestWait = 30 * time.Second

// retryAfter is the advice of a refusal, in seconds: about as long as a heavy page takes.
const retryAfter = "15"

// turns bounds how many pages are made at the same time: of the admitted requests, some have a turn in working.
type turns struct{ working, admitted chan struct{} }

func newTurns(workers, waiting int) turns {
	return turns{make(chan struct{}, workers), make(chan struct{}, workers+waiting)}
}

// busy is the error of a request that gets no turn.
type busy struct{}

func (busy) Error() string { return "too much is asked of headroom serve at the moment" }

// content is a body that is made when it is its turn, or one that says why not.
type content struct {
	kind   string
	make   func() ([]byte, error)
	failed func(error) []byte
}

// answer makes an answer and sends it. The request leaves its place among those admitted when the answer is sent: a
// client that reads slowly costs as much memory as one that waits for its turn.
func (t turns) answer(w http.ResponseWriter, r *http.Request, c content) {
	status, body := http.StatusOK, []byte(nil)
	err := t.admit()
	if err == nil {
		defer func() { <-t.admitted }()
		err = t.work(r.Context(), func() (err error) {
			body, err = c.make()
			return err
		})
	}
	if err != nil {
		status, body = statusOf(err), c.failed(err)
	}
	send(w, r, status, c.kind, body)
}

// admit takes a place, if too many do not wait already.
func (t turns) admit() error {
	select {
	case t.admitted <- struct{}{}:
		return nil
	default:
		return busy{}
	}
}

// work does something when it is its turn.
func (t turns) work(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	select {
	case t.working <- struct{}{}:
		defer func() { <-t.working }()
		return do()
	case <-ctx.Done():
		return busy{}
	}
}
