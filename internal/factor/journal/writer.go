package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// writer sets values on a target, by commands that have its mark in their arguments. A later process finds by the mark
// those that still run.
type writer struct {
	target host.Target
	mark   string
	// unsure is set when a command may still be about to write: its headroom was killed, or it was cut off.
	unsure bool
	atStep func(step string)
}

// run runs a command that has the mark.
func (w *writer) run(ctx context.Context, argv ...string) (host.Output, error) {
	return w.target.Run(ctx, spot.Marked(w.mark, argv...)...)
}

// passes is how many times spots are written at most: one can depend on another that comes after it.
const passes = 3

// set sets spots to their values, in order. It repeats those that failed as long as that helps: the old value of
// one can become valid only once another is set (vm.dirty_bytes is 0 once vm.dirty_ratio is set). It returns the final
// values and why the last attempt at each failed; the error says that the target can't be reached.
func (w *writer) set(ctx context.Context, doing string, positions []position, value func(position) string) (
	[]spot.Reading, []error, error) {
	spots := make([]spot.Spot, len(positions))
	for i, p := range positions {
		spots[i] = p.Spot
	}
	failed := make([]error, len(positions))
	last := ""
	for pass := 0; ; pass++ {
		w.atStep("read back")
		readings, err := spot.Read(ctx, w.target, spots)
		if err != nil {
			return nil, nil, errors.Join(w.unreachable(err), errLost)
		}
		var wrong []int
		for i, p := range positions {
			if readings[i].Err != nil || !spot.Same(readings[i].Value, value(p)) {
				wrong = append(wrong, i)
			} else {
				failed[i] = nil
			}
		}
		state := fmt.Sprint(wrong)
		if len(wrong) == 0 || state == last || pass == passes || ctx.Err() != nil {
			return readings, failed, nil
		}
		last = state
		for _, i := range wrong {
			w.atStep(doing + " " + spots[i].String())
			failed[i] = spots[i].Write(ctx, w.target, w.mark, value(positions[i]), positions[i].Old)
			w.unsure = w.unsure || failed[i] != nil
			if ctx.Err() != nil {
				break
			}
		}
	}
}

func (w *writer) unreachable(err error) error {
	return &lab.Error{What: "can't read settings", Target: host.RemoteName(w.target), Err: err}
}

// restore sets the old values, the last spot first, and then those that the kernel has changed along, and holds the
// values against what is there in the end.
func (w *writer) restore(ctx context.Context, main, along []position) error {
	main = slices.Clone(main)
	slices.Reverse(main)
	all := append(main, along...)
	if len(all) == 0 {
		return nil
	}
	readings, failed, err := w.set(ctx, "undo", all, func(p position) string { return p.Old })
	if err != nil {
		return err
	}
	var errs []error
	for i, p := range all {
		gone := readings[i].Err != nil && i >= len(main) // with what it belonged to
		if gone || readings[i].Err == nil && spot.Same(readings[i].Value, p.Old) {
			continue
		}
		now := fmt.Sprintf("is %q", readings[i].Value)
		if readings[i].Err != nil {
			now = "can't be read (" + readings[i].Err.Error() + ")"
		}
		errs = append(errs, &lab.Error{What: fmt.Sprintf("%s was not put back: it %s and was %q", p.Spot, now, p.Old),
			Target: host.RemoteName(w.target), Err: failed[i],
			Hints: append(spot.HintsOf(failed[i]), "headroom restore tries it again; headroom restore --accept leaves "+
				"it and forgets the change")})
	}
	return errors.Join(errs...)
}

// settle waits where a command may still be about to write.
func (w *writer) settle(ctx context.Context) error {
	if !w.unsure {
		return nil
	}
	if err := w.await(ctx); err != nil {
		return err
	}
	w.unsure = false
	return nil
}

// await waits until no command of the writer is running any more. One whose headroom was killed, or whose
// connection was cut, could still be about to write.
func (w *writer) await(ctx context.Context) error {
	blank := map[string]int{} // looks at which a process had no arguments
	for {
		running, err := w.running(ctx, blank)
		if err != nil || len(running) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return &lab.Error{What: fmt.Sprintf("commands that change settings are still running: processes %s",
				strings.Join(running, ", ")),
				Target: host.RemoteName(w.target), Hints: []string{"end them, then: headroom restore"}}
		case <-time.After(writersPause):
		}
	}
}

// maxEmptyReads is how many times a process without arguments is taken for one that is becoming another program.
const maxEmptyReads = 50

const writersPause = 20 * time.Millisecond

// running returns the processes that have the mark as an argument, and those that could: while a process becomes
// another program (execve) it has no arguments for a moment. Nor has a thread of the kernel, ever, or a process that
// hides them, so such processes are checked a limited number of times.
func (w *writer) running(ctx context.Context, blank map[string]int) ([]string, error) {
	entries, err := fs.ReadDir(w.target.FS(), "proc")
	if err != nil {
		return nil, errors.Join(w.unreachable(err), errLost)
	}
	var paths []string
	for _, e := range entries {
		if strings.Trim(e.Name(), "0123456789") == "" {
			paths = append(paths, "/proc/"+e.Name()+"/cmdline")
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	read, err := w.target.ReadFiles(ctx, paths...)
	if err != nil {
		return nil, errors.Join(w.unreachable(err), errLost)
	}
	var running, stats []string
	for p, f := range read {
		pid := strings.Split(p, "/")[2]
		switch {
		case slices.ContainsFunc(bytes.Split(f.Data, []byte{0}), func(arg []byte) bool {
			return string(arg) == w.mark
		}):
			running = append(running, pid)
		case f.Err == nil && len(f.Data) == 0 && blank[pid] < maxEmptyReads:
			stats = append(stats, "/proc/"+pid+"/stat")
		}
	}
	if len(stats) == 0 {
		return running, nil
	}
	if read, err = w.target.ReadFiles(ctx, stats...); err != nil {
		return nil, errors.Join(w.unreachable(err), errLost)
	}
	for _, p := range stats {
		pid := strings.Split(p, "/")[2]
		if blank[pid]++; read[p].Err != nil || noProgram(string(read[p].Data)) {
			blank[pid] = maxEmptyReads
			continue
		}
		running = append(running, pid)
	}
	return running, nil
}

// noProgram reports whether a process is a thread of the kernel, or has ended and waits for its parent to take note, by
// its stat file:
//
//	2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0
//	4711 (sh) Z 1 4711 4711 0 -1 4194564 0 0 0 0
//	4712 (dd) R 4711 4711 4711 0 -1 4194304 0 0 0 0
//
// The seventh field after the name are the flags; PF_KTHREAD is 0x200000. Source: proc(5), and the kernel's
// include/linux/sched.h.
func noProgram(stat string) bool {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 7 {
		return false
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	const kernelThread = 0x200000
	return fields[0] == "Z" || fields[0] == "X" || err == nil && flags&kernelThread != 0
}
