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

// cells finds the cell of a measurement. Measurements belong to the same cell if arm, engine, job name and parameters
// are equal, except for those of perRepetition.
type cells struct {
	ignored map[string]string
	byKey   map[string]*cell
	ids     map[string]int
	key     []byte
	names   []string
}

// cell is the part of a cell that is kept while its repetitions are passed on.
type cell struct {
	lab.Cell
	repetitions int
}

func newCells() *cells {
	return &cells{ignored: perRepetition(), byKey: map[string]*cell{}, ids: map[string]int{}}
}

// keyOf returns a cell's key; it is valid until the next call.
func (c *cells) keyOf(arm string, m measurement) []byte {
	params := m.params
	// The names are sorted into a reused slice, and a lookup by a converted []byte allocates nothing: ten thousand
	// repetitions of a cell leave no garbage here.
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

// id returns a name that can be read, typed and used as a file name: "randread-4k-q32-j4". Parts of the job's name are
// not repeated. Cells that differ in other parameters get a number, in the order in which they appear.
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

// first returns the value of the first of the names that is set; fio has several names for some options.
func first(params map[string]string, names ...string) string {
	for _, n := range names {
		if v, ok := params[n]; ok {
			return v
		}
	}
	return ""
}

// slug keeps the letters and digits of s and replaces everything between them by a hyphen.
func slug(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	id := strings.Join(words, "-")
	return id[:min(len(id), 60)]
}

// perRepetition returns the fio options that may differ between repetitions of one load, with the reason. They neither
// distinguish cells nor appear in a cell's parameters; the raw file has them.
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

// device returns the block device in a value of filename; empty if there is none. Several devices (fio separates them
// by colons) are kept unchanged.
func device(filename string) string {
	if strings.HasPrefix(filename, "/dev/") && !strings.HasPrefix(filename, "/dev/shm/") {
		return filename
	}
	return ""
}
