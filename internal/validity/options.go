package validity

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/unit"
)

// options are the options of fio for the load.
type options struct {
	// repeated are the options as fio repeats them in its output, asked those that it was given.
	repeated, asked map[string]string
	// version of fio, empty if its output does not have it. partial output is text that may have lost lines.
	version string
	partial bool
	// command is the command line of the load, where that is known.
	command []string
}

func (e *Evidence) options() options {
	return options{repeated: e.Group.Params, asked: e.Cell.Params, version: e.Document.Version,
		partial: e.Document.Partial, command: e.Repetition.Command}
}

// param returns a parameter of the load: as fio repeats it in its output, else as the cell has it.
func (o options) param(name string) (string, bool) {
	if v, ok := o.repeated[name]; ok {
		return v, true
	}
	v, ok := o.asked[name]
	return v, ok
}

// complete reports whether all options are known, so that one that is missing has fio's default. fio repeats all that
// it was given in its JSON output; of a text, only a whole command says as much.
func (o options) complete() bool {
	return o.version != "" && !o.partial && len(o.repeated) > 0 || o.partial && fio.StatesAll(o.command)
}

// isOn reads a switch whose default is off. fio prints a switch without a value as an empty string or "1".
func (o options) isOn(name string) bool {
	v, ok := o.param(name)
	return ok && v != "0"
}

// amount reads a number in fio's notation; the fallback when it is absent or something else (a range, a percentage).
func (o options) amount(name string, fallback int64) int64 {
	v, ok := o.param(name)
	if !ok {
		return fallback
	}
	n, err := unit.ParseBytes(v)
	if err != nil {
		return fallback
	}
	return n
}

// seconds reads a time in fio's notation; 0 when absent.
func (o options) seconds(name string) float64 {
	v, ok := o.param(name)
	if !ok {
		return 0
	}
	d, err := unit.ParseDuration(v)
	if err != nil {
		return 0
	}
	return d.Seconds()
}

// direct reports whether O_DIRECT was asked for, and whether that is known. fio's default is buffered.
func (o options) direct() (on, known bool) {
	if v, ok := o.param("direct"); ok {
		return v != "0", true
	}
	if v, ok := o.param("buffered"); ok {
		return v == "0", true
	}
	return false, o.complete()
}

// engine is fio's I/O engine, psync by default on Linux; empty when unknown.
func (o options) engine() string {
	v, ok := o.param("ioengine")
	switch {
	case ok:
		name, _, _ := strings.Cut(v, ":")
		return name
	case o.complete():
		return "psync"
	default:
		return ""
	}
}

// synchronousEngines carry out one operation at a time, whatever depth is asked of them. Source: fio's HOWTO, ioengine.
func synchronousEngines() []string {
	return []string{"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"}
}

// depth is what one job may have in flight; 1 when not asked for.
func (o options) depth() float64 { return float64(max(1, o.amount("iodepth", 1))) }

// syncsAsItWrites reports whether writes are made durable while the load runs.
func (o options) syncsAsItWrites() bool {
	for _, name := range []string{"fsync", "fdatasync", "sync", "sync_file_range"} {
		if v, ok := o.param(name); ok && v != "0" && v != "none" {
			return true
		}
	}
	return false
}

// syncsAtTheEnd reports whether the measured time contains a flush of all that was written.
func (o options) syncsAtTheEnd() bool { return o.isOn("end_fsync") || o.isOn("fsync_on_close") }

// pattern is fio's rw without its modifiers: "randread", "readwrite".
func (o options) pattern() string {
	v, ok := o.param("rw")
	if !ok {
		v, ok = o.param("readwrite")
	}
	if !ok && o.complete() {
		return "read"
	}
	v, _, _ = strings.Cut(v, ":")
	return v
}

func (o options) random() bool { return strings.HasPrefix(o.pattern(), "rand") }

// blockSizes are how many bytes an operation has, by direction; fio's bs is "4k" for all, or "4k,8k" for reads and
// writes (and trims). Nil where they are not known, or differ: a range, a split.
func (o options) blockSizes() map[string]int64 {
	text, ok := o.param("bs")
	if !ok {
		text, ok = o.param("blocksize")
	}
	// kb_base changes how much a k is.
	for _, option := range []string{"bssplit", "bsrange", "blocksize_range", "kb_base"} {
		_, differ := o.param(option)
		ok = ok && !differ
	}
	if !ok {
		return nil
	}
	sizes := map[string]int64{}
	last := int64(0)
	parts := splitList(text)
	for i, d := range []string{lab.Read, lab.Write, lab.Trim} {
		if i < len(parts) && parts[i] != "" {
			n, err := unit.ParseBytes(parts[i])
			if err != nil {
				return nil
			}
			last = n
		}
		sizes[d] = last
	}
	if sizes[lab.Read] == sizes[lab.Write] {
		sizes[lab.Mixed] = sizes[lab.Read]
	}
	return sizes
}

// batches reports whether the load waits for several completions at a time, so that the queue drains by design.
func (o options) batches() bool {
	for _, name := range []string{"iodepth_low", "iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete",
		"iodepth_batch_complete_min", "serialize_overlap"} {
		if _, ok := o.param(name); ok {
			return true
		}
	}
	return false
}

// expectedDirections are those in which the load must do something.
func (o options) expectedDirections() []string {
	if o.mixedAway("rwmixread") || o.mixedAway("rwmixwrite") {
		return nil
	}
	return slices.DeleteFunc([]string{lab.Read, lab.Write, lab.Trim}, func(d string) bool { return !o.asksFor(d) })
}

// mixedAway reports whether a share of 0 or 100 leaves one direction of a mixed load out.
func (o options) mixedAway(share string) bool {
	v, ok := o.param(share)
	return ok && (v == "0" || v == "100")
}

// asksFor reports whether fio's rw contains a direction.
func (o options) asksFor(direction string) bool {
	p := strings.TrimPrefix(o.pattern(), "rand")
	switch p {
	case "rw", "readwrite":
		return direction != lab.Trim
	case "trimwrite":
		return direction != lab.Read
	default:
		return p == direction
	}
}

func splitList(s string) []string {
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}
