package ingest

import "regexp"

// unread is a known format that headroom does not read.
type unread struct {
	// what describes it, such as "bonnie++'s output"; instead is what to do.
	what, instead string
	mark          *regexp.Regexp
}

// recogniseUnread returns the probable format of a text that no importer reads, and what to do instead; empty for an
// unknown text.
func recogniseUnread(text []byte) (what, instead string) {
	for _, u := range allUnread() {
		if u.mark.Match(text) {
			return u.what, u.instead
		}
	}
	return "", ""
}

// allUnread returns common formats that headroom does not read, each with a command that makes a readable one.
func allUnread() []unread {
	const table = "write the figures in a CSV table (rw,bs,iodepth,numjobs,IOPS)"
	const fio = "measure with fio --output-format=json, or with headroom run"
	return []unread{
		{"bonnie++'s output", fio + ", or " + table, re(`(?m)^Version +[\d.]+\S* +-+Sequential Output|Sequential Output--|` +
			`^1\.\d+[a-z]?,1\.\d+[a-z]?,`)},
		{"iozone's output", fio + ", or " + table, re(`Iozone: Performance Test of File I/O|iozone test complete`)},
		{"vdbench's output", fio + ", or " + table, re(`(?i)Vdbench distribution|Starting RD=|link to (?:run )?summary\.html`)},
		{"diskspd's text", fio + "; of CrystalDiskMark import what it saves as text, or " + table,
			re(`(?m)^Command Line: .*diskspd|^thread \| +bytes +\| +I/Os +\|`)},
		{"diskspd's XML", fio + ", or " + table, re(`<Tool>\s*<Version>[\d.]+[^<]*</Version>`)},
		{"Iometer's CSV", fio + ", or " + table, re(`'Test Type,Test Description`)},
		{"ATTO's output", fio + ", or " + table, re(`ATTO Disk Benchmark|<benchmark[^>]*atto`)},
		{"AS SSD's output", "import CrystalDiskMark's text instead, or " + table, re(`AS SSD Benchmark`)},
		{"HD Tune's output", "import CrystalDiskMark's text instead, or " + table, re(`HD Tune(?: Pro)?:? `)},
		{"winsat's output", "import CrystalDiskMark's text instead, or " + table, re(`Windows System Assessment Tool`)},
		{"YABS's disk test with dd", "install fio, so that YABS measures with it", re(`dd (?:Sequential )?Disk Speed Tests`)},
		{"Geekbench's output", "it measures the processor: headroom compares storage and networks", re(`(?i)geekbench`)},
		{"sysbench's output of another test than fileio", "headroom reads sysbench fileio only; run others as a command of a " +
			"suite (exec)", re(`(?m)^sysbench \d[\d.]+`)},
		// In 19.10-pre one line has the titles, elsewhere Latency(us) is above (issues #970 and #321 of SPDK).
		{"SPDK's output", fio + ", or " + table, re(`Device Information +: +(?:runtime|IOPS)`)},
		{"rados bench's output", fio + " and its engine rbd, or " + table, re(`Maintaining \d+ concurrent writes|` +
			`Total (?:writes|reads) made:`)},
		{"IOR's output", "use elbencho, whose table is read, or " + table, re(`IOR-\d+\.\d+|Max (?:Write|Read): +[\d.]+ MiB/sec`)},
		{"the samples of neper (--all-samples)", "import what it printed to its standard output",
			re(`(?m)^(?:tid,flow_id,time|time,tid,flow_id),(?:bytes_read|transactions)\b`)},
		// Which end printed a line, and so the direction of the data, differs by version and is not in the line:
		//	20140114124826,127.0.0.1,54402,127.0.0.1,5001,5,0.0-10.0,52551090176,42041052917
		{"iperf 2's CSV (-y C)", "it does not say which way the data went: use iperf3 --json, or iperf without -y",
			re(`(?m)^\d{14}(?:\.\d+)?(?:[+-]\d{4})?,[0-9A-Fa-f.:]*,\d{0,5},[0-9A-Fa-f.:]*,\d{0,5},-?\d+,\d+\.\d+-\d+\.\d+,\d+,-?\d+`)},
		{"a summary of iostat", "headroom watches the devices itself while it measures (headroom run)",
			re(`(?m)^Device:? +(?:rrqm/s|r/s|tps) `)},
		{"smartctl's output", "headroom facts reads it, as it reads the drives of a machine", re(`(?m)^smartctl \d+\.\d+ `)},
		{"a table in Markdown of which not all columns are known", "name columns of the load (rw, bs, iodepth, " +
			"numjobs) and figures with their unit (IOPS, read MiB/s, p99 us)", re(`(?m)^\|[^\n]*\|[ \r]*\n\|[-:| ]+\|`)},
		{"rows of CrystalDiskMark without their first line", "copy the first line too, which names the tool and its version, " +
			"since units and tests depend on them", re(`(?:SEQ|RND|Sequential|Random) [^\n]{0,40}:\s+[\d.]+ MB/s`)},
	}
}
