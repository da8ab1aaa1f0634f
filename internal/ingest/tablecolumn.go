package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// parameterNames maps common names of fio's parameters to their names in fio.
func parameterNames() map[string]string {
	return map[string]string{
		"rw": "rw", "readwrite": "rw", "operation": "rw", "pattern": "rw", "bs": "bs", "blocksize": "bs",
		"block_size": "bs", "block size": "bs",
		"iodepth": "iodepth", "qd": "iodepth", "depth": "iodepth", "queue depth": "iodepth", "queue_depth": "iodepth",
		"numjobs": "numjobs", "jobs": "numjobs", "processes": "numjobs",
		"rwmixread": "rwmixread", "size": "size", "runtime": "runtime", "ramp_time": "ramp_time", "direct": "direct",
		"sync": "sync", "fsync": "fsync",
		"fdatasync": "fdatasync", "ioengine": "ioengine", "engine": "ioengine", "rate": "rate",
		"rate_iops": "rate_iops", "thinktime": "thinktime",
	}
}

// columnOf returns the meaning of a column, from its title.
func columnOf(title string) (tableColumn, bool) {
	c := tableColumn{title: title}
	lower := strings.ToLower(title)
	if name, ok := parameterNames()[lower]; ok {
		c.name = name
		return c, true
	}
	switch lower {
	case "job", "load", "name", "label", "test", "workload", "job name":
		c.kind = ofJob
		return c, true
	case "host":
		c.kind = ofHost
		return c, true
	case "repetition", "run", "n", "date", "time", "remark", "note", "":
		c.kind = ofNothing
		return c, true
	}
	if name, ok := strings.CutPrefix(title, "level."); ok && name != "" {
		c.kind, c.name = ofLevel, name
		return c, true
	}
	if c.figure(title) {
		return c, true
	}
	if strings.Contains(title, ":") && !strings.ContainsAny(title, "= ") {
		c.kind, c.name = ofLevel, title
		return c, true
	}
	c.kind = ofNothing
	return c, false
}

// figure reads "[DIRECTION] [STATISTIC] [QUANTITY] UNIT [FACTOR=LEVEL ...]": "IOPS", "read MiB/s", "write p99 latency
// (ms)", "MB/s guest:iothreads=4". If the title has no unit each of the column's numbers needs one.
func (c *tableColumn) figure(title string) bool {
	words := strings.FieldsFunc(title, func(r rune) bool { return strings.ContainsRune(" \t()[],", r) })
	for len(words) > 0 {
		name, level, ok := strings.Cut(words[len(words)-1], "=")
		if !ok || name == "" || level == "" {
			break
		}
		if c.levels == nil {
			c.levels = map[string]string{}
		}
		c.levels[name] = level
		words = words[:len(words)-1]
	}
	if len(words) > 1 && slices.Contains(lab.Directions(), strings.ToLower(words[0])) {
		c.direction, words = strings.ToLower(words[0]), words[1:]
	}
	unitName := ""
	if len(words) > 0 {
		if unitName = unitWord(words[len(words)-1]); c.scaleOf(unitName) > 0 || unclearUnit(unitName) != nil {
			words = words[:len(words)-1]
		} else {
			unitName = ""
		}
	}
	c.kind, c.unit, c.perUnit = ofFigure, unitName, c.scaleOf(unitName)
	for _, word := range words {
		kind := figureWord(strings.ToLower(word))
		switch {
		case kind == "" || kind == "bandwidth" && c.quantity != "" || c.quantity == "bandwidth":
			return false
		case kind != "latency" && c.quantity != "":
			return false
		case kind != "latency":
			c.quantity = kind
		}
	}
	switch _, time := unit.Times()[unitName]; {
	case strings.HasSuffix(strings.ToUpper(unitName), "IOPS"):
		ok := c.quantity == ""
		c.quantity = "iops"
		return ok
	case unitName != "" && !time:
		if c.quantity == "" {
			c.quantity = "bandwidth"
		}
		return c.quantity == "bandwidth"
	case time:
		return c.quantity != "" && c.quantity != "bandwidth"
	}
	return c.quantity != "" // each number has its unit
}

// figureWord returns the meaning of a word in a title: a quantity, a statistic of latency, or "latency", which
// accompanies one.
func figureWord(word string) string {
	switch word {
	case "bandwidth", "bw", "throughput":
		return "bandwidth"
	case "latency", "lat", "clat":
		return "latency"
	case "mean", "avg", "average":
		return "mean"
	case "min", "max":
		return word
	}
	if slices.ContainsFunc(lab.Quantiles(), func(q lab.Quantile) bool { return q.Name == word }) {
		return word
	}
	return ""
}

// unitWord returns a unit in the spelling of package unit: MiB/sec and MiBps are MiB/s.
func unitWord(word string) string {
	if strings.EqualFold(word, "IOPS") {
		return "IOPS"
	}
	word = strings.TrimSuffix(word, "ec")
	if rate, found := strings.CutSuffix(word, "Bps"); found {
		word = rate + "B/s"
	}
	return word
}

// scaleOf returns the factor from a unit to base units; 0 if it is unknown.
func (c *tableColumn) scaleOf(name string) float64 {
	switch {
	case name == "IOPS":
		return 1
	case strings.EqualFold(name, "kIOPS"):
		return 1000
	case unit.Bitrates()[name] > 0:
		return unit.Bitrates()[name] / 8
	}
	return max(unit.Bandwidths()[name], unit.Times()[name])
}

// unclearUnit returns an error that explains why a common unit is ambiguous.
func unclearUnit(name string) error {
	switch name {
	case "KB/s":
		return errors.New("whether KB/s are 1000 or 1024 bytes a second is not said: call them kB/s or KiB/s")
	case "Kb/s", "kb/s", "Mb/s", "mb/s", "Gb/s", "gb/s", "Kbps", "kbps", "Mbps", "mbps", "Gbps", "gbps":
		return fmt.Errorf("whether %s are bits or bytes is not said: call them Mbit/s, MB/s or MiB/s", name)
	}
	return nil
}

var numberAndUnit = prose.Pattern(`^(\d[\d.,'_ \x{a0}\x{2009}\x{202f}]*?) ?([A-Za-zµ]\S*)?$`)

// value reads a number of the column, with its unit if it has one.
func (c *tableColumn) value(text string, comma Comma) (float64, error) {
	m := numberAndUnit().FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("expected a number, found %q", text)
	}
	scale, name := c.perUnit, c.unit
	prefix := map[string]float64{"k": 1e3, "K": 1e3, "M": 1e6}[m[2]]
	switch {
	case m[2] == "":
	case c.quantity == "iops" && prefix > 0:
		scale *= prefix
	default:
		name = unitWord(m[2])
		if scale = c.scaleOf(name); scale > 0 && c.isTime(name) != c.isTime("") {
			scale = 0
		}
	}
	if err := unclearUnit(name); err != nil {
		return 0, err
	}
	if scale == 0 && m[2] == "" {
		return 0, fmt.Errorf("expected a number with its unit, found %q", text)
	}
	if scale == 0 {
		return 0, fmt.Errorf("expected a number, found %q", text)
	}
	v, err := ParseNumber(m[1], comma)
	return v * scale, err
}

// isTime reports whether a unit is a unit of time; without a unit, whether the column's numbers are times.
func (c *tableColumn) isTime(name string) bool {
	if name == "" {
		return c.quantity != "iops" && c.quantity != "bandwidth"
	}
	return unit.Times()[name] > 0
}

// findComma finds the meaning of commas in the numbers of a table; it is the same for all numbers.
func (t *table) findComma(rows []tableRow, before int) error {
	doubtful, where := "", 0
	for _, row := range rows {
		for i, c := range t.columns {
			if i >= len(row.fields) || c.kind != ofFigure {
				continue
			}
			m := numberAndUnit().FindStringSubmatch(strings.TrimSpace(row.fields[i]))
			if m == nil {
				continue // reported as an error of its line
			}
			comma, either := CommaOf(m[1])
			if either && doubtful == "" {
				doubtful, where = m[1], row.line
			}
			if comma == UnknownComma {
				continue
			}
			if t.comma != UnknownComma && t.comma != comma {
				return fmt.Errorf("line %d: in %q a comma is something else than in the numbers before: write all alike",
					before+row.line, m[1])
			}
			t.comma = comma
		}
	}
	if doubtful != "" && t.comma == UnknownComma {
		plain := strings.Replace(doubtful, ",", "", 1)
		return fmt.Errorf("line %d: %q may be %s or %s: write numbers without a comma", before+where, doubtful, plain,
			strings.Replace(doubtful, ",", ".", 1))
	}
	return nil
}
