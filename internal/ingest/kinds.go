package ingest

// printedKind is a format with its name.
type printedKind struct {
	// Name is the source's name in a run, Title is a line for lists, Units explains the tool's units.
	Name, Title, Units string
	// Format compiles its patterns.
	Format func() *printedFormat
}

// printedKinds returns all formats.
func printedKinds() []printedKind {
	return []printedKind{
		{"kubestr-text", "kubestr's text",
			"BW(KiB/s) is in units of 1024 bytes a second", printedKubestr},
		{"kbench", "kbench's summary",
			"KiB/sec are 1024 bytes a second; ns; a comma parts thousands", kbench},
		{"dbench", "dbench's summary",
			"MiB/s are binary, and a k of IOPS is 1000; us", dbench},
		{"yabs", "the disk tests of Yet-Another-Bench-Script (YABS)",
			"MB/s are 1,000,000 bytes a second, or, in versions before July 2026, fio's KiB/s over 1000; " +
				"figures are cut, not rounded; a k of IOPS is 1000", yabs},
		{"sysbench", "sysbench fileio",
			"MiB/s, and Mb/sec and Kb of 0.4 and 0.5, are binary and of bytes; ms", sysbenchFileIO},
		{"elbencho", "elbencho's table",
			"MiB/s are binary, MB/s (--base10) 1,000,000 bytes a second; us, ms and s", elbenchoTable},
		{"elbencho-csv", "elbencho's CSV",
			"MiB/s are binary; sizes are bytes; us", elbenchoCSV},
		{"pgbench", "pgbench's summary",
			"transactions a second; ms", pgbench},
		{"ioping", "ioping's statistics",
			"KiB/s and MiB/s are binary, and mb/s of old versions too; a k of iops is 1000; us and ms", ioping},
		{"hdparm", "hdparm -t",
			"MB/sec are 1,048,576 bytes a second, kB/sec 1024", hdparm},
		{"dd", "lines of dd with its command",
			"bytes over seconds; the printed GB/s are not used", dd},
	}
}
