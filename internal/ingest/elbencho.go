package ingest

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// elbenchoPhase matches the name of a phase of elbencho, with the share of reads if it mixes.
var elbenchoPhase = prose.Pattern(`^(WRITE|READ|RWMIX(\d+)|MIX-T\d+)(?:\+[sr])*$`)

// elbenchoTable reads the table that elbencho prints:
//
//	OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
//	READ        Elapsed time     :     10.001s     10.003s
//	            IOPS             :      247110      247080
//
// Source: breuner/elbencho, source/Statistics.cpp. The column LAST DONE is read, which counts all threads to their
// ends.
func elbenchoTable() *printedFormat {
	row := func(title, metric, unit string) line {
		return line{pattern: re(`^` + title + `\s*:\s+(?P<_first>\d+)\s+(?P<v>\d+)$`), read: elbenchoApart,
			figures: []printedFigure{{group: "v", unit: unit, metric: metric}}}
	}
	latency := func(title, direction string) line {
		time := func(name string) string { return name + `=(?P<` + name + `>[\d.]+)(?P<` + name + `_unit>us|ms|s)` }
		return line{pattern: re(`^` + title + ` latency\s*:\s+\[ ` + time("min") + ` ` + time("avg") + ` ` + time("max")),
			figures: []printedFigure{
				{group: "min", metric: lab.Latency(direction, "min")}, {group: "avg", metric: mean(direction)},
				{group: "max", metric: lab.Latency(direction, "max")}}}
	}
	f := &printedFormat{
		Engine:  "elbencho",
		Example: "IOPS             :      247110      247080",
		has:     []string{"RESULT TYPE", " Elapsed "},
		is: re(`OPERATION +RESULT TYPE +FIRST DONE +LAST DONE|` +
			`(?m)^\D{0,40}(?:WRITE|READ|RWMIX\d+) +Elapsed (?:time|ms) *:`),
		lines: []line{
			{pattern: re(`(?:^COMMAND LINE: |[$#] |^)"?(?:\S*/)?elbencho"? (?P<_command>.*)$`), report: true, read: elbenchoOptions},
			{pattern: re(`^(?P<_phase>[A-Z][A-Z0-9_+a-z-]*) +Elapsed (?:time|ms) *:`), begins: true, read: elbenchoBegins},
		},
		finish: elbenchoWarnings,
	}
	for _, unit := range []string{"MiB/s", "MB/s"} {
		f.lines = append(f.lines, row("Throughput "+unit, lab.Bandwidth(direction), unit),
			row(unit+" read", lab.Bandwidth(lab.Read), unit), row(unit+" write", lab.Bandwidth(lab.Write), unit))
	}
	return addLines(f, row("IOPS", lab.IOPS(direction), ""), row("IOPS read", lab.IOPS(lab.Read), ""),
		row("IOPS write", lab.IOPS(lab.Write), ""), latency("IO", direction), latency("IO rd", lab.Read),
		latency("IO wr", lab.Write),
		line{pattern: re(`^(?:IO|IO rd|IO wr) lat % us`), left: "elbencho's percentiles are not read, since they are bounds of " +
			"its histogram"})
}

func addLines(f *printedFormat, more ...line) *printedFormat {
	f.lines = append(f.lines, more...)
	return f
}

func elbenchoBegins(s *state, groups map[string]string) error {
	m := elbenchoPhase().FindStringSubmatch(groups["_phase"])
	if m == nil {
		return nil // it makes or removes files
	}
	s.block["_job"] = "elbencho-" + strings.ToLower(m[0])
	elbenchoLoad(s.block, m, s.report["_random"])
	return nil
}

// elbenchoLoad describes a phase's load. random is 1 if its offsets are random, 0 if not, and empty if unknown.
func elbenchoLoad(load map[string]string, phase []string, random string) {
	kind := map[string]string{"WRITE": "write", "READ": "read"}[phase[1]]
	load["_direction"] = kind
	if kind == "" {
		kind, load["rwmixread"], load["_direction"] = "rw", phase[2], lab.Write
	}
	switch random {
	case "1":
		load["rw"] = "rand" + kind
	case "0":
		load["rw"] = kind
	}
}

// elbenchoOptions reads the options of a command line that describe the load.
func elbenchoOptions(s *state, groups map[string]string) error {
	words := strings.Fields(strings.ReplaceAll(groups["_command"], `"`, ""))
	s.report["_random"], s.report["_options"] = "0", "1"
	for i, word := range words {
		name, value, given := strings.Cut(word, "=")
		if !given && i+1 < len(words) {
			value = words[i+1]
		}
		switch name {
		case "-b", "--block":
			if size, err := unit.ParseBytes(value); err == nil {
				s.report["bs"] = unit.BlockSize(strconv.FormatInt(size, 10))
			}
		case "-t", "--threads":
			s.report["numjobs"] = value
		case "--iodepth":
			s.report["iodepth"] = value
		case "--direct":
			s.report["direct"] = "1"
		case "--rand":
			s.report["_random"] = "1"
		}
	}
	return nil
}

// elbenchoApart warns if the threads ended far apart: the last column includes threads that had nothing left to do.
func elbenchoApart(s *state, groups map[string]string) error {
	first, err1 := strconv.ParseFloat(groups["_first"], 64)
	last, err2 := strconv.ParseFloat(groups["v"], 64)
	if err1 == nil && err2 == nil && last > 0 && math.Abs(first/last-1) > 0.1 && s.block["_apart"] == "" {
		s.block["_apart"] = fmt.Sprintf("%.0f until the first thread was done, and %.0f until the last was", first, last)
	}
	return nil
}

func elbenchoWarnings(s *state, r *printedResult) {
	if apart := s.get("_apart"); apart != "" {
		r.Warnings = append(r.Warnings, lab.Warning{Code: "workers-apart", Taints: []string{"*"},
			Text: "elbencho's threads did not end together: its first figure is " + apart + "; give it a time (--timelimit)"})
	}
	if s.get("direct") == "" && s.get("_options") != "" {
		r.Params["direct"] = "0"
		cached(r, "elbencho read and wrote through the page cache; use --direct")
	}
}

// elbenchoCSV reads the file that elbencho writes with --csvfile: a line a phase, below the names of the columns:
//
//	ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size,direct IO,random,…,IO depth,…
//
// Source: breuner/elbencho, source/Statistics.cpp and source/ProgArgs.cpp.
func elbenchoCSV() *printedFormat {
	return &printedFormat{
		Engine:  "elbencho",
		Example: "ISO date,label,path type,paths,hosts,threads,…,operation,time ms [first],time ms [last],…",
		has:     []string{"ISO date,"},
		is:      re(`(?m)^ISO date,(?:label,)?path type,`), rows: elbenchoRows, finish: elbenchoWarnings,
	}
}

// elbenchoRows splits lines at commas: elbencho quotes nothing, and replaces commas in texts by blanks.
func elbenchoRows(s *state) error {
	var columns []string
	for i, l := range strings.Split(s.text, "\n") {
		fields := strings.Split(strings.TrimRight(l, "\r"), ",")
		s.number = s.behind + i + 1
		switch {
		case fields[0] == "ISO date":
			columns = fields
			continue
		case columns == nil || strings.TrimSpace(l) == "":
			continue
		case len(fields) != len(columns):
			return fmt.Errorf("line %d: expected %d fields, found %d", s.number, len(columns), len(fields))
		}
		row := map[string]string{}
		for i, name := range columns {
			row[name] = fields[i]
		}
		if err := s.elbenchoRow(row); err != nil {
			return fmt.Errorf("line %d: %w", s.number, err)
		}
	}
	return nil
}

func (s *state) elbenchoRow(row map[string]string) error {
	phase := elbenchoPhase().FindStringSubmatch(row["operation"])
	if phase == nil {
		return nil // it makes or removes files
	}
	s.endLoads()
	s.block = map[string]string{"_job": "elbencho-" + strings.ToLower(phase[0]), "numjobs": row["threads"],
		"iodepth": row["IO depth"], "bs": unit.BlockSize(row["block size"]), "_version": row["version"],
		"_options": "1"}
	if row["direct IO"] == "1" {
		s.block["direct"] = "1"
	}
	if row["hosts"] != "1" {
		s.block["hosts"] = row["hosts"]
	}
	elbenchoLoad(s.block, phase, row["random"])
	own := s.block["_direction"]
	for _, c := range []struct {
		column, metric string
		scale          float64
	}{
		{"IOPS [last]", lab.IOPS(own), 1}, {"MiB/s [last]", lab.Bandwidth(own), 1 << 20},
		{"IO lat us [min]", lab.Latency(own, "min"), 1e-6}, {"IO lat us [avg]", mean(own), 1e-6},
		{"IO lat us [max]", lab.Latency(own, "max"), 1e-6},
		{"rwmix read IOPS [last]", lab.IOPS(lab.Read), 1},
		{"rwmix read MiB/s [last]", lab.Bandwidth(lab.Read), 1 << 20},
		{"rwmix read IO lat us [min]", lab.Latency(lab.Read, "min"), 1e-6},
		{"rwmix read IO lat us [avg]", mean(lab.Read), 1e-6},
		{"rwmix read IO lat us [max]", lab.Latency(lab.Read, "max"), 1e-6},
	} {
		if row[c.column] == "" {
			continue
		}
		v, err := s.format.Number(row[c.column])
		if err != nil {
			return err
		}
		s.add(printedFigure{metric: c.metric}, v*c.scale, false)
	}
	return elbenchoApart(s, map[string]string{"_first": row["IOPS [first]"], "v": row["IOPS [last]"]})
}
