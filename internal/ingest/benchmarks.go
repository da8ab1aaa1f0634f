package ingest

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// sysbenchFileIO reads the output of sysbench's test fileio, of versions 0.4, 0.5, 1.0 and the following one:
//
//	    reads/s:                      1523.21
//	    read, MiB/s:                  23.80
//	         read:  IOPS=1523.21 23.80 MiB/s (24.96 MB/s)
//	Read 93.75Mb  Written 62.5Mb  Total transferred 156.25Mb  (10.5Mb/sec)
//
// Source: akopytov/sysbench, src/tests/fileio/sb_fileio.c and src/sysbench.c; for 0.4 and 0.5 sysbench/sb_logger.c. The
// latency covers reads, writes and fsyncs together, so it is read only from tests with one kind.
func sysbenchFileIO() *printedFormat {
	const n = `[\d.]+`
	value := func(pattern string, figures ...printedFigure) line {
		return line{pattern: re(pattern), figures: figures}
	}
	read := printedFigure{group: "r", metric: lab.IOPS(lab.Read)}
	write := printedFigure{group: "w", metric: lab.IOPS(lab.Write)}
	readBytes := printedFigure{group: "rb", unit: "MiB/s", metric: lab.Bandwidth(lab.Read)}
	writeBytes := printedFigure{group: "wb", unit: "MiB/s", metric: lab.Bandwidth(lab.Write)}
	return &printedFormat{
		Engine:  "sysbench",
		Example: "read, MiB/s:                  23.80",
		has:     []string{"reads/s:", "IOPS=", "Operations performed:", "Total transferred"},
		is: re(`(?m)^\D{0,80}(?:reads/s: +[\d.]|read: +IOPS=[\d.]+ [\d.]+ MiB/s)|Operations performed: +\d+ reads?,|` +
			`Total transferred \S+b +\(`),
		lines: []line{
			{pattern: re(`^sysbench (?P<_version>[\d.]+\S*)`), report: true},
			{pattern: re(`^Running the test with following options`), begins: true},
			{pattern: re(`^Number of threads: (?P<numjobs>\d+)$`)},
			{pattern: re(`^Extra file open flags: (?P<_flags>.+)$`)},
			{pattern: re(`^(?P<file_num>\d+) files, (?P<file_size>\S+) each$`)},
			{pattern: re(`^Block size (?P<_bs>[\d.]+[KMG]?i?)[bB]$`)},
			{pattern: re(`^Read/Write ratio for combined random IO test: (?P<_ratio>[\d.]+)$`)},
			{pattern: re(`^Periodic FSYNC enabled, calling fsync\(\) each (?P<fsync_each>\d+) requests`)},
			{pattern: re(`^Calling fsync\(\) after each write`), set: map[string]string{"fsync": "1"}},
			{pattern: re(`^Using (?P<io_mode>.+) I/O mode$`)},
			{pattern: re(`^Doing (?P<_test>.+) test$`)},
			value(`^reads/s: +(?P<r>`+n+`)$`, read), value(`^writes/s: +(?P<w>`+n+`)$`, write),
			value(`^fsyncs/s: +(?P<_fsyncs>` + n + `)$`),
			value(`^read, MiB/s: +(?P<rb>`+n+`)$`, readBytes), value(`^written, MiB/s: +(?P<wb>`+n+`)$`, writeBytes),
			value(`^read: +IOPS=(?P<r>`+n+`) (?P<rb>`+n+`) MiB/s`, read, readBytes),
			value(`^write: +IOPS=(?P<w>`+n+`) (?P<wb>`+n+`) MiB/s`, write, writeBytes),
			value(`^fsync: +IOPS=(?P<_fsyncs>` + n + `)`),
			value(`(?i)^Operations performed: +(?P<_r>\d+) reads?, (?P<_w>\d+) writes?, (?P<_fsyncs>\d+) other`),
			value(`^Read (?P<_rb>` + n + `[KMGT]?b) +Written (?P<_wb>` + n + `[KMGT]?b) .*\((?P<_bytes>` + n + `[KMGT]?b)/sec\)$`),
			{pattern: re(`^(?P<_rate>` + n + `) Requests/sec executed$`), read: sysbenchRates},
			value(`^total time: +(?P<_seconds>` + n + `)s$`),
			value(`^avg: +(?P<_avg>` + n + `)(?:ms)?$`), value(`^max: +(?P<_max>` + n + `)(?:ms)?$`),
			value(`^(?:approx\. +)?(?P<_rank>\d+)(?:th)? percentile: +(?P<_percentile>` + n + `)(?:ms)?$`),
		},
		finish: sysbenchLoad,
	}
}

// sysbenchRates divides the rates that 0.4 and 0.5 print between reads and writes, by the amounts of both.
func sysbenchRates(s *state, groups map[string]string) error {
	v := map[string]float64{}
	for _, name := range []string{"_r", "_w", "_rb", "_wb", "_bytes", "_rate"} {
		text := s.get(name)
		var err error
		if strings.HasSuffix(text, "b") {
			v[name], err = unit.ParseIEC(binary(strings.TrimSuffix(text, "b")) + "B")
		} else if text != "" {
			v[name], err = s.format.Number(text)
		}
		if err != nil {
			return err
		}
	}
	for direction, names := range map[string][2]string{lab.Read: {"_r", "_rb"}, lab.Write: {"_w", "_wb"}} {
		if count, all := v[names[0]], v["_r"]+v["_w"]; count > 0 {
			s.add(printedFigure{metric: lab.IOPS(direction)}, v["_rate"]*count/all, false)
		}
		if bytes, all := v[names[1]], v["_rb"]+v["_wb"]; bytes > 0 && v["_bytes"] > 0 {
			s.add(printedFigure{metric: lab.Bandwidth(direction)}, v["_bytes"]*bytes/all, false)
		}
	}
	return nil
}

// binary gives a binary prefix its i: sysbench's 16K are 16 KiB.
func binary(text string) string {
	if last := text[max(0, len(text)-1):]; strings.ContainsAny(last, "KMGT") {
		return text + "i"
	}
	return text
}

// sysbenchLoad describes the test in fio's terms, and sets the latency of a test that only read or only wrote.
func sysbenchLoad(s *state, r *printedResult) {
	maps.DeleteFunc(r.Values, func(_ string, v float64) bool { return v == 0 }) // the test did not do these
	test := s.get("_test")
	rw := map[string]string{"sequential write (creation)": "write", "sequential rewrite": "write",
		"sequential read": "read", "random read": "randread", "random write": "randwrite", "random r/w": "randrw"}[test]
	if rw != "" {
		r.Params["rw"] = rw
	}
	r.Job = "sysbench-" + strings.ReplaceAll(test, " ", "-")
	if test == "" {
		r.Job = "sysbench"
	}
	if ratio, err := strconv.ParseFloat(s.get("_ratio"), 64); err == nil && rw == "randrw" {
		r.Params["rwmixread"] = strconv.FormatFloat(math.Round(100*ratio/(1+ratio)), 'f', -1, 64)
	}
	if size, err := unit.ParseIEC(binary(strings.TrimSuffix(s.get("_bs"), "i")) + "B"); err == nil {
		r.Params["bs"] = unit.BlockSize(unit.Decimal(size))
	}
	r.Seconds, _ = strconv.ParseFloat(s.get("_seconds"), 64) // digits, by the pattern; 0 is unknown
	_, reads := r.Values[lab.IOPS(lab.Read)]
	_, writes := r.Values[lab.IOPS(lab.Write)]
	fsyncs, _ := strconv.ParseFloat(s.get("_fsyncs"), 64)
	latencies := map[string]string{"mean": s.get("_avg"), "max": s.get("_max"),
		"p" + s.get("_rank"): s.get("_percentile")}
	switch {
	case s.get("_avg") == "":
	case reads && writes || writes && fsyncs > 0:
		r.Warnings = append(r.Warnings, lab.Warning{Code: "import-left-out", Taints: []string{},
			Text: "sysbench's latency is left out: it counts reads, writes and fsyncs together"})
	default:
		kind := map[bool]string{true: lab.Read, false: lab.Write}[reads]
		for part, text := range latencies {
			known := part == "mean" || part == "max" ||
				slices.ContainsFunc(lab.Quantiles(), func(q lab.Quantile) bool { return q.Name == part })
			if v, err := strconv.ParseFloat(text, 64); err == nil && known {
				r.Values[lab.Latency(kind, part)] = v / 1000
			}
		}
	}
	flags := s.get("_flags")
	if strings.Contains(flags, "direct") || flags == "4000" { // O_DIRECT as 0.4 and 0.5 print it on x86
		r.Params["direct"] = "1"
	} else if flags != "" {
		r.Params["direct"] = "0"
		cached(r, "sysbench read and wrote through the page cache; use --file-extra-flags=direct")
	}
}

// pgbench reads the summary of PostgreSQL's pgbench:
//
//	number of clients: 10
//	latency average = 1.104 ms
//	tps = 9054.342113 (without initial connection time)
//
// Source: PostgreSQL, src/bin/pgbench/pgbench.c. Versions before 14 print two rates; the one without the time of
// connecting is read, which later versions print.
func pgbench() *printedFormat {
	tps := func(how string, again bool, set map[string]string) line {
		return line{pattern: re(`^tps = (?P<v>[\d.,]+) \(` + how + `\)`), again: again, set: set,
			figures: []printedFigure{{group: "v", metric: lab.RequestRate}}}
	}
	return &printedFormat{
		Engine:  "pgbench",
		Example: "tps = 9054.342113 (without initial connection time)",
		has:     []string{"tps = "},
		is:      re(`tps = [\d.,]+ \((?:in|ex)cluding |tps = [\d.,]+ \(without `),
		lines: []line{
			{pattern: re(`^transaction type: (?P<_script>.*)$`), report: true},
			{pattern: re(`^scaling factor: (?P<scale>\S+)$`)}, {pattern: re(`^query mode: (?P<query_mode>\S+)$`)},
			{pattern: re(`^number of clients: (?P<clients>\d+)$`)}, {pattern: re(`^number of threads: (?P<threads>\d+)$`)},
			{pattern: re(`^duration: (?P<duration>\d+ s)$`)},
			{pattern: re(`^number of transactions per client: (?P<transactions>\d+)$`)},
			{pattern: re(`^number of failed transactions: (?P<_failed>[1-9]\d* .*)$`)},
			{pattern: re(`^Run was aborted`), set: map[string]string{"_failed": "the run was aborted"}},
			{pattern: re(`^latency average(?: =|:) (?P<v>[\d.,]+) ms`), figures: []printedFigure{
				{group: "v", unit: "ms", metric: lab.Latency(lab.Request, "mean")}}},
			tps("including connections establishing", false, nil), tps("excluding connections establishing", true, nil),
			tps("without initial connection time", false, nil),
			tps("including reconnection times", false, map[string]string{"reconnect": "1"}),
		},
		finish: func(s *state, r *printedResult) {
			r.Job = "pgbench"
			if script := s.get("_script"); script != "" {
				r.Params["script"] = script
			}
			if r.Values[lab.Latency(lab.Request, "mean")] == 0 { // not measured by 9.5
				delete(r.Values, lab.Latency(lab.Request, "mean"))
			}
			if failed := s.get("_failed"); failed != "" {
				r.Warnings = append(r.Warnings, lab.Warning{Code: "import-incomplete", Taints: []string{},
					Text: "transactions failed: " + failed})
			}
		},
	}
}
