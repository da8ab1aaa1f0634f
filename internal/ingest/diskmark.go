package ingest

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// crystalDiskMark reads the text that CrystalDiskMark saves. Three lines of version 8, and one each of 6, 5 and 3:
//
//	CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo
//	  SEQ    1MiB (Q=  8, T= 1):  7427.749 MB/s [   7083.7 IOPS] <   987.81 us>
//	   Test: 1 GiB (x5) [C: 4% (79/1862GiB)]
//	 Random Write 4KiB (Q=  8,T= 8) :   970.043 MB/s [ 236826.9 IOPS]
//	         Sequential Read (T= 1) :   156.034 MB/s
//	   Random Read 4KB (QD=32) :   271.859 MB/s [ 66371.9 IOPS]
//
// Versions before 7 don't state the block size of sequential tests, so these have only a bandwidth; the KB of version 3
// and before are of 1024 bytes, as their IOPS show. Source: hiyohiyo/CrystalDiskMark, DiskMarkDlg.cpp.
func crystalDiskMark() Importer {
	return Importer{
		Name:  "crystaldiskmark",
		Title: "CrystalDiskMark text (2 and later)",
		Units: "MB/s are 1,000,000 bytes a second; KiB and MiB of blocks are binary; us",
		Sniff: func(_ string, head []byte) bool { return headHas(head, "CrystalDiskMark ") },
		read:  func(f file, d *runBuilder) error { return readDiskMark(f, "CrystalDiskMark", "diskspd", d) },
		text:  true,
		alone: regexp.MustCompile(`CrystalDiskMark \d+\.\d`).Match,
	}
}

// kDiskMark reads the text that KDiskMark saves: CrystalDiskMark's layout with fio beneath. Three lines of it:
//
//	KDiskMark (3.2.0): https://github.com/JonMagon/KDiskMark
//	Sequential   1 MiB (Q=  8, T= 1):    50.851 MB/s [     49.7 IOPS] < 158255.28 us>
//	Test: 1 GiB (x2) [Measure: 5 sec / Interval: 5 sec]
func kDiskMark() Importer {
	return Importer{
		Name:  "kdiskmark",
		Title: "KDiskMark text",
		Units: "MB/s are fio's KiB/s over 1000, and so 2.34% low: the bandwidth is IOPS times the block, whose KiB " +
			"and MiB are binary; us",
		Sniff: func(_ string, head []byte) bool { return headHas(head, "KDiskMark (") },
		read:  func(f file, d *runBuilder) error { return readDiskMark(f, "KDiskMark", "fio", d) },
		text:  true,
		alone: regexp.MustCompile(`KDiskMark \(\d+\.\d`).Match,
	}
}

// diskMark is one report; a file can hold several, one after the other.
type diskMark struct {
	tool, generator string
	rows            []diskMarkRow
	size            string
	passes          string
	date            time.Time
	place           lab.Place
	facts           []lab.Fact
}

// diskMarkRow is one line of results.
type diskMarkRow struct {
	random         bool
	block          int64 // 0 if not stated, as queues and tasks
	queues, tasks  int
	section        diskMarkSection
	readShare      int // per cent, of a mix
	megabytes      float64
	iops, microsec float64
	noIOPS         bool // they are not printed
}

// diskMarkSection is the heading above a row, and its meaning.
type diskMarkSection struct {
	heading, direction string
	// the values of fio's rw for sequential rows and for random ones
	sequential, random string
}

func diskMarkSections() []diskMarkSection {
	return []diskMarkSection{
		{"Read", lab.Read, "read", "randread"},
		{"Write", lab.Write, "write", "randwrite"},
		{"Mix", lab.Mixed, "rw", "randrw"},
	}
}

// exampleRow shows the expected text in errors.
const exampleRow = `"SEQ 1MiB (Q= 8, T= 1): 7427.749 MB/s [ 7083.7 IOPS] < 987.81 us>"`

// rowPattern matches the fields of a row. Versions differ in words and blanks only.
func rowPattern() *regexp.Regexp {
	return regexp.MustCompile(`(SEQ|RND|Sequential|Random)\s+(\d+)\s*(KiB|MiB)\s+\(Q=\s*(\d+),\s*T=\s*(\d+)\s*\)\s*:` +
		`\s+([\d.]+)\s+MB/s\s+\[\s*([\d.]+)\s+IOPS\]\s+<\s*([\d.]+)\s+us>`)
}

// oldRowPattern matches the fields of a row of versions before 7, which have no headings.
var oldRowPattern = prose.Pattern(`^(Sequential|Random) (Read|Write)(?: (\d+)([KM])i?B)?` +
	`(?: \((?:QD= *(\d+)|(?:Q= *(\d+), *)?T= *(\d+))\))? *: +([\d.]+) MB/s(?: +\[ *([\d.]+) IOPS\])?`)

// beforeDiskSpd matches the versions that did their I/O themselves.
var beforeDiskSpd = prose.Pattern(`^CrystalDiskMark [1-3]\.`)

// oldRow reads a row of versions before 7; nil for any other line.
func oldRow(line string) *diskMarkRow {
	m := oldRowPattern().FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	number := func(texts ...string) float64 {
		v, _ := strconv.ParseFloat(strings.Join(texts, ""), 64) // 0 if the row has none, or two points
		return v
	}
	r := &diskMarkRow{random: m[1] == "Random", queues: int(min(number(m[5], m[6]), 1<<16)),
		tasks: int(min(number(m[7]), 1<<16)), megabytes: number(m[8]), iops: number(m[9]),
		noIOPS: m[9] == ""}
	r.block = int64(min(number(m[3]), 1<<20)) << map[string]int{"": 0, "K": 10, "M": 20}[m[4]]
	for _, s := range diskMarkSections() {
		if s.heading == m[2] {
			r.section = s
		}
	}
	return r
}

// readDiskMark adds the reports of one tool; the same text may also have reports of the other.
func readDiskMark(f file, tool, engine string, d *runBuilder) error {
	reports, err := parseDiskMark(string(f.data))
	if err != nil {
		return err
	}
	for _, r := range reports {
		if !strings.HasPrefix(r.tool, tool) {
			continue
		}
		if err := r.add(f, engine, d); err != nil {
			return err
		}
	}
	return nil
}

// parseDiskMark splits a text into reports. An error names the line and what was expected.
func parseDiskMark(text string) ([]diskMark, error) {
	var reports []diskMark
	row, heading := rowPattern(), regexp.MustCompile(`^\[(Read|Write|Mix)\](?:\s+Read (\d{1,3})%)?`)
	var in diskMarkSection
	var share, rows int
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), ">")) // a quotation in Markdown
		if tool := diskMarkTitle(line); tool != "" {
			reports, in = append(reports, diskMark{tool: tool}), diskMarkSection{}
			continue
		}
		if len(reports) == 0 {
			continue
		}
		r := &reports[len(reports)-1]
		if m := heading.FindStringSubmatch(line); m != nil {
			for _, s := range diskMarkSections() {
				if s.heading == m[1] {
					in = s
				}
			}
			share, _ = strconv.Atoi(m[2]) // up to three digits, by the pattern; 0 if there are none
			continue
		}
		if old := oldRow(line); old != nil {
			r.rows, rows = append(r.rows, *old), rows+1
			continue
		}
		if !strings.Contains(line, "MB/s [") && !strings.Contains(line, "(Q=") {
			r.condition(line)
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil || in.heading == "" {
			return nil, fmt.Errorf("line %d: expected a row as %s below [Read], [Write] or [Mix], found %s",
				n+1, exampleRow, excerpt(line))
		}
		parsed, err := diskMarkRowOf(m)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		parsed.section, parsed.readShare = in, share
		r.rows = append(r.rows, parsed)
		rows++
	}
	if rows == 0 {
		return nil, fmt.Errorf("expected rows as %s, or as \"Sequential Read : 505.825 MB/s\", found none", exampleRow)
	}
	return reports, nil
}

// diskMarkTitle returns the tool and its version in a line that begins a report; empty for any other line.
func diskMarkTitle(line string) string {
	if t, _, found := strings.Cut(line, " (C)"); found && strings.HasPrefix(t, "CrystalDiskMark ") {
		return t
	}
	if rest, found := strings.CutPrefix(line, "KDiskMark ("); found {
		version, _, _ := strings.Cut(rest, ")")
		return "KDiskMark " + version
	}
	return ""
}

func diskMarkRowOf(m []string) (diskMarkRow, error) {
	r := diskMarkRow{random: m[1] == "RND" || m[1] == "Random"}
	var errs [6]error
	r.block, errs[0] = strconv.ParseInt(m[2], 10, 32)
	r.queues, errs[1] = strconv.Atoi(m[4])
	r.tasks, errs[2] = strconv.Atoi(m[5])
	r.megabytes, errs[3] = strconv.ParseFloat(m[6], 64)
	r.iops, errs[4] = strconv.ParseFloat(m[7], 64)
	r.microsec, errs[5] = strconv.ParseFloat(m[8], 64)
	if err := errors.Join(errs[:]...); err != nil {
		return r, err
	}
	if r.block == 0 {
		return r, errors.New("expected a block size, found 0")
	}
	r.block <<= 10
	if m[3] == "MiB" {
		r.block <<= 10
	}
	return r, nil
}

// condition reads a line above or below the rows that describes the conditions.
func (r *diskMark) condition(line string) {
	if g, ok := strings.CutPrefix(line, "Flexible I/O Tester ("); ok {
		r.generator, _, _ = strings.Cut(g, ")")
	}
	key, value, ok := strings.Cut(line, ":")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !ok || value == "" {
		return
	}
	switch key {
	case "Profile", "Mode", "Time", "Comment":
		r.fact(strings.ToLower(key), value)
	case "OS":
		r.fact("os", value)
	case "Test":
		r.fact("test", value)
		m := regexp.MustCompile(
			`^(\d+) ([KMG])(i?)B(?: \[([A-Za-z]:)[^\]]*\])? \(x(\d+)\)(?: \[([A-Za-z]:))?`).FindStringSubmatch(value)
		if m == nil {
			return
		}
		if r.passes = m[5]; m[3] != "" { // version 3 does not state how large the MB of a size is
			r.size = m[1] + strings.ToLower(m[2])
		}
		if drive := m[4] + m[6]; drive != "" {
			r.place = lab.Place{Kind: lab.Directory, Path: drive}
		}
	case "Target":
		r.fact("target", value)
		if dir, _, _ := strings.Cut(value, " "); strings.HasPrefix(dir, "/") {
			r.place = lab.Place{Kind: lab.Directory, Path: dir}
		}
	case "Date":
		// No time zone is given; the date is read as if it were UTC.
		for _, layout := range []string{"2006/01/02 15:04:05", "2006-01-02 15:04:05"} {
			if t, err := time.Parse(layout, value); err == nil {
				r.date = t
			}
		}
	}
}

func (r *diskMark) fact(key, value string) {
	r.facts = append(r.facts, lab.Fact{Key: "import." + key, Value: strings.ToValidUTF8(value, "\uFFFD")})
}

// add turns the rows into measurements.
func (r *diskMark) add(f file, engine string, d *runBuilder) error {
	if beforeDiskSpd().MatchString(r.tool) {
		engine = "crystaldiskmark"
	}
	facts := append([]lab.Fact{{Key: "import.tool", Value: r.tool}}, r.facts...)
	if r.generator != "" {
		facts = append(facts, lab.Fact{Key: "fio.version", Value: r.generator})
	}
	for i := range facts {
		facts[i].Source = f.name
	}
	kibPerKB := 0
	for _, row := range r.rows {
		if row.iops == 0 && (!row.noIOPS || row.megabytes == 0) {
			continue // a skipped test is printed as zeros
		}
		m := row.measurement(engine)
		m.place, m.facts, m.ended = r.place, facts, r.date
		if r.size != "" {
			m.params["size"] = r.size
		}
		if engine == "fio" && row.kibPerKB() {
			m.repetition.Values[lab.Bandwidth(row.section.direction)] = row.iops * float64(row.block)
			kibPerKB++
		}
		if err := d.add(m); err != nil {
			return err
		}
	}
	if kibPerKB > 0 {
		d.warn(lab.Warning{
			Code: "import-bandwidth",
			Text: "KDiskMark's MB/s are 2.34% low: it divides fio's KiB/s by 1000; the bandwidths here are IOPS " +
				"times block size",
		})
	}
	passes := "its passes"
	if r.passes == "1" {
		passes = "its one pass"
	} else if r.passes != "" {
		passes = "its " + r.passes + " passes"
	}
	d.warn(lab.Warning{
		Code: "import-best-of",
		Text: fmt.Sprintf("%s prints one number of %s, the best or the mean depending on version and profile; "+
			"how far they spread is not known", r.tool, passes),
		// The numbers may be right, but no interval can be computed from them.
		Taints: []string{"*"},
	})
	return nil
}

func (row diskMarkRow) measurement(engine string) measurement {
	kind, rw := "SEQ", row.section.sequential
	if row.random {
		kind, rw = "RND", row.section.random
	}
	m := measurement{paramsComplete: true, engine: engine, params: map[string]string{"rw": rw}}
	// The suite cdm uses the same names, so that compare can match the jobs.
	m.job = kind
	if row.block > 0 {
		m.params["bs"] = unit.BlockSize(strconv.FormatInt(row.block, 10))
		m.job += strings.ToUpper(m.params["bs"])
	}
	for _, p := range []struct {
		param, mark string
		value       int
	}{{"iodepth", "-Q", row.queues}, {"numjobs", "T", row.tasks}} {
		if p.value > 0 {
			m.params[p.param] = strconv.Itoa(p.value)
			if p.param == "numjobs" && row.queues == 0 {
				m.job += "-"
			}
			m.job += p.mark + m.params[p.param]
		}
	}
	m.job += "-" + strings.ToLower(row.section.heading)
	if row.readShare > 0 {
		m.params["rwmixread"] = strconv.Itoa(row.readShare)
	}
	direction := row.section.direction
	m.repetition.Values = map[string]float64{lab.Bandwidth(direction): row.megabytes * 1e6}
	if !row.noIOPS {
		m.repetition.Values[lab.IOPS(direction)] = row.iops
	}
	if row.microsec > 0 {
		m.repetition.Values[lab.Latency(direction, "mean")] = row.microsec / 1e6
	}
	return m
}

// kibPerKB reports whether the printed MB/s are KiB/s over 1000, judged by the printed IOPS, as far as rounding
// permits.
func (row diskMarkRow) kibPerKB() bool {
	if row.noIOPS {
		return false
	}
	rounding := 0.0005/max(row.megabytes, 0.0005) + 0.05/max(row.iops, 0.05)
	off := row.megabytes*1e6/(row.iops*float64(row.block)) - 1000.0/1024
	return math.Abs(off) <= 0.005+rounding
}
