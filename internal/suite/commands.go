package suite

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/load/served"
)

// Commands returns a suite's plain command lines on a kind of place: one repetition of each cell, with each step where
// it is needed. They can be pasted once DEVICE or DIRECTORY is replaced; lines that begin with # explain. The cells are
// in the file's order, but those that need a filled device come last, as in a run, so that one fill is enough. It
// returns the errors of Cells.
func (s Suite) Commands(place lab.PlaceKind, asPublished bool) ([]string, error) {
	cells, err := s.Cells(place, asPublished)
	if err != nil {
		return nil, err
	}
	var filled []Cell
	cells = slices.DeleteFunc(cells, func(c Cell) bool {
		if c.LayoutKind() != layoutFill {
			return false
		}
		filled = append(filled, c)
		return true
	})
	cells = append(cells, filled...)
	lines := []string{"# " + s.Name + ": " + s.Title}
	if asPublished {
		lines = append(lines, "# as published: "+s.Published.Note)
	}
	path := map[lab.PlaceKind]string{lab.Device: "DEVICE", lab.Directory: "DIRECTORY/scratch"}[place]
	state := layoutNone
	for _, c := range cells {
		lines = append(lines, "", "# "+strings.TrimSuffix(c.ID+": "+c.JobTitle, ": "))
		if c.Engine == lab.EngineExec {
			lines = append(lines, c.CommandLines(map[lab.PlaceKind]string{lab.Directory: "DIRECTORY/" + c.ID,
				lab.NoPlace: "FOLDER"}[place])...)
			continue
		}
		if g, ok := served.Of(c.Engine); ok {
			at := served.End{Address: "ADDRESS", Port: served.Port}
			lines = append(lines, lab.ShellQuote(g.Server(c.Params, at, served.Longest(c.Runtime)))+"  # on the server",
				lab.ShellQuote(g.Client(c.Params, at))+"  # on the client")
			continue
		}
		for _, step := range c.Steps {
			switch step {
			case lab.Discard:
				lines = append(lines, lab.ShellQuote([]string{"blkdiscard", "-f", path}))
				state = layoutDiscarded
			case lab.Fill, lab.Layout:
				if done := map[lab.Step]string{lab.Fill: layoutFill, lab.Layout: layoutFile}[step]; state != done {
					lines = append(lines, s.prepare(step, path, cells))
					state = done
				}
			case lab.Load:
				lines = append(lines, lab.ShellQuote(fio.Argv(c.ID, c.Params, fio.Options{Filename: path})))
			}
		}
	}
	if slices.ContainsFunc(cells, func(c Cell) bool { return slices.Contains(c.Steps, lab.Layout) }) {
		lines = append(lines, "", lab.ShellQuote([]string{"rm", path}))
	}
	return lines, nil
}

// prepare returns the command of a fill or a layout.
func (s Suite) prepare(step lab.Step, path string, cells []Cell) string {
	params, _ := StepLoad(step)
	if step == lab.Layout {
		params["size"] = "SIZE"
		if size := s.ScratchSize(cells); size > 0 {
			params["size"] = bytesFor(size)
		}
	}
	return lab.ShellQuote(fio.Argv(string(step), params, fio.Options{Filename: path}))
}
