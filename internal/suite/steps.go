package suite

import (
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
)

// StepsFor returns the steps of a load whose job names none. Its measurement is valid only if the place is prepared:
//
//   - A device is filled before a load that reads, alone or mixed with writes: the drive's controller answers reads of
//     blocks that were not written since the last discard without touching its flash. One fill serves all cells up to
//     the next discard.
//   - A device is discarded before each load that only writes, so that no load inherits the state that an earlier load
//     left.
//   - In a directory the scratch file is laid out once for all cells, and removed after the last.
//   - A load that touches no storage (ioengine=null) needs nothing.
func StepsFor(place lab.PlaceKind, params map[string]string) []lab.Step {
	switch {
	case !touchesStorage(params) || place == lab.NoPlace:
		return []lab.Step{lab.Load}
	case place == lab.Directory:
		return []lab.Step{lab.Layout, lab.Load, lab.CleanUp}
	case reads(params), trims(params):
		return []lab.Step{lab.Fill, lab.Load}
	default:
		return []lab.Step{lab.Discard, lab.Load}
	}
}

// The kinds of layout that a load can find: the values of lab.LayoutState.Kind.
const (
	layoutFile      = "file"
	layoutFill      = "fill"
	layoutDiscarded = "discarded"
	layoutNone      = "none"
)

// LayoutKind is the state of the data that the cell's steps prepare for its load, in the words of
// lab.LayoutState.Kind: "file", "fill", "discarded" or "none". Cells of one kind can be carried out in any order
// without preparing again; going from "discarded" to "fill" costs a fill of the whole device.
func (c Cell) LayoutKind() string {
	kind := layoutNone
	for _, s := range c.Steps {
		switch s {
		case lab.Layout:
			kind = layoutFile
		case lab.Fill:
			kind = layoutFill
		case lab.Discard:
			kind = layoutDiscarded
		case lab.Load:
			return kind
		}
	}
	return kind
}

// Writes reports whether the load itself writes, trims or may do so. A command may always do so.
func (c Cell) Writes() bool {
	return c.Engine == lab.EngineExec || lab.ByFio(c.Engine) && touchesStorage(c.Params) && !fio.OnlyReads(c.Params)
}

// StepLoad returns the fio parameters with which the steps Fill and Layout write; false for the other steps. Each
// buffer has new random data (refill_buffers), so that neither compression nor deduplication can store less than was
// written. A fill is one process writing once from end to end: several processes, each with the whole size, would write
// that many times as much (TKperf PR #47). A layout goes through the page cache and is flushed, because not every file
// system takes O_DIRECT.
func StepLoad(step lab.Step) (map[string]string, bool) {
	switch step {
	case lab.Fill:
		return map[string]string{"rw": "write", "bs": "1m", "ioengine": "libaio", "iodepth": "32", "direct": "1",
			"refill_buffers": "1", "end_fsync": "1"}, true
	case lab.Layout:
		return map[string]string{"rw": "write", "bs": "1m", "ioengine": "psync", "fallocate": "none",
			"refill_buffers": "1", "end_fsync": "1"}, true
	}
	return nil, false
}

// suits reports whether a step is possible on a kind of place.
func suits(step lab.Step, place lab.PlaceKind) bool {
	switch step {
	case lab.Load:
		return true
	case lab.Discard, lab.Fill:
		return place == lab.Device
	default:
		return place == lab.Directory
	}
}

// stepFault describes what is wrong with the order of steps; empty if nothing is.
func stepFault(steps []lab.Step) string {
	load := slices.Index(steps, lab.Load)
	if load < 0 {
		return "the steps lack load"
	}
	for i, s := range steps {
		if before := s != lab.CleanUp; s != lab.Load && before != (i < load) {
			if before {
				return fmt.Sprintf("the step %s must stand before load", s)
			}
			return fmt.Sprintf("the step %s must stand after load", s)
		}
	}
	if fill := slices.Index(steps, lab.Fill); fill >= 0 && slices.Index(steps, lab.Discard) > fill {
		return "the step discard would undo the fill before it"
	}
	return ""
}
