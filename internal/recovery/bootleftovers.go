package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/bootloader"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

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
