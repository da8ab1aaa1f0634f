package fio

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/load/pasted"
	"github.com/headroom/headroom/internal/prose"
)

// Block is the output for people of one call of fio, pasted from a terminal.
type Block struct {
	// Line is where it begins in the text. Prompt is the line of the command before it, or Line if there is none.
	Line, Prompt int
	// Command as the user typed it, one element per argument; nil if it was not pasted.
	Command []string
	// Document has the values of the lines; it is always Partial. Values that fio rounds when it prints for people (4
	// digits of a rate, whole microseconds of a percentile) are rounded here too.
	Document Document
}

// ParseText parses fio's output for people, whole or any of its lines, from text in which it is mixed with prompts,
// commands and prose. A block begins at a call of fio, or where fio's output begins without one. Blocks without values
// are omitted, and values that are absent in a block stay absent. lost are the numbers of the lines with rates that
// belong to no job.
//
//	root@debian:/exports# fio --name=fiotest --ioengine=io_uring --rw=randread --bs=8k --size=1G --numjobs=1
//	  read: IOPS=5312, BW=5312MiB/s (5570MB/s)(10.4GiB/2001msec)
//	    clat (usec): min=247, max=2437, avg=687.15, stdev=66.71
//	   bw (  MiB/s): min= 3063, max= 3208, per=100.00%, avg=3187.67, stdev=31.30, samples=19
//	   iops        : min=392128, max=410708, avg=408021.58, stdev=4006.29, samples=19
//
// If the line with IOPS= is missing, the averages of the samples replace it (the last two lines above). With
// group_reporting, fio ≥ 3 prints averages added up over the jobs, which was checked with fio 3.33 and 8 jobs; fio 2
// printed the averages of the first job (fio issue 519), so its samples are used for single jobs only. A line without
// its direction gets it from the command's rw.
//
// The unit MB has two meanings: in fio 2's "bw=4465.3MB/s" it is 1024*1024 bytes, in fio 3's "(5570MB/s)" a million.
func ParseText(r io.Reader) (blocks []Block, lost []int, err error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	p := &textParser{}
	for in.Scan() {
		p.number++
		p.line(pasted.Plain(in.Text()))
	}
	if err := in.Err(); err != nil {
		return nil, nil, fmt.Errorf("can't read line %d: %w", p.number+1, err)
	}
	p.finish()
	return p.blocks, p.lost, nil
}

type textParser struct {
	blocks []Block
	number int

	// lost are the lines with rates that belong to no job.
	lost []int
	// prompted is the number of the last line with a command other than fio; 0 if there is none.
	prompted int
	// call is the call whose results are read; nil if no command was pasted. loops are the loops that have begun and
	// not ended.
	call  *call
	loops []loop

	block *Block
	// clients is set if the results are from clients of fio, which end at different times.
	clients bool
	// summarised is set after a summary of all jobs was read. unnamed is set if the block has results without the name
	// of a job. printed is when fio printed the last job.
	summarised, unnamed bool
	printed             time.Time
	// sections of the block's command, and the options of each job from the lines at the top of fio's output.
	sections []Section
	headers  map[string][]map[string]string
	// job that lines belong to: the last one that was named, or the only one of a command.
	job *Job
	// direction that lines belong to; empty until a line has named one.
	direction string
	// seen counts lines of each kind in a job whose directions were not named.
	seen map[string]int
	// percentiles that the following lines fill, and how many of their units make a second.
	percentiles *Latency
	perSecond   float64
	// open is a command that ends with a backslash. wrapped is one that a terminal may have wrapped into the next line.
	open, wrapped string
}

// The lines that are parsed. The patterns limit the digits of numbers that become integers.
var (
	headerLine  = prose.Pattern(`^\s*(?:<\S+> )?(\S.*): \(g=(\d{1,9})\): rw=([^,]+), bs=(.+), ioengine=([^,]+), iodepth=(\d+)`)
	versionLine = prose.Pattern(`^\s*fio-\d+\.\d\S*$`)
	jobLine     = prose.Pattern(
		`^\s*(\S.*): \(groupid=(\d{1,9}), jobs=(\d{1,9})\): err=\s*(\d{1,5})(?::.*pid=(\d{1,9})(?::(.*))?)?`)
	directionLine   = prose.Pattern(`^\s*(read|write|trim|mixed)\s*: (?:IOPS|io|bw)=`)
	latencyLine     = prose.Pattern(`^\s*(slat|clat|lat|sync)\s*\((nsec|usec|msec)\)\s*: (min=.*)`)
	percentilesLine = prose.Pattern(`^\s*(clat|lat|slat|sync) percentiles \((nsec|usec|msec)\):`)
	percentileField = prose.Pattern(`(\d{1,3}(?:\.\d{1,12})?)th=\[\s*(\d{1,18})\]`)
	bandwidthLine   = prose.Pattern(`^\s*bw \(\s*([kKMGT]?i?B)\s*/s\)\s*: min=`)
	iopsLine        = prose.Pattern(`^\s*iops\s*: min=`)
	cpuLine         = prose.Pattern(`^\s*cpu\s*: usr=([\d.]{1,12})%, sys=([\d.]{1,12})%(?:, ctx=(\d{1,18}))?`)
	issuedLine      = prose.Pattern(
		`^\s*issued[^:]*: total=(?:r=)?(\d{1,18})[,/](?:w=)?(\d{1,18})[,/](?:d=)?(\d{1,18})`)
	targetLine = prose.Pattern(`^\s*latency\s*: target=(\d{1,18}), .*depth=(\d{1,9})`)
	totalLine  = prose.Pattern(`^\s*(READ|WRITE|TRIM|MIXED): (?:io=\S+, aggrb|bw)=`)
	noteLine   = prose.Pattern(`^\s*fio: .*`)
)

func (p *textParser) line(text string) {
	if p.open != "" {
		text, p.open = p.open+" "+strings.TrimSpace(text), ""
	}
	if cut, continues := strings.CutSuffix(text, `\`); continues && commandStart(text) >= 0 {
		p.open = strings.TrimRight(cut, " ")
		return
	}
	if p.goesOn(text) {
		return
	}
	if command := Command(text); command != nil {
		p.beginCall(text, command)
		return
	}
	p.beginLoops(text)
	p.clients = p.clients || clientLine().MatchString(text)
	// Each kind of line has a pattern and a function for the captured groups.
	for _, kind := range []struct {
		pattern *regexp.Regexp
		read    func(text string, m []string)
	}{
		{headerLine(), p.header},
		{terseLine(), p.terse},
		{jobLine(), p.beginJob},
		{directionLine(), p.rates},
		{latencyLine(), p.latency},
		{percentilesLine(), p.beginPercentiles},
		{bandwidthLine(), p.bandwidthSamples},
		{iopsLine(), p.iopsSamples},
		{cpuLine(), p.cpu},
		{issuedLine(), p.issued},
		{targetLine(), p.latencyTarget},
		{totalLine(), p.total},
		{statusLine(), p.status},
		{versionLine(), p.version},
		{startingLine(), p.banner},
		{noteLine(), p.note},
		{pasted.Prompt(), p.prompt},
		{loopEnd(), func(string, []string) { p.loops = nil }},
	} {
		if m := kind.pattern.FindStringSubmatch(text); m != nil {
			kind.read(text, m)
			return
		}
	}
	if all := percentileField().FindAllStringSubmatch(text, -1); all != nil {
		p.addPercentiles(all)
	}
}

func (p *textParser) version(text string, m []string) {
	p.banner(text, m)
	if p.block != nil {
		p.block.Document.Version = strings.TrimSpace(text)
	}
}

func (p *textParser) note(text string, _ []string) {
	if p.block != nil {
		p.block.Document.Notes = append(p.block.Document.Notes, strings.TrimSpace(text))
	}
}

// finish ends the current block and keeps it if it has results.
func (p *textParser) finish() {
	p.endJob()
	if p.block != nil && len(p.block.Document.Jobs) > 0 {
		p.blocks = append(p.blocks, *p.block)
	}
	p.block = nil
}

// header parses the line that fio prints for each job before it starts:
//
//	seq: (g=0): rw=write, bs=(R) 1024KiB-1024KiB, (W) 1024KiB-1024KiB, (T) 1024KiB-1024KiB, ioengine=libaio, iodepth=4
//	seq: (g=0): rw=write, bs=1M-1M/1M-1M/1M-1M, ioengine=libaio, iodepth=4
func (p *textParser) header(_ string, m []string) {
	switch {
	case p.block == nil:
		p.begin()
	case p.hasResults():
		p.nextCall()
	}
	params := map[string]string{"rw": m[3], "ioengine": m[5], "iodepth": m[6]}
	if bs := blockSize(m[4], m[3]); bs != "" {
		params["bs"] = bs
	}
	p.headers[m[1]] = append(p.headers[m[1]], params)
}

// blockSize converts a header's sizes to the notation of fio's options ("1024KiB-1024KiB" is bs=1M there, where 1024KiB
// would be read as 1,024,000). It is the size of the job's direction; empty for a range of sizes.
func blockSize(sizes, rw string) string {
	index := 0
	switch {
	case strings.Contains(rw, "write"):
		index = 1
	case strings.Contains(rw, "trim"):
		index = 2
	}
	parts := strings.Split(sizes, ", ")
	if len(parts) == 1 {
		parts = strings.Split(sizes, "/")
	}
	if index >= len(parts) {
		return ""
	}
	part := parts[index]
	if _, after, ok := strings.Cut(part, ") "); ok {
		part = after
	}
	low, high, ok := strings.Cut(part, "-")
	v, known := amount(low, 1024)
	if !ok || low != high || !known || v != float64(int64(v)) {
		return ""
	}
	for _, u := range []struct {
		suffix string
		size   float64
	}{{"G", 1 << 30}, {"M", 1 << 20}, {"k", 1 << 10}} {
		if n := v / u.size; n >= 1 && n == float64(int64(n)) {
			return strconv.FormatInt(int64(n), 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(v), 10)
}

// beginJob parses the line at which the results of a job begin:
//
//	seq: (groupid=0, jobs=1): err= 0: pid=4307: Fri Nov 20 19:12:30 2026
func (p *textParser) beginJob(_ string, m []string) {
	if p.block == nil {
		p.begin()
	}
	p.endJob()
	job := newJob(m[1], m[2], m[4])
	var printed time.Time
	job.pid, printed = printedAt(m[5], m[6])
	if job.Name != allClients && !p.sameCall(job, printed) {
		p.nextCall()
	}
	p.printed, p.summarised = printed, false
	job.Options = p.options(m[1], p.jobsBefore(job))
	if job.Options["numjobs"] == "" && m[3] != "1" {
		job.Options["numjobs"], job.Options["group_reporting"] = m[3], "1"
	}
	p.job, p.seen = &job, map[string]int{}
}

// newJob returns a job without results. The patterns only admit short numbers for its group and its error.
func newJob(name, group, failed string) Job {
	job := Job{Name: name, Directions: map[string]Direction{}}
	job.Group, _ = strconv.Atoi(group)
	job.Error, _ = strconv.Atoi(failed)
	return job
}

func (p *textParser) endJob() {
	if p.job == nil {
		return
	}
	for name, d := range p.job.Directions {
		d.IOPS = exactRate(d)
		p.job.Directions[name] = d
		p.job.Seconds = max(p.job.Seconds, d.Seconds)
	}
	sum := p.job.Name == allClients && len(p.block.Document.Jobs) > 0
	if !sum && (len(p.job.Directions) > 0 || p.job.SyncLatency != nil || p.job.Error != 0) {
		p.addJob(*p.job)
	}
	p.job, p.direction, p.percentiles = nil, "", nil
}

// current returns the job that a line of results belongs to. If none was named, it is the only job of the command.
func (p *textParser) current() *Job {
	if p.job != nil {
		return p.job
	}
	if p.block == nil || len(p.sections) != 1 || len(p.block.Document.Jobs) > 0 {
		return nil
	}
	p.job = &Job{Name: p.nameOf(p.sections[0]), Directions: map[string]Direction{},
		Options: p.options(p.sections[0].Name, 0)}
	p.unnamed = true
	p.seen = map[string]int{}
	return p.job
}

// directionOf returns the direction of a line of this kind: the last one named, or from the job's rw. A job that mixes
// directions prints all lines of its reads first.
func (p *textParser) directionOf(job *Job, kind string) string {
	if p.direction != "" {
		return p.direction
	}
	rw := job.Options["rw"]
	if rw == "" {
		rw = job.Options["readwrite"]
	}
	directions := Directions(rw)
	i := p.seen[kind]
	p.seen[kind]++
	if i >= len(directions) {
		return ""
	}
	return directions[i]
}
