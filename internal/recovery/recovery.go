package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/bootloader"
	"github.com/headroom/headroom/internal/host/kube"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner/workspace"
	"github.com/headroom/headroom/internal/store"
)

// RecoverRuns ends and removes what a killed headroom left on wanted targets, restores the settings that it had changed
// there, and prints what it did. Events are undone first: while a link is cut or a file system frozen, a load may not
// end, or a scratch file can't be removed. Loads are ended before other settings are restored under them. Boots come
// last; hosts stay locked until they run with their own arguments again. Targets in allowed may be restarted.
func RecoverRuns(ctx context.Context, p *app.App, s *store.Store, wanted func(target string) bool,
	allowed []string, external journal.ExternalChange) (int, error) {
	ofEvent := func(left journal.Leftover) bool { return strings.Contains(left.ID, EventJournal) }
	changes := s.Folder.Changes()
	n := 0
	var errs []error
	recoverIn := func(folder string, undo func() (int, error)) {
		if holdsNothing(folder) {
			return
		}
		recovered, err := undo()
		n, errs = n+recovered, append(errs, err)
	}
	recoverIn(changes, func() (int, error) { return undoAbandoned(ctx, p, s, wanted, external, ofEvent) })
	recoverIn(s.Folder.Pods(), func() (int, error) { return clearClusters(ctx, p, s, wanted) })
	abandoned, err := s.Abandoned()
	n, errs = n+len(abandoned), append(errs, err)
	for _, a := range abandoned {
		errs = append(errs, clearRun(ctx, p, s, a, wanted))
	}
	recoverIn(s.Folder.Built(), func() (int, error) { return RecoverBuilds(ctx, p, s) })
	recoverIn(changes, func() (int, error) {
		return undoAbandoned(ctx, p, s, wanted, external, func(left journal.Leftover) bool {
			return !ofEvent(left) && !locksBoots(left)
		})
	})
	recoverIn(changes, func() (int, error) { return recoverBoots(ctx, p, s, wanted, allowed, external) })
	recoverIn(changes, func() (int, error) { return unlockBoots(ctx, p, s, wanted, external) })
	return n, errors.Join(errs...)
}

// holdsNothing reports whether a folder is missing or empty. One that can't be read may hold something.
func holdsNothing(folder string) bool {
	entries, err := os.ReadDir(folder)
	return len(entries) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist))
}

// RecoverLeftovers recovers what it can on this machine and on the targets in on; an empty name means all of them. It
// prints what it can't recover and continues, but untrusted records are an error. Hosts in allowed may be restarted.
// Every command that adds a run does this first. It never waits for a machine that is unrelated to the command.
func RecoverLeftovers(ctx context.Context, p *app.App, s *store.Store, allowed []string, on ...string) error {
	if err := s.Folder.Writable(); err != nil {
		return err
	}
	wanted := func(name string) bool {
		return p.Traits(name).Local || slices.Contains(on, "") || slices.Contains(on, name)
	}
	_, err := RecoverRuns(ctx, p, s, wanted, allowed, journal.Report)
	if _, untrusted := errors.AsType[*store.Untrusted](err); untrusted {
		return err
	}
	if err != nil {
		p.PrintError(err)
	}
	return nil
}

// clearRun removes what a run left on those of its targets that are wanted. The run counts as cleared once nothing is
// left on any target.
func clearRun(ctx context.Context, p *app.App, s *store.Store, a store.Abandoned,
	wanted func(target string) bool) error {
	id := s.ShortID(a.Run.ID)
	if a.Run.Source == lab.Imported {
		// An import is all or nothing, and its source files still exist.
		fmt.Fprintf(p.Stderr, "import %s was cut off; it was removed, import the files again\n", id)
		return s.Remove(a.Run.ID)
	}
	var did, later []string
	var errs []error
	gone := map[string]int{}
	parts := a.Leftovers.Parts(app.TargetOfRun(a.Run))
	for _, left := range parts {
		there := ""
		if len(parts) > 1 {
			there = " on " + left.Target
		}
		switch of := p.Traits(left.Target); {
		case of.HostedHere:
			did = append(did, "its guest "+left.Target+" went with it")
		case of.Ephemeral:
			if gone[cmp.Or(of.Set, left.Target)]++; of.Set == "" {
				did = append(did, "all that it had there went with its "+of.Noun+" "+left.Target)
			}
		case !wanted(left.Target):
			later = append(later, left.Target)
		default:
			done, err := clearTarget(ctx, p, s, a.Run, left)
			for _, d := range done {
				did = append(did, d+there)
			}
			errs = append(errs, err)
		}
	}
	for set, n := range gone {
		if p.Traits(set).Several {
			did = append(did, fmt.Sprintf("all that it had there went with %s of %s", prose.Count(n, "pod"), set))
		}
	}
	if e := a.Run.Experiment; e != nil && e.Kernels != nil {
		ended, err := endKernelBuild(ctx, p, a.Run.ID)
		if errs = append(errs, err); ended {
			did = append(did, "ended its build of a kernel")
		}
	}
	err := errors.Join(errs...)
	if (err != nil || len(later) > 0) && len(did) > 0 {
		fmt.Fprintf(p.Stderr, "run %s was cut off: %s\n", id, strings.Join(did, ", "))
	}
	if err != nil {
		return err
	}
	if len(later) > 0 {
		fmt.Fprintf(p.Stderr, "run %s on %s was cut off; to look after what it left there: headroom restore\n", id,
			prose.Names(later, " and "))
		return nil
	}
	if err := s.Clear(a); err != nil {
		return err
	}
	if len(did) == 0 {
		did = []string{"nothing was left behind"}
	}
	fmt.Fprintf(p.Stderr, "run %s was cut off: %s; continue with: %s\n", id, strings.Join(did, ", "),
		a.Run.MadeBy().Resume(id))
	return nil
}

// clearTarget removes what a run left on one target, and returns what it did. If the run's mount is gone it is mounted
// again, because the scratch file is stored on a server.
func clearTarget(ctx context.Context, p *app.App, s *store.Store, run lab.Run, left lab.Leftovers) ([]string, error) {
	id := s.ShortID(run.ID)
	t, err := p.OpenTarget(ctx, left.Target)
	if err != nil {
		return nil, errors.Join(&lab.Error{
			What:  fmt.Sprintf("run %s was cut off, and what it left on %s can't be looked after now", id, left.Target),
			Hints: []string{"when the machine can be reached: headroom restore"}}, err)
	}
	defer p.CloseTarget(t)
	level := cmp.Or(left.Mount, mountOfRun(run))
	if level == "" || len(left.Scratch) == 0 {
		return clearOn(ctx, p, t, s, run, left)
	}
	folder := filepath.Dir(left.Scratch[0])
	if _, err := network.NFSPathsOf(ctx, t, folder); err == nil {
		return clearOn(ctx, p, t, s, run, left)
	}
	var did []string
	err = WhileMounted(ctx, p, s, t, run.ID+"-cleaning", folder, level, func() error {
		did, err = clearOn(ctx, p, t, s, run, left)
		return err
	})
	return did, err
}

// clearOn removes what a run left on a reachable target.
func clearOn(ctx context.Context, p *app.App, t host.Target, s *store.Store, run lab.Run,
	left lab.Leftovers) ([]string, error) {
	id := s.ShortID(run.ID)
	kept, ok := t.(host.Leftovers)
	if !ok {
		return nil, &lab.Error{What: "what run " + id + " left can't be found", Target: t.Name()}
	}
	var did []string
	jobs, err := kept.JobsBelow(ctx, left.Jobs+"-")
	if err != nil {
		return nil, err
	}
	brought := workspace.BroughtJob(run.ID)
	for _, id := range jobs {
		if id == brought {
			continue
		}
		if err := kept.ClearJob(ctx, id); err != nil {
			return nil, err
		}
	}
	if err := removeTracers(ctx, p, t, brought, left.Tracers); err != nil {
		return nil, err
	}
	if slices.Contains(jobs, brought) || len(left.Tracers) > 0 {
		if err := kept.ClearJob(ctx, brought); err != nil {
			return nil, err
		}
	}
	if len(jobs) > 0 {
		did = append(did, "ended its load")
	}
	for _, path := range left.Scratch {
		dir := filepath.Dir(path)
		if out, err := t.Run(ctx, "test", "-d", dir); err != nil || out.ExitCode != 0 {
			return nil, &lab.Error{What: fmt.Sprintf("run %s was cut off, and %s, where its scratch file is, is not "+
				"there now", id, dir), Target: host.RemoteName(t), Err: err,
				Hints: []string{"mount it, then: headroom restore"}}
		}
		removed, err := workspace.RemoveScratch(ctx, t, path)
		if err != nil {
			return nil, err
		}
		if removed {
			did = append(did, "removed "+path)
		}
	}
	for _, folder := range left.Folders {
		started, err := workspace.StartedBy(ctx, t, run.Cells, left.Jobs, folder)
		if err != nil {
			return nil, err
		}
		removed, err := workspace.RemoveFolder(ctx, t, started)
		if err != nil {
			return nil, err
		}
		if removed {
			did = append(did, "removed "+folder)
		}
	}
	for _, d := range left.Devices {
		did = append(did, d+" still holds its test data")
	}
	return did, nil
}

// undoAbandoned restores the settings that a killed headroom had changed, or that could not be restored when it ended,
// from the journals that which selects.
func undoAbandoned(ctx context.Context, p *app.App, s *store.Store, wanted func(target string) bool,
	external journal.ExternalChange, which func(journal.Leftover) bool) (int, error) {
	pending, err := journal.Pending(s.Folder.Changes(), store.Trust)
	pending = slices.DeleteFunc(pending, func(left journal.Leftover) bool { return !which(left) })
	errs := []error{err}
	for _, left := range pending {
		if p.Traits(left.Target).LosesSettings {
			errs = append(errs, os.Remove(left.Path))
			continue
		}
		if !wanted(left.Target) {
			fmt.Fprintf(p.Stderr, "settings on %s are still %s; to put that right: headroom restore\n",
				left.Target, stateOf(left))
			continue
		}
		t, err := p.OpenTarget(ctx, left.Target)
		if err != nil {
			errs = append(errs,
				&lab.Error{What: fmt.Sprintf("settings on %s are still %s, and it can't be reached",
					left.Target, stateOf(left)),
					Hints: []string{"when it can be: headroom restore"}}, err)
			continue
		}
		errs = append(errs, undoChanges(ctx, p, left, t, external))
		p.CloseTarget(t)
	}
	return len(pending), errors.Join(errs...)
}

// stateOf describes the settings of a remaining journal: some are changed, or all are restored and only locked.
func stateOf(left journal.Leftover) string {
	if len(left.Factors) == 0 {
		return "locked against other runs"
	}
	return "changed (" + app.Names(left.Factors) + ")"
}

func undoChanges(ctx context.Context, p *app.App, left journal.Leftover, t host.Target,
	external journal.ExternalChange) error {
	j, err := journal.Load(left.Path, t)
	if err != nil {
		return err
	}
	if p.AtStep != nil {
		j.AtStep(p.AtStep)
	}
	j.OnExternalChange(external)
	err = j.Undo(ctx)
	back := slices.DeleteFunc(slices.Clone(left.Factors), func(name string) bool {
		return slices.Contains(j.Open(), name)
	})
	if slices.Sort(back); len(back) > 0 {
		how := map[bool]string{true: "are restored, or accepted with their present values",
			false: "are restored"}[external == journal.Accept]
		fmt.Fprintf(p.Stderr, "settings that %s had changed on %s %s: %s\n", left.ID, left.Target, how,
			strings.Join(slices.Compact(back), ", "))
	}
	return errors.Join(err, j.Close())
}

// recoverBoots removes from hosts the boot changes of experiments that were cut off. A host that still runs with
// changed arguments is restarted only if allowed by name: its users may be back by now.
func recoverBoots(ctx context.Context, p *app.App, s *store.Store, wanted func(target string) bool, allowed []string,
	external journal.ExternalChange) (int, error) {
	pending, err := bootloader.Pending(s.Folder.Changes(), store.Trust)
	pending = slices.DeleteFunc(pending, func(l bootloader.Leftover) bool { return l.InUse })
	errs := []error{err}
	for _, left := range pending {
		name := left.Record.Target
		if !wanted(name) {
			fmt.Fprintf(p.Stderr, "%s is not back at its own boot arguments since run %s was cut off; to put that "+
				"right: headroom restore\n", name, s.ShortID(left.ID))
			continue
		}
		t, err := p.OpenTarget(ctx, name)
		if err != nil {
			errs = append(errs,
				&lab.Error{What: fmt.Sprintf("run %s was cut off, and what it had put on %s for a boot can't be "+
					"taken away now", s.ShortID(left.ID), name),
					Hints: []string{"a power cycle starts it with its own boot arguments, if it hangs",
						"when it can be reached: headroom restore"}}, err)
			continue
		}
		errs = append(errs, undoBoot(ctx, p, s, left, t, slices.Contains(allowed, name), external))
		p.CloseTarget(t)
	}
	return len(pending), errors.Join(errs...)
}

// locksBoots reports whether a journal locks the boots of a host.
func locksBoots(left journal.Leftover) bool { return strings.HasSuffix(left.ID, BootLock) }

// unlockBoots removes the locks that a killed headroom left on hosts, except on hosts that do not yet run with their
// own boot arguments again.
func unlockBoots(ctx context.Context, p *app.App, s *store.Store, wanted func(target string) bool,
	external journal.ExternalChange) (int, error) {
	pending, err := bootloader.Pending(s.Folder.Changes(), store.Trust)
	if err != nil {
		return 0, nil // recoverBoots has returned it
	}
	return undoAbandoned(ctx, p, s, wanted, external, func(left journal.Leftover) bool {
		return locksBoots(left) && !slices.ContainsFunc(pending, func(b bootloader.Leftover) bool {
			return b.ID+BootLock == left.ID
		})
	})
}

func undoBoot(ctx context.Context, p *app.App, s *store.Store, left bootloader.Leftover, t host.Target, allowed bool,
	external journal.ExternalChange) error {
	kept, err := bootloader.Resume(left)
	if err != nil {
		return err
	}
	if p.AtStep != nil {
		kept.AtStep(p.AtStep)
	}
	err = undoRecordedBoot(ctx, p, s, left, t, kept, allowed, external)
	return errors.Join(err, kept.Close())
}

func undoRecordedBoot(ctx context.Context, p *app.App, s *store.Store, left bootloader.Leftover, t host.Target,
	kept *bootloader.BootJournal, allowed bool, external journal.ExternalChange) error {
	running, err := bootloader.Undo(ctx, t, left.Record)
	if external == journal.Accept {
		if err != nil {
			p.PrintError(err)
		}
		fmt.Fprintf(p.Stderr, "%s is left as it is now\n", left.Record.Target)
		return kept.After(left.Record)
	}
	if err != nil {
		return err
	}
	id := s.ShortID(left.ID)
	if !running {
		fmt.Fprintf(p.Stderr, "run %s was cut off: %s runs with its own boot arguments, and nothing is left there of "+
			"what was put there for a boot\n", id, t.Name())
		return kept.After(left.Record)
	}
	if !allowed {
		return &lab.Error{Kind: lab.Refused, What: "it still runs, or will start, as run " + id + " had it start",
			Target: t.Name(), Hints: []string{
				"its own arguments: " + strings.TrimSpace(left.Record.Cmdline),
				"headroom restore --reboot " + t.Name() + " restarts it with them; whatever runs there ends"}}
	}
	b, way, err := app.Bootable(ctx, t, bootloader.Options{Resume: &left.Record, After: kept.After})
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "restarting %s with its own boot arguments, by %s; it may take 10 minutes\n", t.Name(),
		way)
	if err := b.Boot(ctx, host.BootSpec{}); err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "run %s was cut off: %s was restarted, and runs with its own boot arguments\n", id,
		t.Name())
	return nil
}

// clearClusters removes from clusters what killed headrooms created there for wanted targets. It needs no run: a pod is
// created before a run begins, and recorded before it is created.
func clearClusters(ctx context.Context, p *app.App, s *store.Store, wanted func(target string) bool) (int, error) {
	pending, err := kube.Pending(s.Folder.Pods(), store.Trust)
	errs := []error{err}
	for _, left := range pending {
		r := left.Record
		if !wanted(r.Target) {
			fmt.Fprintf(p.Stderr, "%s is still there, in namespace %s; to remove it: headroom restore\n",
				prose.Names(r.Names(), " and "), r.Namespace)
			errs = append(errs, left.Release())
			continue
		}
		removed, err := kube.Clear(ctx, r)
		if err != nil {
			errs = append(errs, &lab.Error{What: "what a killed headroom left in namespace " + r.Namespace +
				" can't be removed now", Target: r.Target,
				Hints: []string{"when the cluster can be reached: headroom restore"}}, err, left.Release())
			continue
		}
		if len(removed) > 0 {
			fmt.Fprintf(p.Stderr, "removed from namespace %s: %s\n", r.Namespace, prose.Names(removed, " and "))
		}
		errs = append(errs, left.Remove())
	}
	return len(pending), errors.Join(errs...)
}

// WhileMounted calls do while a level of NFS is mounted on a folder, with a journal of the given ID. If the ID begins
// with the ID of a run, locks of that run are no obstacle.
func WhileMounted(ctx context.Context, p *app.App, s *store.Store, t host.Target, id, folder, level string,
	do func() error) (err error) {
	journal, err := p.Journal(s, id, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.PutBack(ctx, journal)) }()
	setting, err := factor.Bind(ctx, scheme.Scope{Target: t, Place: lab.Place{Kind: lab.Directory, Path: folder}},
		mount.NFSFactor)
	if err != nil {
		return err
	}
	if err := journal.Change(ctx, setting, level); err != nil {
		return err
	}
	return do()
}

// mountOfRun returns the first level that a sweep of an earlier version mounted for its arms; empty if it mounted
// nothing. Runs of this version record it in their leftovers.
func mountOfRun(run lab.Run) string {
	if run.Experiment == nil {
		return ""
	}
	for _, v := range run.Experiment.Factors {
		if v.Factor == mount.NFSFactor && len(v.Levels) > 0 {
			return v.Levels[0]
		}
	}
	return ""
}

// BootLock is added to the ID of a run to name the journal that locks the boots of a host.
const BootLock = "-boot-lock"

// EventJournal is the part of the ID of an events journal between the run's ID and a number.
const EventJournal = "-event-"
