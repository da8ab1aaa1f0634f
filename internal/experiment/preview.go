package experiment

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/runner/workspace"
	"github.com/headroom/headroom/internal/unit"
)

// PrintSummary says on standard error what is about to happen: what was taken for the place, how much is written, how
// long it takes.
func (m *Measurement) PrintSummary(ctx context.Context) {
	m.App.Print("", m.Where())
	m.App.Print("  ", strings.Join(m.Workload().estimate(ctx, m.Target), "; "))
	if !m.Observer {
		PrintEvents(m.App, m.Run.Events, m.Target.Name())
	}
	if t, ok := m.Target.(host.Caveats); ok {
		for _, text := range t.Caveats(ctx) {
			m.App.Print("  ", text)
		}
	}
}

// Where is what was taken for the place: "quick in /srv: ext4 on sda; a scratch file of 1 GiB, removed at the end".
func (m *Measurement) Where() string {
	place, there := m.Place(), ""
	if name := host.RemoteName(m.Target); name != "" {
		there = " of " + name
	}
	switch {
	case m.Server != nil:
		return fmt.Sprintf("%s from %s to %s at %s, port %d", m.Run.Suite, m.Target.Name(), m.Server.Target.Name(),
			m.Server.Address, m.Server.Port)
	case place.Kind == lab.Directory:
		return fmt.Sprintf("%s in %s%s: %s", m.Run.Suite, place.Path, there, m.Workload().describeDirectory())
	case place.Kind == lab.Device && m.held.device == nil:
		use := "which is only read"
		if m.held.blank != nil {
			use = "made for it and written to"
		}
		return fmt.Sprintf("%s on %s%s: %s, %s", m.Run.Suite, place.Path, there, unit.Capacity(float64(place.Size)),
			use)
	case place.Kind == lab.Device:
		return fmt.Sprintf("%s on %s: %s", m.Run.Suite, place.Path, m.held.device.describe())
	case there != "":
		return m.Run.Suite + " on " + host.RemoteName(m.Target) + ", which touches no storage"
	default:
		return m.Run.Suite + ", which touches no storage"
	}
}

// ListPlan says in which order the loads come, and what each of them does.
func (m *Measurement) ListPlan(l app.Listing) {
	more := ""
	if m.Run.Anytime {
		l.Line("%s", m.Workload().adaptiveEnd())
		more = " or more"
	}
	m.ListLoads(l, func(c runner.Cell) string {
		return fmt.Sprintf("%s, %s%s: %v", c.Title, prose.Count(c.Repetitions, "repetition"), more, c.Steps)
	})
	m.ProfiledLoads().List(l)
}

// ListLoads lists each load, and its commands.
func (m *Measurement) ListLoads(l app.Listing, heading func(runner.Cell) string) {
	filename, folder := m.Filename(), "FOLDER" // of the job, in memory
	if m.Place().Kind == lab.Directory {
		folder = workspace.Folder(m.Place().Path, m.Owner())
	}
	for _, c := range m.RunnerMeasurement().Cells {
		l.Line("%s", heading(c))
		switch {
		case c.Command != nil:
			l.Commands(suiteCell(c.Cell).CommandLines(filepath.Join(folder, c.ID))...)
		case m.Server != nil:
			server, client := m.Server.Commands(c.Cell)
			l.Commands("server: "+lab.ShellQuote(server), "client: "+lab.ShellQuote(client))
		default:
			params := runner.LoadParams(m.Place(), c.Params, m.Place().Size)
			l.Commands(lab.ShellQuote(fio.Argv(c.Job, params, fio.Options{Filename: filename,
				Together: m.Place().Members})))
		}
	}
}

// Preview adds the command lines of a side's loads, by cell.
func Preview(ctx context.Context, side runner.Measurement, lines map[string]runner.Lines) error {
	p, err := runner.NewPreview(ctx, side)
	if err != nil {
		return err
	}
	for _, c := range side.Cells {
		if lines[c.ID], err = p.Lines(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// Filename is what the load generator opens: the scratch file of a directory, or the device.
func (m *Measurement) Filename() string {
	if m.Place().Kind == lab.Directory {
		return workspace.ScratchFile(m.Place().Path, m.Owner())
	}
	return m.Place().Resolved
}
