package ingest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/pasted"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// yabs reads the table of fio that Yet-Another-Bench-Script prints:
//
//	fio Disk Speed Tests (Mixed R/W 50/50):
//	Block Size | 4k            (IOPS) | 64k           (IOPS)
//	Read       | 445.04 MB/s (111.2k) | 475.05 MB/s   (7.4k)
//
// Source: masonr/yet-another-bench-script, yabs.sh. Until July 2026 its KB/s were fio's KiB/s (issue 120), so that MB/s
// are 2.34% low. "Total" is the sum of the rows above it.
func yabs() *printedFormat {
	const cell = `(?:(?P<X>[\d.]+) (?P<X_unit>[KMG]B/s))?\s+\((?P<Xn>[\d.]+k?)?\)`
	row := func(name, direction string) line {
		left, right := strings.ReplaceAll(cell, "X", "a"), strings.ReplaceAll(cell, "X", "b")
		l := line{pattern: re(`^` + name + `\s*\|\s*` + left + `(?:\s*\|\s*` + right + `)?\s*$`)}
		for _, group := range []string{"a", "b"} {
			size := "${_" + group + "}"
			params := map[string]string{"rw": "randrw", "rwmixread": "50", "bs": size}
			l.figures = append(l.figures,
				printedFigure{group: group, metric: lab.Bandwidth(direction), job: "rand_rw_" + size, params: params},
				printedFigure{group: group + "n", metric: lab.IOPS(direction), job: "rand_rw_" + size, params: params})
		}
		return l
	}
	return &printedFormat{
		Engine:  "fio",
		Example: "Read       | 445.04 MB/s (111.2k) | 475.05 MB/s   (7.4k)",
		warning: summary("YABS prints one number of 30 seconds a load, cut to a few digits; its iperf3 and Geekbench tables " +
			"are not read"),
		has: []string{"fio Disk Speed Tests", "(IOPS)"},
		is:  re(`fio Disk Speed Tests|Block Size\s*\|\s*\w+\s+\(IOPS\)`), units: map[string]float64{"KB/s": 1e3}, named: true,
		lines: []line{
			{pattern: re(`^fio Disk Speed Tests`), report: true},
			{pattern: re(`^Block Size\s*\|\s*(?P<_a>\w+)\s+\(IOPS\)(?:\s*\|\s*(?P<_b>\w+)\s+\(IOPS\))?`), begins: true},
			row("Read", lab.Read), row("Write", lab.Write),
		},
		whole: yabsBandwidth,
	}
}

// yabsBandwidth derives from the IOPS which bytes the MB/s of a table count, and corrects them.
func yabsBandwidth(s *state, all []*printedResult) {
	const kibi = 1.024
	var sums [2]float64 // how far the table is off if its units are right, and if they are KiB
	for _, r := range all {
		bs, err := unit.ParseBytes(r.Params["bs"])
		if err != nil {
			continue
		}
		for _, d := range []string{lab.Read, lab.Write} {
			iops, bw := r.Values[lab.IOPS(d)], r.Values[lab.Bandwidth(d)]
			if iops >= 1 && bw > 0 {
				for i, factor := range []float64{1, kibi} {
					sums[i] += math.Abs(math.Log(bw * factor / (iops * float64(bs))))
				}
			}
		}
	}
	if sums[1] >= sums[0] {
		return
	}
	s.warnings = append(s.warnings, lab.Warning{Code: "import-bandwidth", Taints: []string{}, Text: "the MB/s of " +
		"this " +
		"version of YABS are fio's KiB/s over 1000 and so 2.34% low, as the IOPS show; the bandwidths here are right"})
	for _, r := range all {
		for _, d := range []string{lab.Read, lab.Write} {
			if bw, printed := r.Values[lab.Bandwidth(d)]; printed {
				r.Values[lab.Bandwidth(d)] = bw * kibi
			}
		}
	}
}

// hdparm reads the output of "hdparm -t":
//
//	/dev/sda:
//	 Timing cached reads:   13726 MB in  2.00 seconds = 6869.01 MB/sec
//	 Timing buffered disk reads: 364 MB in  3.00 seconds = 121.20 MB/sec
//
// Source: hdparm, hdparm.c; BusyBox has the same lines.
func hdparm() *printedFormat {
	return &printedFormat{
		Engine:  "hdparm",
		Example: "Timing buffered disk reads: 364 MB in  3.00 seconds = 121.20 MB/sec",
		has:     []string{" reads"},
		is:      re(`Timing (?:O_DIRECT )?(?:buffered disk|disk|cached|buffer-cache) reads`),
		units:   map[string]float64{"GB/sec": 1 << 30, "MB/sec": 1 << 20, "kB/sec": 1 << 10},
		lines: []line{
			{pattern: re(`^(?P<_place>/dev/\S+):$`), report: true},
			{pattern: re(`^Timing (?P<_kind>buffered|O_DIRECT) disk reads(?: \(offset (?P<offset>\d+) GB\))?: *` +
				`\d+ MB in +(?P<_seconds>[\d.]+) seconds = *(?P<v>[\d.]+) (?P<v_unit>[kMG]B/sec)$`), begins: true,
				set: map[string]string{"rw": "read", "_job": "hdparm"}, figures: []printedFigure{
					{group: "v", metric: lab.Bandwidth(lab.Read)}}},
			{pattern: re(`^Timing O_DIRECT cached reads.*\d`), left: "hdparm -T --direct measures the drive's cache; hdparm -t " +
				"--direct measures the drive"},
			{pattern: re(`^Timing (?:cached|buffer-cache) reads.*\d`), left: "hdparm -T measures memory and not the disk; " +
				"hdparm -t --direct measures the disk"},
			{pattern: re(`^Timing .*reads`), left: "hdparm measured nothing here"},
		},
		finish: func(s *state, r *printedResult) {
			r.Seconds, _ = strconv.ParseFloat(s.get("_seconds"), 64) // digits, by the pattern; 0 is unknown
			r.Params["direct"] = map[bool]string{true: "1", false: "0"}[s.get("_kind") == "O_DIRECT"]
			where := ", from the place where most disks are fastest"
			if r.Params["offset"] != "" {
				where = ""
			}
			oneStream(r, "hdparm read one stream in sequence"+where+", for three seconds: it says nothing of random "+
				"I/O, of writes or of several requests at a time")
		},
	}
}

// ioping reads the statistics at the end of ioping's output:
//
//	--- /dev/sda (block device 931.5 GiB) ioping statistics ---
//	99 requests completed in 9.80 ms, 396 KiB read, 10.1 k iops, 39.5 MiB/s
//	min/avg/max/mdev = 66.0 us / 98.9 us / 186.1 us / 22.4 us
//
// Source: koct9i/ioping, ioping.c. The rates are relative to the time in requests, without the pauses between them.
func ioping() *printedFormat {
	const n = `([\d.]+)`
	time := func(name string) string { return `(?P<` + name + `>[\d.]+) (?P<` + name + `_unit>[a-z]+)` }
	figures := func(unit string) []printedFigure {
		return []printedFigure{{group: "min", unit: unit, metric: lab.Latency(direction, "min")},
			{group: "avg", unit: unit, metric: mean(direction)},
			{group: "max", unit: unit, metric: lab.Latency(direction, "max")}}
	}
	return &printedFormat{
		Engine:  "ioping",
		Example: "min/avg/max/mdev = 66.0 us / 98.9 us / 186.1 us / 22.4 us",
		has:     []string{"ioping statistics"},
		is:      re(`\) ioping statistics ---`),
		units:   map[string]float64{"mb/s": 1 << 20, "min": 60},
		lines: []line{
			{pattern: re(`^(?P<_size>[\d.]+ (?:[kKMG]i?)?[bB](?:ytes)?) (?P<_arrow><<<|>>>|from|to) `), general: true,
				read: iopingRequest},
			{pattern: re(`^--- (?P<_target>\S+) \(.*\) ioping statistics ---`), begins: true,
				set: map[string]string{"_job": "ioping"}, read: iopingTarget},
			{pattern: re(`^[\d.]+(?: ?[kMG])? requests completed in .*?(?:, ` + n + ` ?\w+ (?P<_did>read|written))?, (?P<n>[\d.]+(?: ?[kMG])?) iops, ` +
				`(?P<bw>[\d.]+) (?P<bw_unit>[kKMG]i?B/s|B/s|mb/s)$`), read: iopingDirection, figures: []printedFigure{
				{group: "n", metric: lab.IOPS(direction)}, {group: "bw", metric: lab.Bandwidth(direction)}}},
			{pattern: re(`^min/avg/max/mdev = (?P<min>[\d.]+)/(?P<avg>[\d.]+)/(?P<max>[\d.]+)/` + n + ` ms$`),
				figures: figures("ms")},
			{pattern: re(`^min/avg/max/mdev = ` + time("min") + ` / ` + time("avg") + ` / ` + time("max") + ` /`),
				figures: figures("")},
		},
		finish: func(s *state, r *printedResult) {
			if size, err := unit.ParseIEC(strings.Replace(s.get("_size"), "bytes", "B", 1)); err == nil {
				r.Params["bs"] = unit.BlockSize(unit.Decimal(size))
			}
		},
	}
}

// iopingRequest records whether requests read or write, and whether both occur.
func iopingRequest(s *state, groups map[string]string) error {
	if before := s.report["_requests"]; before != "" && before != groups["_arrow"] {
		s.report["_both"] = "1"
	}
	s.report["_requests"] = groups["_arrow"]
	return nil
}

func iopingTarget(s *state, groups map[string]string) error {
	s.block["_place"] = groups["_target"]
	if !strings.HasPrefix(groups["_target"], "/dev/") {
		s.block["_place"] += "/" // of a directory
	}
	return iopingDirection(s, nil)
}

// iopingDirection takes the direction from the summary, or from the lines of the requests.
func iopingDirection(s *state, groups map[string]string) error {
	for mark, direction := range map[string]string{"read": lab.Read, "<<<": lab.Read, "from": lab.Read,
		"written": lab.Write, ">>>": lab.Write, "to": lab.Write} {
		if mark == groups["_did"] || groups["_did"] == "" && mark == s.report["_requests"] && s.report["_both"] == "" {
			s.block["_direction"] = direction
		}
	}
	if groups != nil { // the summary: later lines belong to another call
		delete(s.report, "_requests")
		delete(s.report, "_both")
	}
	return nil
}

// dd reads the last line of dd's output, in any language, below the command:
//
//	$ dd if=/dev/zero of=/srv/test bs=1M count=1024 oflag=direct
//	1024+0 records out
//	1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.512 s, 2.1 GB/s
//
// Source: GNU coreutils, src/dd.c; BusyBox, coreutils/dd.c ("seconds"); the BSDs print "bytes transferred in". The
// bandwidth is computed from the bytes and the time, because the units of the last number differ. The command shows
// whether dd read or wrote.
func dd() *printedFormat {
	const number = `(?P<_bytes>\d+) ?`
	ends := func(pattern string) line {
		return line{pattern: re(pattern), read: ddResult}
	}
	return &printedFormat{
		Engine:  "dd",
		Example: "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.512 s, 2.1 GB/s",
		has:     []string{"B/", "M/s", "G/s", "bytes transferred in"},
		is:      re(`(?m)^\D{0,80}\d+ ?[^\d\s][^\n]{0,80}` + ddRate + `|bytes transferred in [\d.]+ secs`),
		lines: []line{
			{pattern: ddCommand(), report: true, read: ddLoads},
			{pattern: pasted.Prompt(), report: true},
			{pattern: ddRecords(), set: map[string]string{"_records": "1"}},
			ends(`^` + number + `\pL.*` + ddRate),
			ends(`^` + number + `bytes transferred in (?P<_seconds>[\d.]+) secs`),
		},
	}
}

// ddRate matches ", 0.512 s, 2.1 GB/s", whose commas depend on the language.
const ddRate = `(?:, |，|、 ?)(?P<_seconds>[\d.,]+(?:e-\d+)?) ?(?:s|seconds|sec\.?|с|秒)(?:, ?|，|、 ?)[\d.,]+ ?(?:[kKMGT]?i?B/|[KMG]/s)`

var (
	ddCommand = prose.Pattern(`(?:^|[\s;&|($#%>❯➜/` + "`" + `])dd\s+(?P<_command>(?:[a-z]+=\S+\s*)+)`)
	ddAtOnce  = prose.Pattern(`[^&>]&\s*(?:\w+\s+)?(?:\S*/)?dd\s`)
	ddRecords = prose.Pattern(`(?m)^\D{0,20}\d+\+\d+ ?\S`)
)

// ddLoads records the commands of a line. Each prints its result in turn, repeatedly in a loop.
func ddLoads(s *state, _ map[string]string) error {
	for _, m := range ddCommand().FindAllStringSubmatch(s.line, -1) {
		s.commands = append(s.commands, m[1])
	}
	s.atOnce = len(s.commands) > 1 && ddAtOnce().MatchString(s.line)
	return nil
}

// ddLoad reads the operands of a command. dd always reads and writes, so the load is known only if one of both is a
// disk.
func (s *state) ddLoad(command string) {
	of := map[string]string{}
	for _, word := range strings.Fields(command) {
		name, value, _ := strings.Cut(word, "=")
		value, _, _ = strings.Cut(value, ";")
		of[name] = strings.Trim(value, "\"'`)&")
	}
	nothing := func(name string) bool {
		return slices.Contains([]string{"/dev/zero", "/dev/urandom", "/dev/random", "/dev/null", "/dev/full"}, name)
	}
	source, sink := of["if"], of["of"]
	flags := ","
	switch {
	case source == "" || sink == "":
		s.report["_fault"] = "dd read or wrote through a pipe here, so that what the figure is of is not known"
	case nothing(source) && nothing(sink):
		s.report["_fault"] = "dd moved bytes in memory here, from " + source + " to " + sink
	case nothing(source):
		s.report["rw"], s.report["_place"], flags = "write", sink, flags+of["oflag"]+","
	case nothing(sink):
		s.report["rw"], s.report["_place"], flags = "read", source, flags+of["iflag"]+","
	default:
		s.report["_fault"] = "dd copied here, so that the slower of reading and writing counted: which it was is not known"
	}
	if size := ddBytes(of["bs"]); size > 0 {
		s.report["bs"] = unit.BlockSize(strconv.FormatInt(size, 10))
	}
	s.report["direct"] = "0"
	for flag, param := range map[string][2]string{"direct": {"direct", "1"}, "sync": {"sync", "sync"},
		"dsync": {"sync", "dsync"}} {
		if strings.Contains(flags, ","+flag+",") {
			s.report[param[0]] = param[1]
		}
	}
	for _, end := range []string{"fdatasync", "fsync"} {
		if slices.Contains(strings.Split(of["conv"], ","), end) {
			s.report["end_fsync"] = "1"
		}
	}
	s.report["_job"] = "dd-" + s.report["rw"]
}

var ddSize = prose.Pattern(`^(\d+)([kKMGT]?)(i?B)?$`)

// ddBytes returns a size in dd's notation, in which 1M is 1,048,576 bytes and 1MB 1,000,000; 0 for any other.
func ddBytes(text string) int64 {
	m := ddSize().FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	v, _ := strconv.ParseFloat(m[1], 64) // digits, by the pattern
	base, power := 1024.0, 0
	if m[3] == "B" {
		base = 1000
	}
	if m[2] != "" {
		power = 1 + strings.Index("KMGT", strings.ToUpper(m[2]))
	}
	if v *= math.Pow(base, float64(power)); v < 1<<62 {
		return int64(v)
	}
	return 0
}

func ddResult(s *state, groups map[string]string) error {
	if s.block["_records"] == "" && ddRecords().MatchString(s.text) {
		s.leave(`this line is of dd's progress, without "records out" before it`)
		return nil
	}
	s.block, s.report = map[string]string{}, map[string]string{}
	if n := len(s.commands); n > 0 {
		command := s.commands[s.passes%n]
		s.ddLoad(command)
		if strings.Contains(command, "$") { // the changes of a loop are unknown
			s.report["_job"] += fmt.Sprintf(", pass %d", s.passes/n+1)
		}
		s.passes++
	}
	if s.atOnce {
		s.report["_fault"] = "several of dd ran at the same time, so that which this is of is not known"
	}
	seconds, err := s.format.Number(groups["_seconds"])
	if err != nil {
		return err
	}
	bytes, err := s.format.Number(groups["_bytes"])
	rw := s.get("rw")
	switch {
	case err != nil:
		return err
	case s.get("_fault") != "":
		s.leave(s.get("_fault"))
		return nil
	case rw == "":
		s.leave(`whether dd read or wrote is not said: put its command ("dd if=… of=…") before its output`)
		return nil
	case seconds == 0 || bytes == 0:
		s.leave("dd moved nothing here, or in no time")
		return nil
	}
	s.block["size"] = unit.BlockSize(groups["_bytes"])
	s.add(printedFigure{metric: lab.Bandwidth(rw)}, bytes/seconds, false)
	r := s.loads[len(s.loads)-1]
	r.Seconds = seconds
	const stream = "one stream in sequence, one request at a time: what a disk can do with more is not known"
	switch direct, flushed := s.get("direct") == "1", s.get("sync") != "" || s.get("end_fsync") != ""; {
	case direct:
		oneStream(r, "dd made "+stream)
	case rw == lab.Write && flushed:
		oneStream(r, "dd made "+stream+"; what it wrote is on the disk")
	case rw == lab.Write:
		cached(r, "dd wrote into the page cache and stopped the clock before the disk had it all; add conv=fdatasync or "+
			"oflag=direct. It made "+stream)
	default:
		cached(r, "dd read through the page cache, which may have had the file; add iflag=direct. It made "+stream)
	}
	s.endLoads()
	return nil
}
