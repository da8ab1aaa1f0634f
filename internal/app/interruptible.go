package app

import (
	"context"
)

// DiscardOnInterrupt takes away what a command is making when it is interrupted: beside the command, which still goes
// on with it. The command calls what is returned when it has made it.
func (p *App) DiscardOnInterrupt(ctx context.Context, takeAway func() error) (done func()) {
	p.UnfinishedWork.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer p.UnfinishedWork.Done()
		if err := takeAway(); err != nil {
			p.PrintError(err)
		}
	})
	return func() {
		if stop() {
			p.UnfinishedWork.Done()
		}
	}
}
