package serve

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// What many ask for at once is made once; an error is made again.
func TestCache(t *testing.T) {
	var c cache[int]
	var made atomic.Int32
	begun, end := make(chan struct{}), make(chan struct{})
	ask := func() {
		got, err := c.get("a", "1", func() (int, error) {
			close(begun)
			<-end
			made.Add(1)
			return 7, nil
		})
		if err != nil || got != 7 {
			t.Errorf("%d, %v", got, err)
		}
	}
	var all sync.WaitGroup
	all.Go(ask)
	<-begun
	for range 5 {
		all.Go(ask) // another one that made it would close what is closed
	}
	close(end)
	all.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("made %d times", n)
	}
	for want := range 2 {
		failed := errors.New("it fails")
		n := 0
		if _, err := c.get("b", "1", func() (int, error) { n++; return 0, failed }); !errors.Is(err, failed) || n != 1 {
			t.Errorf("%d: made %d times, %v", want, n, err)
		}
	}
	c.keepMost(0)
	if len(c.known) != 0 {
		t.Errorf("%d are known", len(c.known))
	}
}
