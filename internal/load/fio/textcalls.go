package fio

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/load/pasted"
	"github.com/headroom/headroom/internal/prose"
)

// The results of several calls follow each other in one text. A new call begins at a command, at a header line, and,
// after results, at any of these lines:
//
//	fio-3.33
//	Starting 1 process
//	root@pve2:~# cat result.txt
//	t: (groupid=0, jobs=1): err= 0: pid=19966: …     behind "Run status group 0 (all jobs):", or printed at another time
//	  read: IOPS=19.4k, BW=75.9MiB/s (79.6MB/s)(380MiB/5004msec)     where the job has that line already
//
// A job with the process ID of an earlier one is a later status of it (--status-interval), which counts from the
// beginning again, and replaces it.
//
// Results after a command belong to it until another prompt follows: it ran in a loop, or more than once.

var (
	startingLine = prose.Pattern(`^\s*(?:<\S+> )?Starting \d+ (?:process|thread)`)
	statusLine   = prose.Pattern(`^\s*Run status group \d+ \(`)
	clientLine   = prose.Pattern(`^\s*(?:<\S+> |hostname=\S+, be=\d)`)
	optionWord   = prose.Pattern(`(?:^|\s)--?[a-z][a-z_]*(?:=|\s|$)`)
	loopStart    = prose.Pattern(`\bfor\s+([A-Za-z_]\w*)\s+in\s+([^;$` + "`" + `(){}*?\[\]]+?)\s*(?:;\s*do\b|;?\s*$)`)
	loopEnd      = prose.Pattern(`(?:^|;)\s*done\b`)
)

// call is a command from a pasted text. pass counts the results of it that were read before the current ones.
type call struct {
	command []string
	// line of the command.
	line int
	// loops around the command, and outer are those that earlier lines began.
	loops, outer []loop
	pass         int
}

// loop is a loop of a shell: "for bs in 4k 64k 1m; do".
type loop struct {
	variable string
	values   []string
}

// mostLoops is how many loops around a command are kept: the innermost.
const mostLoops = 4

// beginLoops parses the loops that a line begins.
func (p *textParser) beginLoops(text string) {
	for _, m := range loopStart().FindAllStringSubmatch(text, -1) {
		// A list of only blanks has no values.
		if values := strings.Fields(m[2]); len(values) > 0 {
			p.loops = append(p.loops, loop{m[1], values})
		}
	}
	p.loops = slices.Clone(p.loops[max(0, len(p.loops)-mostLoops):])
}

// expanded returns the command of a pass through the loops, of which the last is the innermost. Other variables stay.
func (c call) expanded() []string {
	values, pass := map[string]string{}, c.pass
	for _, l := range slices.Backward(c.loops) {
		values[l.variable] = l.values[pass%len(l.values)]
		pass /= len(l.values)
	}
	if pass > 0 { // there were more passes than the loops have
		return c.command
	}
	command := make([]string, len(c.command))
	for i, word := range c.command {
		command[i] = os.Expand(word, func(name string) string { return cmp.Or(values[name], "$"+name) })
	}
	return command
}

// beginCall starts a block at a command. The line can continue in the next one, if a terminal wrapped it.
func (p *textParser) beginCall(text string, command []string) {
	p.call, p.clients = &call{command: command, line: p.number, outer: slices.Clone(p.loops)}, false
	p.beginLoops(text)
	p.call.loops = slices.Clone(p.loops)
	p.begin()
	p.wrapped = text
	if loopEnd().MatchString(text) {
		p.loops = nil
	}
}

// goesOn reports whether a line is the rest of a command that a terminal wrapped, and if so parses the whole command.
//
//	$ fio --filename=/var/lib/scylla/a --direct=1 --rw=randrw --ioengine=libaio --bs=512b --iodepth=16 --runtim
//	e=60 --group_reporting --name=8k7030test
func (p *textParser) goesOn(text string) bool {
	before := p.wrapped
	p.wrapped = ""
	if before == "" || !optionWord().MatchString(text) || commandStart(text) >= 0 || pasted.Prompt().MatchString(text) {
		return false
	}
	rest := strings.TrimSpace(text)
	if strings.HasPrefix(rest, "-") {
		rest = " " + rest
	}
	line := p.call.line
	p.loops = p.call.outer
	p.beginCall(before+rest, Command(before+rest))
	p.call.line, p.block.Line = line, line
	return true
}

// nextCall starts a block after results. Its command is the previous one if no other prompt came between.
func (p *textParser) nextCall() {
	if p.call != nil {
		p.call.pass++
	}
	p.begin()
}

// begin starts a block of the current call.
func (p *textParser) begin() {
	p.finish()
	p.block = &Block{Line: p.number, Prompt: cmp.Or(p.prompted, p.number), Document: Document{Partial: true}}
	p.sections, p.headers, p.summarised, p.printed = nil, map[string][]map[string]string{}, false, time.Time{}
	p.unnamed = false
	if p.call != nil {
		p.block.Command, p.block.Prompt = p.call.expanded(), p.call.line
		p.sections = ParseArgv(p.block.Command)
	}
}

// hasResults reports whether the current block has results.
func (p *textParser) hasResults() bool {
	return p.block != nil && (p.job != nil || len(p.block.Document.Jobs) > 0)
}

// banner parses the lines that fio prints before it starts.
func (p *textParser) banner(string, []string) {
	if p.hasResults() {
		p.nextCall()
	}
}

// prompt parses another command than fio. Its output is not a result of the fio before it.
func (p *textParser) prompt(string, []string) {
	p.prompted, p.clients = p.number, false
	if p.hasResults() {
		p.finish()
		p.call = nil
	}
}

// status parses "Run status group 0 (all jobs):", which follows the results of all jobs.
func (p *textParser) status(string, []string) {
	if p.block == nil {
		p.begin()
	}
	p.summarised = true
}

// sameCall reports whether the results of a job belong to the current block.
func (p *textParser) sameCall(job Job, printed time.Time) bool {
	if slices.ContainsFunc(p.block.Document.Jobs, job.isLater) || !p.hasResults() {
		return true
	}
	// fio prints all results of a call at once, except for the results of clients.
	const atOnce = 2 * time.Second
	later := !p.printed.IsZero() && !printed.IsZero() && printed.Sub(p.printed).Abs() > atOnce
	return !p.summarised && !p.unnamed && (p.clients || !later)
}

// isLater reports whether a job is a later status of another one.
func (j Job) isLater(than Job) bool {
	return j.pid != 0 && j.pid == than.pid && j.Name == than.Name && j.Group == than.Group
}

// addJob adds the results of a job to the block. A later status replaces an earlier one.
func (p *textParser) addJob(job Job) {
	jobs := p.block.Document.Jobs
	if i := slices.IndexFunc(jobs, job.isLater); i >= 0 {
		jobs[i] = job
		return
	}
	p.block.Document.Jobs = append(jobs, job)
}

// allClients is the name under which fio prints the sum of its clients, which is not a job.
const allClients = "All clients"

// printedAt parses the end of a job's line, "pid=4307: Fri Nov 20 19:12:30 2026".
func printedAt(pid, date string) (int, time.Time) {
	n, _ := strconv.Atoi(pid) // 0 if none was pasted
	at, err := time.Parse("Mon Jan _2 15:04:05 2006", strings.TrimSpace(date))
	if err != nil {
		return n, time.Time{}
	}
	return n, at
}

// jobsBefore returns how many jobs with the same name the block has before this one, or before its earlier status.
func (p *textParser) jobsBefore(job Job) (n int) {
	for _, j := range p.block.Document.Jobs {
		if job.isLater(j) {
			return n
		}
		if j.Name == job.Name {
			n++
		}
	}
	return n
}

// options returns the options of the nth job with a name, from 0, according to the command, or to the header if there
// is no command. An option that the command sets by a variable is taken from the header, or unknown.
func (p *textParser) options(name string, nth int) map[string]string {
	sections := slices.DeleteFunc(slices.Clone(p.sections), func(s Section) bool { return s.Name != name })
	if len(sections) == 0 && len(p.sections) == 1 && len(p.headers) == 0 {
		sections = p.sections
	}
	for len(sections) > 1 {
		if nth < entriesOf(sections[0]) {
			break
		}
		sections, nth = sections[1:], nth-entriesOf(sections[0])
	}
	header := map[string]string{}
	if headers := p.headers[name]; len(headers) > 0 {
		at := nth
		if len(sections) > 0 {
			at = len(headers) - len(sections) // one header per section
		}
		header = headers[max(0, min(at, len(headers)-1))]
	}
	if len(sections) == 0 {
		return maps.Clone(header)
	}
	options := map[string]string{}
	if engine := header["ioengine"]; engine != "" && engine != "psync" { // the default differs on other systems
		options["ioengine"] = engine
	}
	for key, value := range sections[0].Params {
		if strings.ContainsRune(value, '$') {
			value = header[key]
		}
		if value != "" {
			options[key] = value
		}
	}
	return options
}

// nameOf returns the name of a job whose results have none. If an unknown variable determines the load, each pass of
// its loop is a separate load.
func (p *textParser) nameOf(s Section) string {
	for _, option := range loadOptions() {
		if strings.ContainsRune(s.Params[option], '$') && p.call != nil {
			return fmt.Sprintf("%s, pass %d", s.Name, p.call.pass+1)
		}
	}
	return s.Name
}

// exactRate computes the rate from the number of I/Os and the time if fio truncated it: "IOPS=6" of 207 I/Os in 30532
// ms are 6.78.
func exactRate(d Direction) float64 {
	if exact := float64(d.IOs) / d.Seconds; d.IOPS <= exact && exact < d.IOPS+1 && d.IOPS == float64(int64(d.IOPS)) {
		return exact
	}
	return d.IOPS
}
