package report

import (
	"maps"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/unit"
)

// row is what is shown of one cell in one direction. A cell that reads and writes has a row for each; the latency of
// fsync has one of its own.
type row struct {
	cell      *Cell
	direction string
	// first row of its cell: it carries the name.
	first bool
	// several directions share the cell, so that the row must say which it is.
	several bool
	// name is what the cell is called everywhere: its job, as whoever wrote the suite called it, and its parameters
	// where the job has several cells. These are all that make it what it is: "randread 4k q32 x4".
	name, params string

	iops, bandwidth      *Metric
	mean, p50, p99, p999 *Metric
	// own are the metrics of a command, what decides first; a fio job has none.
	own []string
}

// rows of a run, in the order of its cells.
func rows(s *Summary) []row {
	var out []row
	names, params := loadNames(s.Cells)
	for i := range s.Cells {
		c := &s.Cells[i]
		directions := c.Directions()
		if len(directions) == 0 {
			directions = []string{""} // measured nothing, or nothing by direction: the job still has its line
		}
		for j, d := range directions {
			out = append(out, row{
				cell: c, direction: d, first: j == 0, several: len(directions) > 1,
				name: names[i], params: params[i],
				iops: c.metric(lab.IOPS(d)), bandwidth: c.metric(lab.Bandwidth(d)),
				mean: c.metric(lab.Latency(d, "mean")),
				own:  shownOfCommand(c),
				p50:  c.metric(lab.Latency(d, "p50")), p99: c.metric(lab.Latency(d, "p99")),
				p999: c.metric(lab.Latency(d, "p99.9")),
			})
		}
	}
	return out
}

// whole is the name with all parameters, and the direction where the cell has several.
func (r row) whole() string {
	name := prose.Join(r.cell.Job, r.params)
	if r.several {
		name += " " + r.direction
	}
	return name
}

// loadNames are what some cells are called, in their order, and their parameters as far as these tell them apart.
func loadNames(cells []Cell) (names, params []string) {
	extra, several := distinguishingParams(cells), map[string]bool{}
	for _, c := range cells {
		_, again := several[c.Job]
		several[c.Job] = again
	}
	for i := range cells {
		c := &cells[i]
		text := paramText(c, extra[c.Job])
		name := c.Job
		if several[c.Job] {
			name = prose.Join(c.Job, text)
		}
		names, params = append(names, name), append(params, text)
	}
	return names, params
}

// cellNames are what the cells of a run are called, by their IDs.
func cellNames(s *Summary) map[string]string {
	byID := map[string]string{}
	names, _ := loadNames(s.Cells)
	for i, name := range names {
		byID[s.Cells[i].ID] = name
	}
	return byID
}

// names of the metrics of the row, there or not.
func (r row) names() []string {
	return append(slices.Clone(r.own),
		lab.IOPS(r.direction), lab.Bandwidth(r.direction), lab.Latency(r.direction, "mean"),
		lab.Latency(r.direction, "p50"), lab.Latency(r.direction, "p99"), lab.Latency(r.direction, "p99.9"))
}

// headline is the number that the row is about: bandwidth for large blocks, IOPS for small ones, the median latency
// where nothing else was measured (fsync), and what decides a command.
func (r row) headline() (name string, m *Metric) {
	if len(r.own) > 0 {
		return r.own[0], r.cell.metric(r.own[0])
	}
	if large(r.cell) && r.bandwidth != nil {
		return lab.Bandwidth(r.direction), r.bandwidth
	}
	switch {
	case r.iops != nil:
		return lab.IOPS(r.direction), r.iops
	case r.bandwidth != nil:
		return lab.Bandwidth(r.direction), r.bandwidth
	case r.p50 != nil:
		return lab.Latency(r.direction, "p50"), r.p50
	default:
		return lab.Latency(r.direction, "mean"), r.mean
	}
}

// largeBlock is the block size from which on a load is about bandwidth. 64 KiB is where the default suites of fio's
// peers (CrystalDiskMark, KDiskMark, the Talos report) change from operations to bytes a second.
const largeBlock = 64 << 10

func large(c *Cell) bool {
	size, err := unit.ParseBytes(c.Params["bs"])
	return err == nil && size >= largeBlock
}

// paramText is the shortest text that engineers tell loads apart by. The direction is left out where the job's name
// says it already.
func paramText(c *Cell, extra []string) string {
	var words []string
	if rw := c.Params["rw"]; rw != "" && !strings.Contains(c.Job, rw) {
		words = append(words, rw)
	}
	if mix := c.Params["rwmixread"]; mix != "" {
		words = append(words, mix+"%r")
	}
	words = append(words, sizes(c)...)
	for _, sync := range []string{"fsync", "fdatasync"} {
		if v := c.Params[sync]; v != "" && v != "0" && !strings.Contains(c.Job, "sync") {
			words = append(words, sync+"="+v)
		}
	}
	return strings.Join(append(words, settings(c, extra)...), " ")
}

// sizes in the notation of CrystalDiskMark's users: block, queue depth, jobs.
func sizes(c *Cell) []string {
	var words []string
	if bs := c.Params["bs"]; bs != "" {
		words = append(words, bs)
	}
	if depth := c.Params["iodepth"]; depth != "" {
		words = append(words, "q"+depth)
	}
	if jobs := c.Params["numjobs"]; jobs != "" && jobs != "1" {
		words = append(words, "x"+jobs)
	}
	return words
}

// shortNotation are the parameters that have a notation of their own in paramText.
func shortNotation() []string {
	return []string{"rw", "rwmixread", "bs", "iodepth", "numjobs", "fsync", "fdatasync"}
}

// settings are the parameters without a notation of their own, and the factor levels.
func settings(c *Cell, extra []string) []string {
	var words []string
	for _, key := range extra {
		if v := c.Params[key]; v != "" && !slices.Contains(shortNotation(), key) {
			words = append(words, key+"="+v)
		}
	}
	for _, factor := range slices.Sorted(maps.Keys(c.Levels)) {
		name, ofLoad := strings.CutPrefix(factor, "job:")
		if printed := slices.Contains(extra, name) || slices.Contains([]string{"bs", "iodepth", "numjobs"},
			name); ofLoad && printed && c.Params[name] == c.Levels[factor] {
			continue
		}
		words = append(words, factor+"="+c.Levels[factor])
	}
	if len(c.Levels) == 0 && c.Arm != "" {
		words = append(words, c.Arm)
	}
	return words
}

// distinguishingParams finds, by job, the parameters that differ between the job's cells: without them two rows would
// read the same.
func distinguishingParams(cells []Cell) map[string][]string {
	values := map[string]map[string][]string{}
	for _, c := range cells {
		if values[c.Job] == nil {
			values[c.Job] = map[string][]string{}
		}
		for key, v := range c.Params {
			if !slices.Contains(values[c.Job][key], v) {
				values[c.Job][key] = append(values[c.Job][key], v)
			}
		}
	}
	differ := map[string][]string{}
	for job, params := range values {
		for _, key := range slices.Sorted(maps.Keys(params)) {
			if len(params[key]) > 1 {
				differ[job] = append(differ[job], key)
			}
		}
	}
	return differ
}
