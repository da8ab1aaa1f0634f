package runner

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/counters"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
)

// ArmEntry is what was done to make an arm's levels effective.
type ArmEntry struct {
	// Did has a line for each step, as a dry run lists them.
	Did []string
	// Booted says that the machine was started again, so that it has other counters and perhaps another scratch file.
	Booted bool
	// Mounted says that the place was mounted again, so that it is looked for what was laid out.
	Mounted bool
}

// visitID is the arm that was entered last, and in which block. A visit that an interruption cut in two is entered
// again.
type visitID struct {
	arm   string
	block int
}

// enter makes the arm of a repetition effective, unless it is that of the repetition before it.
func (s *Session) enter(ctx context.Context, cell lab.Cell, next plan.Repetition) error {
	visit := visitID{cell.Arm, next.Block}
	if s.Enter == nil || s.visit == visit {
		return nil
	}
	s.visit = visitID{}
	if err := s.releaseScratch(); err != nil {
		return err
	}
	in, err := s.Enter(ctx, cell.Arm)
	if err != nil {
		return err
	}
	s.entrySteps = in.Did
	if in.Booted {
		err = s.afterBoot(ctx)
	} else if in.Mounted {
		err = s.checkScratch(ctx)
	}
	if same, lost := s.openScratch(); err == nil && (lost != nil || !same) {
		err = errors.Join(s.replaced(), lost)
	}
	if err != nil {
		return err
	}
	s.visit = visit
	s.previous = "" // what ran before was in another arm
	return nil
}

// afterBoot looks at the machine that came up: its boot, its counters, and whether the scratch file is still there.
func (s *Session) afterBoot(ctx context.Context) error {
	s.writtenBefore = s.bytesWritten(s.lastCounters)
	if err := s.readMachine(ctx); err != nil {
		return err
	}
	s.lastCounters = s.atStart
	return s.checkScratch(ctx)
}

// checkScratch forgets the layout where the scratch file is not there any more.
func (s *Session) checkScratch(ctx context.Context) error {
	if s.layout.Kind != written {
		return nil // a device keeps what it holds
	}
	out, err := s.Target.Run(ctx, "stat", "-c", "%s", "--", s.scratch)
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(out.Stdout)) != strconv.FormatInt(s.Scratch, 10) {
		s.layout = lab.LayoutState{}
		return s.resetScratch(ctx)
	}
	return nil
}

// readMachine records the boot and the counters as they are now.
func (s *Session) readMachine(ctx context.Context) error {
	s.knownGenerations = s.generations()
	files, err := s.Target.ReadFiles(ctx, host.BootIDFile)
	if err != nil {
		return err
	}
	s.boot = strings.TrimSpace(string(files[host.BootIDFile].Data))
	if s.counters, err = counters.NewReader(ctx, s.Target, s.Place.Disks); err != nil {
		return err
	}
	if strings.HasPrefix(s.Machine.Filesystem, "nfs") && s.Machine.MountPoint != "" {
		s.counters.CountServer(s.Machine.MountPoint)
	}
	if s.Server != nil {
		if err := s.Server.find(ctx); err != nil {
			return err
		}
		if s.serverCounters, err = counters.NewReader(ctx, s.Server.Target, nil); err != nil {
			return err
		}
		there, err := s.Server.Target.ReadFiles(ctx, host.BootIDFile)
		if err != nil {
			return err
		}
		s.oneMachine = s.boot != "" && strings.TrimSpace(string(there[host.BootIDFile].Data)) == s.boot
		if err := s.findPorts(ctx); err != nil {
			return err
		}
	}
	s.backends = nil
	for _, b := range s.Backends {
		g, err := counters.NewReader(ctx, b.Target, nil)
		if err != nil {
			return err
		}
		if b.Mount != "" {
			g.CountServer(b.Mount)
		}
		s.backends = append(s.backends, g)
	}
	if s.meter, err = counters.NewEnergyMeter(ctx, s.host()); err != nil {
		return err
	}
	s.atStart, err = s.counters.Read(ctx)
	return err
}
