package cli

import (
	"context"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/lab"
)

// interruptGrace is how long an interrupted command may take to end normally.
const interruptGrace = 300 * time.Millisecond

// exitOnInterrupt makes a command that neither measures nor changes anything end at the first signal. It has nothing to
// restore, and may be reading a file of any size.
func exitOnInterrupt(c *cobra.Command, unfinished *sync.WaitGroup) {
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		return interruptible(c.Context(), unfinished, func() error { return run(c, args) })
	}
}

// interruptible runs a function that changes nothing, and returns soon after ctx is done, even if it has not ended. Its
// unfinished output is removed by the functions that it passed to DiscardOnInterrupt, and unfinished waits for them.
func interruptible(ctx context.Context, unfinished *sync.WaitGroup, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	defer unfinished.Wait()
	select {
	case err := <-done:
		return err
	case <-time.After(interruptGrace):
		return &lab.Error{Kind: lab.Cancelled, What: "interrupted"}
	}
}
