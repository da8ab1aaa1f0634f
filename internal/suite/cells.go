package suite

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/served"
	"github.com/headroom/headroom/internal/unit"
)

// Cells expands the jobs for a kind of place, in the file's order. With asPublished the cells repeat what the suite's
// source did, faults included. The error is a usage error: the suite does not run on such a place, or has nothing
// published.
func (s Suite) Cells(place lab.PlaceKind, asPublished bool) ([]Cell, error) {
	if asPublished {
		var err error
		if s, err = s.AsPublished(); err != nil {
			return nil, err
		}
	}
	if i := slices.IndexFunc(s.Jobs, func(j Job) bool { return j.Exec != nil }); i >= 0 && place == lab.Device {
		return nil, &lab.Error{Kind: lab.Usage,
			What:  fmt.Sprintf("the job %s runs a command, which needs a directory and not a device", s.Jobs[i].Name),
			Hints: []string{fmt.Sprintf("headroom run %s DIRECTORY", s.Name)}}
	}
	if s.Place == Network && place != lab.NoPlace {
		return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("the suite %s measures a network, and no %s", s.Name,
			place), Hints: []string{"headroom net " + s.Name}}
	}
	if s.Place != Any && place != lab.PlaceKind(s.Place) && s.TouchesStorage() {
		return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("the suite %s needs a %s", s.Name, s.Place),
			Hints: []string{fmt.Sprintf("headroom run %s %s", s.Name, strings.ToUpper(string(s.Place)))}}
	}
	var cells []Cell
	taken := map[string]bool{}
	for _, j := range s.Jobs {
		for _, params := range s.combinations(j) {
			c := s.fioCell(j, params, place)
			switch {
			case j.Exec != nil:
				c = s.execCell(j, params)
			case j.Network != nil:
				c = networkCell(j, params)
			}
			c.ID = unique(cellID(j, params), taken)
			if c.Repetitions = j.Repetitions; c.Repetitions == 0 {
				c.Repetitions = s.Repetitions
			}
			cells = append(cells, c)
		}
	}
	return cells, nil
}

// fioCell makes a cell of a fio job with the given values of its parameters.
func (s Suite) fioCell(j Job, params map[string]string, place lab.PlaceKind) Cell {
	steps := j.Steps[place]
	if steps == nil || !touchesStorage(params) {
		steps = StepsFor(place, params)
	}
	return Cell{Job: j.Name, JobTitle: j.Title, Engine: lab.EngineFio, Params: params, Steps: slices.Clone(steps),
		Runtime: runtime(params)}
}

// AsPublished returns the suite changed to repeat what its source did. If there is no difference to the source it
// returns a usage error.
func (s Suite) AsPublished() (Suite, error) {
	p := s.Published
	if p == nil {
		return Suite{}, &lab.Error{Kind: lab.Usage,
			What:  fmt.Sprintf("the suite %s has no published form that differs from it", s.Name),
			Hints: []string{"run it without --as-published"}}
	}
	if p.Order != "" {
		s.Order = p.Order
	}
	jobs := slices.Clone(s.Jobs)
	for i := range jobs {
		if p.Repetitions > 0 {
			jobs[i].Repetitions = p.Repetitions
		}
		if !jobs[i].byFio() {
			continue
		}
		jobs[i].Fio = maps.Clone(jobs[i].Fio)
		maps.Copy(jobs[i].Fio, p.Fio)
		if p.Steps != nil {
			jobs[i].Steps = map[lab.PlaceKind][]lab.Step{lab.PlaceKind(s.Place): p.Steps}
		}
	}
	if p.Repetitions > 0 {
		s.Repetitions = p.Repetitions
	}
	s.Jobs = jobs
	return s, nil
}

// TouchesStorage reports whether any job reads or writes anything. A suite without such jobs needs no place.
func (s Suite) TouchesStorage() bool {
	return slices.ContainsFunc(s.Jobs, func(j Job) bool {
		return j.worksInFolder() || j.byFio() && slices.ContainsFunc(j.fioCombinations(), touchesStorage)
	})
}

// combinations returns the parameters of each of a job's cells, the last axis changing fastest.
func (s Suite) combinations(j Job) []map[string]string {
	if j.Exec != nil {
		return s.execCombinations(j)
	}
	if j.Network != nil {
		return spread(j.Network.Options, j.Matrix)
	}
	return j.fioCombinations()
}

// spread returns parameters once for each combination of the values of some axes, the last axis changing fastest.
func spread(params map[string]string, axes []Axis) []map[string]string {
	all := []map[string]string{params}
	for _, axis := range axes {
		var next []map[string]string
		for _, params := range all {
			for _, v := range axis.Values {
				with := maps.Clone(params)
				with[axis.Param] = v
				next = append(next, with)
			}
		}
		all = next
	}
	return all
}

func (j Job) fioCombinations() []map[string]string {
	all := spread(j.Fio, j.Matrix)
	for i, params := range all {
		params = maps.Clone(params)
		if params["ioengine"] == "" {
			// fio's own default on Linux. It is set explicitly because the default of fio may change.
			params["ioengine"] = "psync"
		}
		if n := processes(params); j.Divide && n > 1 {
			// Shares work on a device, whose size a suite can't know, as well as on a file; fio rounds them to blocks.
			share := strconv.Itoa(100/n) + "%"
			params["size"], params["offset_increment"] = share, share
		}
		all[i] = params
	}
	return all
}

// processes returns the number of processes of the load.
func processes(params map[string]string) int {
	n, err := strconv.Atoi(params["numjobs"])
	if err != nil {
		return 1
	}
	return max(n, 1)
}

// cellID returns the job's name and the values of its matrix, short: randread-4k-q32-x4.
func cellID(j Job, params map[string]string) string {
	id := j.Name
	for _, axis := range j.Matrix {
		id += "-" + fileName(short(axis.Param, params[axis.Param]))
	}
	return id[:min(len(id), maxID)]
}

// maxID leaves room for the suffixes that a run adds within the 255 bytes of a file name.
const maxID = 120

// short returns a parameter and its value in the usual shorthand: 4k, q32, x4, fsync1.
func short(param, value string) string {
	switch param {
	case "rw", "bs", "ioengine":
		return strings.ToLower(value)
	case "iodepth":
		return "q" + value
	case "numjobs":
		return "x" + value
	}
	return param + value
}

// fileName replaces characters that are not valid in a file name, percent signs and commas included.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '_'
	}, s)
}

// unique returns the ID, with a number appended if it is taken, and marks it as taken.
func unique(id string, taken map[string]bool) string {
	free := id
	for n := 2; taken[free]; n++ {
		free = id + "-" + strconv.Itoa(n)
	}
	taken[free] = true
	return free
}

// TitleOf returns the title of a run's cell in tables: "randread 4k q32".
func TitleOf(c lab.Cell) string {
	cell := Cell{ID: c.ID, Job: c.Job, Engine: c.Engine, Command: c.Command, Params: c.Params}
	if _, ok := served.Of(c.Engine); ok || c.Engine == lab.EngineExec || !c.Partial {
		return cell.Title()
	}
	return cmp.Or(fioTitle(c.Params, map[string]string{}), c.Job)
}

// Title returns a short description of the load: "randwrite 4k q128 x4", "randrw 70/30 8k q16 1000/s". Cells of
// different jobs can have the same title.
func (c Cell) Title() string {
	if c.Engine == lab.EngineExec {
		return c.execTitle()
	}
	if g, ok := served.Of(c.Engine); ok {
		return g.Title(c.Params)
	}
	return fioTitle(c.Params, map[string]string{"bs": "4k", "iodepth": "1", "rwmixread": "50"})
}

// fioTitle returns the title of a fio load. defaults are the values of parameters that are not set.
func fioTitle(p, defaults map[string]string) string {
	words := []string{p["rw"]}
	mixed := p["rwmixread"] + p["rwmixwrite"] + defaults["rwmixread"]
	if mix := readShare(p); mix >= 0 && mixed != "" {
		words = append(words, fmt.Sprintf("%d/%d", mix, 100-mix))
	}
	bs := p["bs"]
	if bs == "" && p["bsrange"] == "" && p["bssplit"] == "" {
		bs = defaults["bs"]
	}
	if bs != "" {
		words = append(words, strings.ToLower(bs))
	}
	if depth := cmp.Or(p["iodepth"], defaults["iodepth"]); depth != "" {
		words = append(words, "q"+depth)
	}
	if n := processes(p); n > 1 {
		words = append(words, "x"+strconv.Itoa(n))
	}
	for _, sync := range []string{"fsync", "fdatasync", "sync"} {
		switch v := p[sync]; v {
		case "", "0", "none":
		case "1":
			words = append(words, sync)
		default:
			words = append(words, sync+"="+v)
		}
	}
	if v := p["rate_iops"]; v != "" {
		words = append(words, v+"/s")
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// readShare returns the percentage of reads in a mixed load; -1 for other loads.
func readShare(params map[string]string) int {
	base, _, _ := strings.Cut(params["rw"], ":")
	switch base {
	case "rw", "readwrite", "randrw":
	default:
		return -1
	}
	if n, err := strconv.Atoi(params["rwmixread"]); err == nil {
		return n
	}
	if n, err := strconv.Atoi(params["rwmixwrite"]); err == nil {
		return 100 - n
	}
	return 50 // fio's default
}

// runtime returns how long a load is expected to take: its delay, its ramp and its run time. 0 if it ends by size.
func runtime(params map[string]string) time.Duration {
	run, err := unit.ParseDuration(params["runtime"])
	if err != nil || run == 0 {
		return 0
	}
	for _, name := range []string{"ramp_time", "startdelay"} {
		if d, err := unit.ParseDuration(params[name]); err == nil {
			run += d
		}
	}
	return run
}

// canonical returns the same text for values of a parameter that mean the same: 4k and 4096, 60 and 1m.
func canonical(name, v string) string {
	switch parameters()[name] {
	case blocks, extent, number:
		if n, err := unit.ParseBytes(v); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case duration:
		if d, err := unit.ParseDuration(v); err == nil {
			return d.String()
		}
	}
	return v
}
