package experiment

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/load/served"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/runner/workspace"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// PrintSummary says on standard error what is about to happen: what was taken for the place, how much is written, how
// long it takes.
func (m *Measurement) PrintSummary(ctx context.Context) {
	m.App.Print("", m.Where())
	m.App.Print("  ", strings.Join(m.estimate(ctx), "; "))
	m.PrintEvents()
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
		return fmt.Sprintf("%s in %s%s: %s", m.Run.Suite, place.Path, there, m.describeDirectory(place))
	case place.Kind == lab.Device && m.device == nil:
		use := "which is only read"
		if m.blank != nil {
			use = "made for it and written to"
		}
		return fmt.Sprintf("%s on %s%s: %s, %s", m.Run.Suite, place.Path, there, unit.Capacity(float64(place.Size)),
			use)
	case place.Kind == lab.Device:
		return fmt.Sprintf("%s on %s: %s", m.Run.Suite, place.Path, m.device.describe())
	case there != "":
		return m.Run.Suite + " on " + host.RemoteName(m.Target) + ", which touches no storage"
	default:
		return m.Run.Suite + ", which touches no storage"
	}
}

func (m *Measurement) describeDirectory(place lab.Place) string {
	text := place.Filesystem
	if len(place.Disks) > 0 {
		text += " on " + strings.Join(place.Disks, ", ")
	}
	var made []string
	if m.SharedScratch != nil {
		return text + "; the scratch file that lies there already"
	}
	if place.Size > 0 {
		made = append(made, "a scratch file of "+unit.Bytes(float64(place.Size)))
	}
	if slices.ContainsFunc(m.Run.Cells, func(c lab.Cell) bool { return c.Command != nil }) {
		made = append(made, "a folder for what commands write")
	}
	return fmt.Sprintf("%s; %s, removed at the end", text, strings.Join(made, " and "))
}

// estimate is what the run costs: loads, time, bytes written.
func (m *Measurement) estimate(ctx context.Context) []string {
	cells := m.SuiteCells()
	place := m.Place()
	parts := []string{prose.Count(len(cells), "cell"), prose.Count(m.Planned()-len(m.Saved), "load")}
	if text := ProfilesText(m); text != "" {
		parts = append(parts, text)
	}
	if t := suite.EstimateTime(cells, m.Pause()); t > 0 {
		parts = append(parts, "about "+unit.Duration(t+ProfilesTime(m)))
	}
	writes := m.Writes(m.withProfiles(cells))
	if m.Run.Anytime {
		parts = m.adaptiveEstimate()
		if text := ProfilesText(m); text != "" {
			parts = append(parts, text+", which takes "+unit.Duration(ProfilesTime(m)))
		}
		writes = m.writesAtMost(cells)
	}
	if place.Kind == lab.NoPlace {
		return parts
	}
	text := "writes " + WrittenText(writes, m.Run.Anytime)
	if place.Kind == lab.Device && writes.Total()+float64(len(writes.Unbounded)) > 0 {
		text += m.wear(ctx, place, writes)
	}
	return append(parts, text)
}

// Writes bounds what cells write, with one layout or fill where none lies there.
func (m *Measurement) Writes(cells []suite.Cell) suite.Writes {
	w := suite.EstimateWrites(cells, m.Place().Size, m.bandwidth())
	if m.SharedScratch != nil {
		w.Prepare = 0
	}
	return w
}

// bandwidth returns what the place takes at most for each cell: what the way to it carries, where the facts tell, or as
// many of the fastest links of a drive as it has disks.
func (m *Measurement) bandwidth() func(cell string) suite.Bandwidth {
	ceilings := ceiling.OfCells(m.Run)
	_, fastest, _ := ceiling.PCIe(32, 4, 0) // PCIe 5.0 x4
	assumed := suite.Bandwidth{Most: fastest * float64(max(1, len(m.Place().Disks))), Assumed: true}
	return func(cell string) suite.Bandwidth {
		c, known := ceiling.Tightest(ceilings[cell], lab.Bandwidth(lab.Write))
		if !known || math.IsInf(c.Most, 1) || !(c.Most > 0) {
			return assumed
		}
		return suite.Bandwidth{Most: c.Most}
	}
}

// WrittenText is what is written: "1.33 GB and what 2 cells can write in the time". A cell of several arms is one. Less
// than that may be written where most is set, and where a load ends with its time before it has written all.
func WrittenText(w suite.Writes, most bool) string {
	unbounded := map[string]bool{}
	for _, id := range w.Unbounded {
		cell, _, _ := strings.Cut(id, "@")
		unbounded[cell] = true
	}
	var parts []string
	if w.Total() > 0 || len(unbounded) == 0 {
		parts = append(parts, unit.Capacity(w.Total()))
	}
	if n := len(unbounded); n > 0 {
		parts = append(parts, "what "+prose.Count(n, "cell")+" can write in the time")
	}
	text := strings.Join(parts, " and ")
	if most || w.InTime > 0 {
		return "at most " + text
	}
	return text
}

// wear returns how much of a drive's life is used and how much of it the run takes, if the drive reports that.
func (m *Measurement) wear(ctx context.Context, place lab.Place, writes suite.Writes) string {
	if len(place.Disks) == 0 {
		return ""
	}
	w := storage.Endurance(ctx, m.Target, place.Disks[0])
	if w.Unknown != "" {
		return "; its wear is unknown"
	}
	text := fmt.Sprintf("; %s of its rated life is used", unit.Percent(w.Used))
	if w.Rated > 0 {
		about := "about"
		if writes.InTime > 0 {
			about = "at most"
		}
		text += fmt.Sprintf(", and this is %s %s of it", about, unit.Percent(writes.Total()/float64(w.Rated)))
	}
	return text
}

// SuiteCells are the cells of the run as the suite's estimates take them, with the repetitions that are still to be
// made.
func (m *Measurement) SuiteCells() []suite.Cell {
	cells := make([]suite.Cell, len(m.Run.Cells))
	for i, c := range m.Run.Cells {
		cells[i] = suiteCell(c)
		for _, r := range m.Saved {
			if r.Cell == c.ID {
				cells[i].Repetitions--
			}
		}
	}
	return cells
}

// ListPlan says in which order the loads come, and what each of them does.
func (m *Measurement) ListPlan(l app.Listing) {
	more := ""
	if m.Run.Anytime {
		l.Line("%s", m.adaptiveEnd())
		more = " or more"
	}
	m.ListLoads(l, func(c runner.Cell) string {
		return fmt.Sprintf("%s, %s%s: %v", c.Title, prose.Count(c.Repetitions, "repetition"), more, c.Steps)
	})
	m.ListProfiles(l)
}

// ListLoads lists each load, and its commands.
func (m *Measurement) ListLoads(l app.Listing, heading func(runner.Cell) string) {
	filename := m.Filename()
	for _, c := range m.RunnerMeasurement().Cells {
		l.Line("%s", heading(c))
		switch {
		case c.Command != nil:
			l.Commands(suiteCell(c.Cell).CommandLines(m.workFolder(c.ID))...)
		case m.Server != nil:
			server, client := m.CommandsOf(c.Cell)
			l.Commands("server: "+lab.ShellQuote(server), "client: "+lab.ShellQuote(client))
		default:
			params := runner.LoadParams(m.Place(), c.Params, m.Place().Size)
			l.Commands(lab.ShellQuote(fio.Argv(c.Job, params, fio.Options{Filename: filename,
				Together: m.Place().Members})))
		}
	}
}

// CommandsOf returns the commands of the two ends of a network's test.
func (m *Measurement) CommandsOf(c lab.Cell) (server, client []string) {
	g, _ := served.Of(c.Engine)
	at := served.End{Address: m.Server.Address, Port: m.Server.Port}
	return g.Server(c.Params, at, served.Longest(expectedTime(c))), g.Client(c.Params, at)
}

// workFolder is where the command of a cell works.
func (m *Measurement) workFolder(cell string) string {
	if m.Place().Kind != lab.Directory {
		return "FOLDER" // of the job, in memory
	}
	return filepath.Join(workspace.Folder(m.Place().Path, m.Owner()), cell)
}

// Preview adds the command lines of a side's loads, by cell.
func (m *Measurement) Preview(ctx context.Context, lines map[string]runner.Lines) error {
	e := m.RunnerMeasurement()
	p, err := runner.NewPreview(ctx, e)
	if err != nil {
		return err
	}
	for _, c := range e.Cells {
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
