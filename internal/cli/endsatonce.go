package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"headroom/internal/lab"
)

// patience is how long a command that was interrupted may take to end by itself.
const patience = 300 * time.Millisecond

// addReading adds commands that measure nothing and change nothing. They end at the first signal wherever they are,
// because they hold nothing that must be put back, and may be in the midst of a file of any size.
func (p *program) addReading(root *cobra.Command, commands ...*cobra.Command) {
	p.endAtOnce(commands...)
	root.AddCommand(commands...)
}

func (p *program) endAtOnce(commands ...*cobra.Command) {
	for _, c := range commands {
		if run := c.RunE; run != nil {
			c.RunE = func(c *cobra.Command, args []string) error {
				return p.interruptible(c.Context(), func() error { return run(c, args) })
			}
		}
		p.endAtOnce(c.Commands()...)
	}
}

// interruptible carries something out that changes nothing, and returns soon after ctx is done whether it has ended or
// not. What it was making is taken away by what it gave to unlessDone, and that is waited for.
func (p *program) interruptible(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	defer p.making.Wait()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return &lab.Error{Kind: lab.Cancelled, What: "interrupted"}
	}
}

// unlessDone takes away what a command is making when it is interrupted: beside the command, which still goes on with
// it. The command calls what is returned when it has made it.
func (p *program) unlessDone(ctx context.Context, takeAway func() error) (done func()) {
	p.making.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer p.making.Done()
		if err := takeAway(); err != nil {
			p.printError(err)
		}
	})
	return func() {
		if stop() {
			p.making.Done()
		}
	}
}
