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
	"headroom/internal/runner"
	"headroom/internal/suite"
	"headroom/internal/target"
	"headroom/internal/unit"
)

// preface says on standard error what is about to happen: what was taken for the place, how much is written, how long it
// takes.
func (m *measurement) preface(ctx context.Context) {
	m.say("", m.where())
	m.say("  ", strings.Join(m.effort(ctx), "; "))
	m.sayUpsets()
	if t, ok := m.target.(target.Caveats); ok {
		for _, text := range t.Caveats(ctx) {
			m.say("  ", text)
		}
	}
}

// say prints a line to standard error; on a terminal that is narrower, several.
func (p *program) say(prefix, text string) {
	p.saying.Lock()
	defer p.saying.Unlock()
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
	if name := elsewhere(m.target); name != "" {
		there = " of " + name
	}
	switch {
	case m.server != nil:
		return fmt.Sprintf("%s from %s to %s at %s, port %d", m.run.Suite, m.target.Name(), m.server.Target.Name(), m.server.Address, m.server.Port)
	case place.Kind == lab.Directory:
		return fmt.Sprintf("%s in %s%s: %s", m.run.Suite, place.Path, there, m.describeDirectory(place))
	case place.Kind == lab.Device && m.device == nil:
		use := "which is only read"
		if m.blank != nil {
			use = "made for it and written to"
		}
		return fmt.Sprintf("%s on %s%s: %s, %s", m.run.Suite, place.Path, there, unit.Capacity(float64(place.Size)), use)
	case place.Kind == lab.Device:
		return fmt.Sprintf("%s on %s: %s", m.run.Suite, place.Path, m.device.describe())
	case there != "":
		return m.run.Suite + " on " + elsewhere(m.target) + ", which touches no storage"
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
	if m.laid != nil {
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

// effort is what the run costs: loads, time, bytes written.
func (m *measurement) effort(ctx context.Context) []string {
	cells := m.suiteCells()
	place := m.place()
	parts := []string{plural(len(cells), "cell"), plural(m.planned()-len(m.kept), "load")}
	if t := suite.EstimateTime(cells, m.pause()); t > 0 {
		parts = append(parts, "about "+unit.Duration(t))
	}
	text, writes := "writes ", suite.EstimateWrites(cells, place.Size, 0)
	if m.laid != nil {
		writes.Prepare = 0
	}
	if m.run.Anytime {
		parts = m.pursuitEffort()
		text, writes = "writes at most ", m.writesAtMost(cells, place.Size)
	}
	if place.Kind == lab.NoPlace {
		return parts
	}
	if writes.Total() > 0 || len(writes.Unbounded) == 0 {
		text += unit.Capacity(writes.Total())
	}
	if len(writes.Unbounded) > 0 {
		if writes.Total() > 0 {
			text += " and "
		}
		text += "what " + plural(len(writes.Unbounded), "cell") + " can write in the time"
	}
	if place.Kind == lab.Device && writes.Total()+float64(len(writes.Unbounded)) > 0 {
		text += m.wear(ctx, place, writes.Total())
	}
	return append(parts, text)
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

// suiteCells are the cells of the run as the suite's estimates take them, with the repetitions that are still to be made.
func (m *measurement) suiteCells() []suite.Cell {
	cells := make([]suite.Cell, len(m.run.Cells))
	for i, c := range m.run.Cells {
		cells[i] = suiteCell(c)
		for _, r := range m.kept {
			if r.Cell == c.ID {
				cells[i].Repetitions--
			}
		}
	}
	return cells
}

// printPlan is what --dry-run prints: the cells and their commands.
func (m *measurement) printPlan() error {
	more := ""
	if m.run.Anytime {
		fmt.Fprintln(m.Stdout, m.pursuitEnd())
		more = " or more"
	}
	m.printLoads(func(c runner.Cell) string {
		return fmt.Sprintf("%s, %s%s: %v", c.Title, plural(c.Repetitions, "repetition"), more, c.Steps)
	})
	return nil
}

// printLoads prints the commands of each load below its heading.
func (m *measurement) printLoads(heading func(runner.Cell) string) {
	filename := m.filename()
	for _, c := range m.experiment().Cells {
		fmt.Fprintln(m.Stdout, heading(c))
		if c.Command != nil {
			for _, line := range suiteCell(c.Cell).CommandLines(m.workFolder(c.ID)) {
				fmt.Fprintln(m.Stdout, "  "+line)
			}
			continue
		}
		if m.server != nil {
			server, client := m.commandsOf(c.Cell)
			fmt.Fprintln(m.Stdout, "  server: "+lab.ShellQuote(server))
			fmt.Fprintln(m.Stdout, "  client: "+lab.ShellQuote(client))
			continue
		}
		fmt.Fprintln(m.Stdout, "  "+lab.ShellQuote(fio.Argv(c.Job, c.Params, fio.Options{Filename: filename})))
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

// plural is a number with its noun: "1 cell", "2 cells".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
