package app

import (
	"slices"
)

// MarkWarned notes that a run of another process is said to go on, and says whether it is for the first time.
func (p *App) MarkWarned(run string) bool {
	p.outputMu.Lock()
	defer p.outputMu.Unlock()
	if slices.Contains(p.warnedActive, run) {
		return false
	}
	p.warnedActive = append(p.warnedActive, run)
	return true
}
