package ingest

import (
	"regexp"

	"github.com/headroom/headroom/internal/lab"
)

// printedKubestr reads the output of "kubestr fio" without -o json:
//
//	JobName: read_iops
//	  blocksize=4K filesize=2G iodepth=64 rw=randread
//	  IOPS=146781.875000 BW(KiB/s)=587144
//
// Source: kubestr, pkg/fio/fio_types.go. The lines with min, max and avg describe fio's samples and are not read.
func printedKubestr() *printedFormat {
	return &printedFormat{
		Engine:  "fio",
		Example: "IOPS=146781.875000 BW(KiB/s)=587144",
		has:     []string{"blocksize=", "BW(KiB/s)="},
		is:      re(`JobName: \S[^\n]*\n[^\n]*\bblocksize=\S* filesize=|IOPS=[\d.]+ BW\(KiB/s\)=`),
		lines: []line{
			{pattern: re(`^Running FIO test .* on StorageClass \((?P<_class>[^)]*)\) with a PVC of Size ` +
				`\((?P<_volume_size>[^)]*)\)`), report: true},
			{pattern: re(`^FIO version - (?P<_version>\S+)`), begins: true, general: true},
			{pattern: re(`^Global options - ioengine=(?P<ioengine>\S*) verify=(?P<verify>\S*) direct=(?P<direct>\S*) ` +
				`gtod_reduce=(?P<gtod_reduce>\S*)`), general: true},
			{pattern: re(`^JobName: (?P<_job>.*)$`), begins: true},
			{pattern: re(`^blocksize=(?P<bs>\S*) filesize=(?P<size>\S*) iodepth=(?P<iodepth>\S*) rw=(?P<rw>\S*)`)},
			{pattern: re(`^(?P<_direction>read|write):$`)},
			{pattern: re(`^IOPS=(?P<n>\S+) BW\(KiB/s\)=(?P<bw>\S+)$`), figures: []printedFigure{
				{group: "n", metric: lab.IOPS(direction)},
				{group: "bw", unit: "KiB/s", metric: lab.Bandwidth(direction)}}},
		},
	}
}

// pair returns the figures of a line "READ / WRITE", which belong to two jobs. The first group of its pattern is a, the
// second b.
func pair(a, b, unit string, jobs, rw [2]string, metric func(direction string) string, level string) []printedFigure {
	one := func(group string, i int, direction string) printedFigure {
		return printedFigure{group: group, unit: unit, metric: metric(direction), job: jobs[i],
			params: map[string]string{"rw": rw[i]}, level: level}
	}
	return []printedFigure{one(a, 0, lab.Read), one(b, 1, lab.Write)}
}

func mean(direction string) string { return lab.Latency(direction, "mean") }

// kbench reads the summary of Longhorn's kbench, of one volume or of two side by side:
//
//	IOPS (Read/Write)
//	        Random:           28,832 / 5,730
//	        Random:          96,735 / 89,565   vs          98,135 / 88,990    :      1.45% / -0.64%
//
// Source: longhorn/kbench, fio/parse.sh, fio/cmp_parse.sh and fio/func.sh; older versions have the quantities below
// "Random Read/Write". The change in the last column follows from the other columns.
func kbench() *printedFormat {
	const two = `(?P<a>[\d,.]+|null)?(?: (?P<a_unit>KiB/sec|ns))?\s*/\s*(?P<b>[\d,.]+|null)?(?: (?P<b_unit>KiB/sec|ns))?`
	const four = two + `(?:\s+vs\s+(?P<c>[\d,.]+|null)?\s*/\s*(?P<d>[\d,.]+|null)?\s*:.*)?$`
	f := &printedFormat{
		Engine:  "fio",
		Example: "Random:  28,832 / 5,730",
		warning: summary("kbench's summary has the means of fio's samples without their fractions, and one number a job; " +
			"import its files PREFIX-iops.json, PREFIX-bandwidth.json and PREFIX-latency.json instead. The CPU idleness is " +
			"not read"),
		has: []string{"FIO Benchmark "},
		is:  re(`FIO Benchmark (?:Compar\w+ )?Summary`), named: true, thousands: true, level: "kbench:volume",
		units: map[string]float64{"KiB/sec": 1 << 10},
		lines: []line{
			{pattern: re(`^(?:= )?FIO Benchmark (?:Compar\w+ )?Summary`), report: true},
			{pattern: re(`^For: (?P<_first>.+?)(?: vs (?P<_second>.+))?$`), general: true},
			{pattern: re(`(?i)^size: (?P<size>\S+)$`), general: true},
			{pattern: re(`(?i)^quick mode:? (?P<_mode>\S+)$`), general: true},
			{pattern: re(`^Mode: (?P<_mode>full|quick)$`), general: true},
			{pattern: re(`^Mode: (?P<_mode>\S+)$`), general: true, enters: "one job"},
			{in: "one job", pattern: re(`^Random: +\d`), left: "kbench prints the one job of its mode as a random one, or in " +
				"the wrong column: import its file PREFIX-….json"},
			{in: "one job", pattern: re(`.*`)},
		},
		finish: func(_ *state, r *printedResult) {
			if name := r.Levels["kbench:volume"]; name == "test_device" || name == "./test_device" {
				r.Levels = nil // kbench uses this name for any volume
			}
		},
	}
	rows := []struct {
		title, job string
		rw         [2]string
	}{{"Random", "rand", [2]string{"randread", "randwrite"}}, {"Sequential", "seq", [2]string{"read", "write"}}}
	quantities := []struct {
		section, title, job, unit string
		metric                    func(string) string
	}{{`IOPS`, `IOPS`, "iops", "", lab.IOPS}, {`Bandwidth`, `Bandwidth`, "bw", "KiB/s", lab.Bandwidth},
		{`Latency`, `Average Latency`, "lat", "ns", mean}}
	for _, q := range quantities {
		f.lines = append(f.lines, line{pattern: re(`^` + q.section + `\b.*\(Read/Write\):?$`), enters: q.section})
	}
	for _, row := range rows {
		f.lines = append(f.lines, line{pattern: re(`^` + row.title + ` Read/Write$`), enters: row.title})
		for _, q := range quantities {
			jobs := [2]string{row.job + "-read-" + q.job, row.job + "-write-" + q.job}
			first := pair("a", "b", q.unit, jobs, row.rw, q.metric, "${_first}")
			second := pair("c", "d", q.unit, jobs, row.rw, q.metric, "${_second}")
			f.lines = append(f.lines,
				line{in: q.section, pattern: re(`^` + row.title + `:\s+` + four), figures: append(first, second...)},
				line{in: row.title, pattern: re(`^` + q.title + `:\s+` + two + `$`), figures: first})
		}
	}
	return f
}

// dbench reads the summary at the end of the output of dbench, a script that runs fio in Kubernetes:
//
//	Random Read/Write IOPS: 75.7k/59.7k. BW: 523MiB/s / 500MiB/s
//	Average Latency (usec) Read/Write: 183.07/76.91
//	Mixed Random Read/Write IOPS: 43.1k/14.4k
//
// Source: leeliu/dbench, docker-entrypoint.sh. A complete log of dbench has fio's own output, which has more details.
func dbench() *printedFormat {
	const two = `(?P<a>[^/\s]*?)\s*/\s*(?P<b>[^/\s]*?)`
	const bandwidths = `(?:(?P<c>[\d.]+)(?P<c_unit>\S*?/s))?\s*/\s*(?:(?P<d>[\d.]+)(?P<d_unit>\S*?/s))?`
	title := func(text string) string { return "^" + regexp.QuoteMeta(text) + ": " }
	random, inOrder := [2]string{"randread", "randwrite"}, [2]string{"read", "write"}
	mixed := [2]string{"randrw", "randrw"}
	return &printedFormat{
		Engine:  "fio",
		Example: "Random Read/Write IOPS: 75.7k/59.7k. BW: 523MiB/s / 500MiB/s",
		warning: summary("dbench's summary rounds to three digits and has one number a job; " +
			"import its whole log instead, which has fio's own output"),
		has: []string{"Dbench Summary"},
		is:  re(`Dbench Summary`), unless: re(`\(groupid=`), named: true,
		// With fio 2 the summary has MB/s, whose M is binary as well.
		units: map[string]float64{"KB/s": 1 << 10, "MB/s": 1 << 20, "GB/s": 1 << 30},
		lines: []line{
			{pattern: re(`Dbench Summary`), report: true, enters: "summary"},
			{in: "summary", pattern: re(title("Random Read/Write IOPS") + two + `\. BW: ` + bandwidths + "$"), figures: append(
				pair("a", "b", "", [2]string{"read_iops", "write_iops"}, random, lab.IOPS, ""),
				pair("c", "d", "", [2]string{"read_bw", "write_bw"}, random, lab.Bandwidth, "")...)},
			{in: "summary", pattern: re(title("Average Latency (usec) Read/Write") + two + "$"), figures: pair("a", "b",
				"us", [2]string{"read_latency", "write_latency"}, random, mean, "")},
			{in: "summary", pattern: re(title("Sequential Read/Write") + bandwidths + "$"), figures: pair("c", "d", "",
				[2]string{"read_seq", "write_seq"}, inOrder, lab.Bandwidth, "")},
			{in: "summary", pattern: re(title("Mixed Random Read/Write IOPS") + two + "$"), figures: pair("a", "b", "",
				[2]string{"rw_mix", "rw_mix"}, mixed, lab.IOPS, "")},
		},
	}
}
