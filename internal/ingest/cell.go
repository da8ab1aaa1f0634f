package ingest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// cells finds the cell of a measurement. Cells are the same when arm, engine, job name and parameters are, but for
// those of perRepetition.
type cells struct {
	ignored map[string]string
	byKey   map[string]*cell
	ids     map[string]int
	key     []byte
	names   []string
}

// cell is what is kept of a cell while its repetitions pass by.
type cell struct {
	lab.Cell
	repetitions int
}

func newCells() *cells {
	return &cells{ignored: perRepetition(), byKey: map[string]*cell{}, ids: map[string]int{}}
}

// keyOf tells cells apart; it is valid until the next call.
func (c *cells) keyOf(arm string, m measurement) []byte {
	params := m.params
	// The names are sorted into a slice that is used again, and a look-up by a converted []byte allocates nothing: ten
	// thousand repetitions of a cell leave no garbage here.
	c.names = c.names[:0]
	for name := range params {
		if _, ok := c.ignored[name]; !ok {
			c.names = append(c.names, name)
		}
	}
	slices.Sort(c.names)
	c.key = c.key[:0]
	for _, s := range [...]string{arm, m.engine, m.job} {
		c.key = append(append(c.key, s...), 0)
	}
	for _, name := range c.names {
		c.key = append(append(append(append(c.key, name...), '='), params[name]...), 0)
	}
	return c.key
}

// find returns the cell, and whether it is new.
func (c *cells) find(arm string, m measurement) (*cell, bool) {
	if known, ok := c.byKey[string(c.keyOf(arm, m))]; ok {
		return known, false
	}
	kept := maps.Clone(m.params)
	maps.DeleteFunc(kept, func(name, _ string) bool { _, ok := c.ignored[name]; return ok })
	if kept == nil {
		kept = map[string]string{}
	}
	telling := kept
	if m.paramsComplete {
		telling = nil
	}
	found := &cell{Cell: lab.Cell{ID: c.id(m.job, telling), Arm: arm, Engine: m.engine, Job: m.job, Params: kept,
		Partial: m.partial()}}
	c.byKey[string(c.key)] = found
	return found, true
}

// id makes a name that can be read, typed and used as a file name: "randread-4k-q32-j4". What the job's name says
// already is not said again. Cells that differ in other things get a number, in the order in which they appear.
func (c *cells) id(job string, params map[string]string) string {
	id := slug(job)
	add := func(prefix, value string) {
		if value = slug(value); value != "" && !strings.Contains(id, prefix+value) {
			id += "-" + prefix + value
		}
	}
	add("", first(params, "rw", "readwrite"))
	add("", unit.BlockSize(first(params, "bs", "blocksize")))
	add("q", params["iodepth"])
	add("j", params["numjobs"])
	if id = strings.Trim(id, "-"); id == "" {
		id = "job"
	}
	c.ids[id]++
	if n := c.ids[id]; n > 1 {
		id += "." + strconv.Itoa(n)
	}
	return id
}

// first is the value of the first of the names that is there; fio knows several names for some options.
func first(params map[string]string, names ...string) string {
	for _, n := range names {
		if v, ok := params[n]; ok {
			return v
		}
	}
	return ""
}

// slug keeps the letters and figures of s and puts a hyphen for what is between them.
func slug(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	id := strings.Join(words, "-")
	return id[:min(len(id), 60)]
}

// perRepetition are the fio options in which two repetitions of one load differ without being two loads, with the
// reason. They neither tell cells apart nor appear in a cell's parameters; the raw file has them.
func perRepetition() map[string]string {
	const log = "names a log file; what is logged is the same"
	return map[string]string{
		"name":            "the cell has it as its job",
		"filename":        "a scratch file has another name each time; a device (/dev/…) is the run's place",
		"filename_format": "names scratch files",
		"directory":       "a temporary directory is another each time; where it is known it is the run's place",
		"description":     "a remark",
		"output":          "where fio wrote its result",
		"output-format":   "the form of the result, not the load",
		"eta":             "display",
		"eta-newline":     "display",
		"eta-interval":    "display",
		"status-interval": "display",
		"randseed":        "changed between repetitions so that they do not touch the same offsets",
		"aux-path":        "where fio keeps its own files",
		"trigger-file":    "where fio looks for a trigger",
		"write_bw_log":    log,
		"write_lat_log":   log,
		"write_iops_log":  log,
		"write_hist_log":  log,
		"write_iolog":     log,
		"per_job_logs":    log,
		"client":          "where fio ran; the run has it as its target",
	}
}

// device is the block device among the values of filename; empty when there is none. Several devices (fio separates
// them by colons) are kept as they were given.
func device(filename string) string {
	if strings.HasPrefix(filename, "/dev/") && !strings.HasPrefix(filename, "/dev/shm/") {
		return filename
	}
	return ""
}
