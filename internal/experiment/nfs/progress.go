package nfs

import (
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
)

// stageDisplay shows what goes on in a stage, and has the run keep it as a part of what goes on there.
type stageDisplay struct {
	*progress.Progress
	stages *Stages
	stage  string
}

func (d stageDisplay) KeepIn(k progress.Keeper) { d.Progress.KeepIn(stageKeeper{k, d.stages, d.stage}) }

type stageKeeper struct {
	progress.Keeper
	stages *Stages
	stage  string
}

// Progress is that of the run. How long stages take that have not begun is known when they are prepared.
func (k stageKeeper) Progress(p lab.Progress) error {
	p.Count, p.Elapsed = k.stage+", "+p.Count, p.At.Sub(k.stages.started).Seconds()
	if k.stages.unmeasured > 1 {
		p.Left, p.AtMost = 0, false
	}
	return k.Keeper.Progress(p)
}
