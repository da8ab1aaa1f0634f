package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/load/served"
	"headroom/internal/prose"
	"headroom/internal/runner"
	"headroom/internal/suite"
	"headroom/internal/target"
	"headroom/internal/unit"
)

// printSummary says on standard error what is about to happen: what was taken for the place, how much is written, how
// long it takes.
func (m *measurement) printSummary(ctx context.Context) {
	m.print("", m.where())
	m.print("  ", strings.Join(m.estimate(ctx), "; "))
	m.printEvents()
	if t, ok := m.target.(target.Caveats); ok {
		for _, text := range t.Caveats(ctx) {
			m.print("  ", text)
		}
	}
}

// print prints a line to standard error; on a terminal that is narrower, several.
func (p *program) print(prefix, text string) {
	p.outputMu.Lock()
	defer p.outputMu.Unlock()
	text = p.naming.text(text) // before it is broken into lines
	if width := columns(p.Stderr); width > 0 {
		(&wrapper{out: p.Stderr, width: width}).line(prefix, text)
		return
	}
	fmt.Fprintln(p.Stderr, prefix+text)
}

// where is what was taken for the place: "quick in /srv: ext4 on sda; a scratch file of 1 GiB, removed at the end".
func (m *measurement) where() string {
	place, there := m.place(), ""
	if name := target.RemoteName(m.target); name != "" {
		there = " of " + name
	}
	switch {
	case m.server != nil:
		return fmt.Sprintf("%s from %s to %s at %s, port %d", m.run.Suite, m.target.Name(), m.server.Target.Name(),
			m.server.Address, m.server.Port)
	case place.Kind == lab.Directory:
		return fmt.Sprintf("%s in %s%s: %s", m.run.Suite, place.Path, there, m.describeDirectory(place))
	case place.Kind == lab.Device && m.device == nil:
		use := "which is only read"
		if m.blank != nil {
			use = "made for it and written to"
		}
		return fmt.Sprintf("%s on %s%s: %s, %s", m.run.Suite, place.Path, there, unit.Capacity(float64(place.Size)),
			use)
	case place.Kind == lab.Device:
		return fmt.Sprintf("%s on %s: %s", m.run.Suite, place.Path, m.device.describe())
	case there != "":
		return m.run.Suite + " on " + target.RemoteName(m.target) + ", which touches no storage"
	default:
		return m.run.Suite + ", which touches no storage"
	}
}

func (m *measurement) describeDirectory(place lab.Place) string {
	text := place.Filesystem
	if len(place.Disks) > 0 {
		text += " on " + strings.Join(place.Disks, ", ")
	}
	var made []string
	if m.sharedScratch != nil {
		return text + "; the scratch file that lies there already"
	}
	if place.Size > 0 {
		made = append(made, "a scratch file of "+unit.Bytes(float64(place.Size)))
	}
	if slices.ContainsFunc(m.run.Cells, func(c lab.Cell) bool { return c.Command != nil }) {
		made = append(made, "a folder for what commands write")
	}
	return fmt.Sprintf("%s; %s, removed at the end", text, strings.Join(made, " and "))
}

// estimate is what the run costs: loads, time, bytes written.
func (m *measurement) estimate(ctx context.Context) []string {
	cells := m.suiteCells()
	place := m.place()
	parts := []string{prose.Count(len(cells), "cell"), prose.Count(m.planned()-len(m.saved), "load")}
	if t := suite.EstimateTime(cells, m.pause()); t > 0 {
		parts = append(parts, "about "+unit.Duration(t))
	}
	most, writes := "", m.writes(cells)
	if m.run.Anytime {
		parts = m.adaptiveEstimate()
		most, writes = "at most ", m.writesAtMost(cells, place.Size)
	}
	if place.Kind == lab.NoPlace {
		return parts
	}
	text := "writes " + most + writtenText(writes)
	if place.Kind == lab.Device && writes.Total()+float64(len(writes.Unbounded)) > 0 {
		text += m.wear(ctx, place, writes.Total())
	}
	return append(parts, text)
}

// writes bounds what cells write, with one layout or fill where none lies there.
func (m *measurement) writes(cells []suite.Cell) suite.Writes {
	w := suite.EstimateWrites(cells, m.place().Size, 0)
	if m.sharedScratch != nil {
		w.Prepare = 0
	}
	return w
}

// writtenText is what is written: "1.33 GB and what 2 cells can write in the time". A cell of several arms is one.
func writtenText(w suite.Writes) string {
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
	return strings.Join(parts, " and ")
}

// wear says how much of a drive's life is used and how much of it the run takes, where the drive tells.
func (m *measurement) wear(ctx context.Context, place lab.Place, writes float64) string {
	if len(place.Disks) == 0 {
		return ""
	}
	w := facts.Endurance(ctx, m.target, place.Disks[0])
	if w.Unknown != "" {
		return "; its wear is unknown"
	}
	text := fmt.Sprintf("; %s of its rated life is used", unit.Percent(w.Used))
	if w.Rated > 0 {
		text += fmt.Sprintf(", and this is about %s of it", unit.Percent(writes/float64(w.Rated)))
	}
	return text
}

// suiteCells are the cells of the run as the suite's estimates take them, with the repetitions that are still to be
// made.
func (m *measurement) suiteCells() []suite.Cell {
	cells := make([]suite.Cell, len(m.run.Cells))
	for i, c := range m.run.Cells {
		cells[i] = suiteCell(c)
		for _, r := range m.saved {
			if r.Cell == c.ID {
				cells[i].Repetitions--
			}
		}
	}
	return cells
}

// printPlan is what --dry-run prints: the cells and their commands.
func (m *measurement) printPlan() error {
	l := m.listing(m.options.dryRun)
	m.listPlan(l)
	return l.end()
}

func (m *measurement) listPlan(l listing) {
	more := ""
	if m.run.Anytime {
		l.line("%s", m.adaptiveEnd())
		more = " or more"
	}
	m.listLoads(l, func(c runner.Cell) string {
		return fmt.Sprintf("%s, %s%s: %v", c.Title, prose.Count(c.Repetitions, "repetition"), more, c.Steps)
	})
}

// listLoads lists each load, and its commands.
func (m *measurement) listLoads(l listing, heading func(runner.Cell) string) {
	filename := m.filename()
	for _, c := range m.runnerMeasurement().Cells {
		l.line("%s", heading(c))
		switch {
		case c.Command != nil:
			l.commands(suiteCell(c.Cell).CommandLines(m.workFolder(c.ID))...)
		case m.server != nil:
			server, client := m.commandsOf(c.Cell)
			l.commands("server: "+lab.ShellQuote(server), "client: "+lab.ShellQuote(client))
		default:
			l.commands(lab.ShellQuote(fio.Argv(c.Job, c.Params, fio.Options{Filename: filename})))
		}
	}
}

// commandsOf are those of the two ends of a network's test.
func (m *measurement) commandsOf(c lab.Cell) (server, client []string) {
	g, _ := served.Of(c.Engine)
	at := served.End{Address: m.server.Address, Port: m.server.Port}
	return g.Server(c.Params, at, served.Longest(expectedTime(c))), g.Client(c.Params, at)
}

// workFolder is where the command of a cell works.
func (m *measurement) workFolder(cell string) string {
	if m.place().Kind != lab.Directory {
		return "FOLDER" // of the job, in memory
	}
	return filepath.Join(runner.WorkFolder(m.place().Path, m.owner()), cell)
}
