package cli

import (
	"context"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/lab"
)

// interruptGrace is how long a command that was interrupted may take to end by itself.
const interruptGrace = 300 * time.Millisecond

// exitOnInterrupt makes a command that measures nothing and changes nothing end at the first signal wherever it is,
// because it holds nothing that must be put back, and may be in the midst of a file of any size.
func exitOnInterrupt(c *cobra.Command, unfinished *sync.WaitGroup) {
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		return interruptible(c.Context(), unfinished, func() error { return run(c, args) })
	}
}

// interruptible carries something out that changes nothing, and returns soon after ctx is done whether it has ended or
// not. What it was making is taken away by what it gave to DiscardOnInterrupt, and unfinished waits for that.
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
