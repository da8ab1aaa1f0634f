package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/lab"
)

// interruptGrace is how long a command that was interrupted may take to end by itself.
const interruptGrace = 300 * time.Millisecond

// addReadOnly adds commands that measure nothing and change nothing. They end at the first signal wherever they are,
// because they hold nothing that must be put back, and may be in the midst of a file of any size.
func (p *program) addReadOnly(root *cobra.Command, commands ...*cobra.Command) {
	p.exitOnInterrupt(commands...)
	root.AddCommand(commands...)
}

func (p *program) exitOnInterrupt(commands ...*cobra.Command) {
	for _, c := range commands {
		if run := c.RunE; run != nil {
			c.RunE = func(c *cobra.Command, args []string) error {
				return p.interruptible(c.Context(), func() error { return run(c, args) })
			}
		}
		p.exitOnInterrupt(c.Commands()...)
	}
}

// interruptible carries something out that changes nothing, and returns soon after ctx is done whether it has ended or
// not. What it was making is taken away by what it gave to DiscardOnInterrupt, and that is waited for.
func (p *program) interruptible(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	defer p.App.UnfinishedWork.Wait()
	select {
	case err := <-done:
		return err
	case <-time.After(interruptGrace):
		return &lab.Error{Kind: lab.Cancelled, What: "interrupted"}
	}
}
