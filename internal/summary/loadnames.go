package summary

import (
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// LoadNames are what some cells are called, in their order, and their parameters as far as these tell them apart. Cells
// of one load on several machines have the machine's name.
func LoadNames(cells []Cell) (names, params []string) {
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
	targets := map[[2]string]map[string]bool{} // of the cells with a name and parameters
	for i, name := range names {
		alike := [2]string{name, params[i]}
		if targets[alike] == nil {
			targets[alike] = map[string]bool{}
		}
		targets[alike][cells[i].Target] = true
	}
	for i, name := range names {
		if on := cells[i].Target; on != "" && len(targets[[2]string{name, params[i]}]) > 1 {
			names[i], params[i] = name+" on "+on, prose.Join(params[i], "on "+on)
		}
	}
	return names, params
}

// CellNames are what the cells of a run are called, by their IDs.
func CellNames(s *Run) map[string]string {
	byID := map[string]string{}
	names, _ := LoadNames(s.Cells)
	for i, name := range names {
		byID[s.Cells[i].ID] = name
	}
	return byID
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

// shortNotation returns the parameters that have a special notation in paramText.
func shortNotation() []string {
	return []string{"rw", "rwmixread", "bs", "iodepth", "numjobs", "fsync", "fdatasync"}
}

// settings returns the parameters without a special notation, and the factor levels.
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
