package iperf3

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/load/pasted"
	"github.com/headroom/headroom/internal/prose"
)

// Pasted is one test as iperf3 or iperf 2 printed it for people.
type Pasted struct {
	Result
	// Tool is "iperf3" or "iperf2".
	Tool string
	// Line is where it begins, Prompt the line of its command, or Line if there is none.
	Line, Prompt int
	// Command as the user typed it, and its options by their long names; nil if it was not pasted.
	Command []string
	Options map[string]string
}

// ParseText parses the tests in text that iperf3 or iperf 2 printed for people, at its client or its server, whole or
// any of its lines, with prompts, commands and prose between them. Lost are the numbers of lines with a rate that are
// not understood. If several processes printed at the same time, nothing is parsed: their streams have the same
// numbers.
//
//	[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec    0             sender
//	[SUM][RX-C]   0.00-2.00   sec  24.0 MBytes   101 Mbits/sec                  receiver
//	[  3]  0.0-10.0 sec   754 MBytes   633 Mbits/sec   0.012 ms   40/538084 (0.0074%)
//
// Prefixes of Bytes are binary, prefixes of bits decimal. Sources: iperf_locale.c, iperf_api.c and units.c of iperf3,
// where before 3.2 lines for UDP ended in neither word; Locale.c and ReportOutputs.c of iperf 2.
func ParseText(text string) (all []Pasted, lost []int, err error) {
	p := &textParser{}
	for line := range strings.SplitSeq(text, "\n") {
		p.number++
		p.line(pasted.Plain(line))
	}
	p.end()
	if p.crossed > 0 {
		return nil, nil, fmt.Errorf("line %d: it repeats a time, so that several processes printed at once; have each print "+
			"into a separate file (iperf3 --json --logfile FILE)", p.crossed)
	}
	for _, t := range p.tests {
		if len(t.rows) > 0 || t.failed != "" {
			all = append(all, t.pasted())
		}
	}
	return all, p.lost, nil
}

// IsText reports whether a text has lines of a test.
func IsText(text []byte) bool { return rowLine().Match(text) || failedLine().Match(text) }

// textParser parses line by line.
type textParser struct {
	number int
	tests  []*printed
	lost   []int
	// crossed is the first line that repeats a time of a stream; 0 if there is none.
	crossed int
	// at is the current test; nil between tests.
	at *printed
	// command is the last one that was typed, on the line prompt; it continues in the next one if open is not empty.
	command []string
	prompt  int
	open    string
	// copied is set while the client repeats the output of its server.
	copied bool
}

// printed has the printed values of one test.
type printed struct {
	line, prompt int
	command      []string
	options      map[string]string
	// two is set for iperf 2; port is the port that it listens on.
	two  bool
	port string
	// role is "C" at a client, "S" at a server; empty if unknown.
	role string
	// host is the server in the spelling given to the client.
	host        string
	connections []connection
	rows        []row
	// last is the last interval of each stream, and ends are the summaries that were read.
	last map[string]row
	ends map[string]bool
	// reverse is set if the server sends, udp if lines count datagrams, and sends if they have counts that only the
	// sender knows.
	reverse, udp, sends bool
	// parted is set after a line of hyphens, summary below the titles after that, and report for a stream for which
	// iperf 2 prints the counts of its server.
	parted, summary bool
	report          string

	version, protocol, congestion, failed, cookie string
	streams                                       int
	block                                         int64
	seconds, omit, rate                           float64
	start                                         time.Time
	cpu                                           map[string]float64
}

// connection is a stream by its number.
type connection struct {
	id, local, localPort, remote string
	reversed                     bool
}

const number = `\d{1,15}(?:[.,]\d{1,9})?`

// The lines that are parsed. Other text can precede them: a title, a time, a pod; but no quotation mark, as in JSON
// that contains the text of a server.
var (
	callPattern = prose.Pattern(pasted.Before + `(iperf[23]?(?:\.exe)?)\s+(?:\S+\s+)?--?[A-Za-z]`)
	rowLine     = prose.Pattern(`(?m)^[^"\n]*\[ *(\*?\d{1,5}|\*?SUM(?:-\d{1,5})?|FD\d{1,5})\](?:\[([TR]X)-([CS])\])?\s+` +
		`(` + number + `)\s*-\s*(` + number + `)\s+sec\s+` + number + `\s+[KMGT]?Bytes\s+` +
		`(` + number + `)\s+([KMGT]?)(bits|Bytes)/sec(.*)`)
	rateLine    = prose.Pattern(`\d\s+[KMGT]?(?:bits|Bytes)/sec`)
	failedLine  = prose.Pattern(`(?m)^[^"\n]*\biperf3: (?:error - (.*)|((?:interrupt|parameter error) - .*))`)
	refusedLine = prose.Pattern(`(?:^|\s)((?:tcp |udp )?connect failed: .*)`)
	donePattern = prose.Pattern(`iperf Done\.`)
	// copiedLine precedes the lines that --get-server-output adds, which describe the same test.
	copiedLine     = prose.Pattern(`Server (?:JSON )?output:\s*$`)
	connectingLine = prose.Pattern(`Connecting to host (\S+), port \d+`)
	acceptedLine   = prose.Pattern(`Accepted connection from \S+, port \d+`)
	clientLine     = prose.Pattern(`Client connecting to (\S+), (TCP|UDP) port \d+`)
	serverLine     = prose.Pattern(`Server listening on (?:(TCP|UDP) port (\d+)|\d+)`)
	reverseLine    = prose.Pattern(`Reverse mode, remote host \S+ is sending`)
	hyphens        = prose.Pattern(`- - - - -|Test Complete\.`)
	titleLine      = prose.Pattern(`\[ *ID\](.*)`)
	reportLine     = prose.Pattern(`\[ *(\d{1,5})\] Server Report:`)
	datagramLine   = prose.Pattern(`(?:Sending|Receiving) (\d{1,9}) byte datagrams`)
	bufferLine     = prose.Pattern(`Write buffer size: *(\d{1,15}) Byte`)
	versionLine    = prose.Pattern(`(?:^|\s)iperf (3\.\d+\S*)\s*(?:\(|$)`)
	timeLine       = prose.Pattern(`Time: (\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT)`)
	startingLine   = prose.Pattern(`Starting Test: protocol: (\w+), (\d{1,9}) streams, (\d{1,12}) byte blocks, ` +
		`omitting (\d{1,9}) seconds, (?:(\d{1,9}) second test|\d+ \w+ to send)`)
	cpuLine        = prose.Pattern(`CPU Utilization: local/\w+ ([\d.]{1,9})% .*remote/\w+ ([\d.]{1,9})%`)
	cookieLine     = prose.Pattern(`Cookie: (\S+)`)
	targetLine     = prose.Pattern(`Target Bitrate: (\d{1,15})`)
	congestionLine = prose.Pattern(`snd_tcp_congestion (\w+)`)
	connectLine    = prose.Pattern(`\[ *\*?(\d{1,5})\] local (\S+) port (\d+) connected (to|with) (\S+) port \d+(.*)`)
	lossRest       = prose.Pattern(
		`^\s+(?:(` + number + `) ms\s+)?(-?\d{1,15}|Unknown)/\s*(\d{1,15})(?:\s+\([^)]*%\))?`)
	endPattern    = prose.Pattern(`\b(?:sender|receiver)\b`)
	sentAgainRest = prose.Pattern(`^\s+(\d{1,15})(?:\s|$)`)
	enhancedRest  = prose.Pattern(`^\s+\d+/\d+\s+(\d{1,15})(?:\s|$)`)
)

func (p *textParser) line(text string) {
	if p.open != "" {
		text, p.open = p.open+" "+strings.TrimSpace(text), ""
	}
	if cut, continues := strings.CutSuffix(text, `\`); continues && strings.Contains(text, "iperf") {
		p.open = strings.TrimRight(cut, " ")
		return
	}
	if command := pasted.Command(text, callPattern()); command != nil && optionsOf(command)["role"] != "" {
		p.end()
		p.command, p.prompt, p.copied = command, p.number, false
		return
	}
	// Each kind of line has a pattern and a function for the captured groups.
	for _, kind := range []struct {
		pattern *regexp.Regexp
		read    func(m []string)
	}{
		{donePattern(), func([]string) { p.end(); p.copied = false }},
		{connectingLine(), func(m []string) { p.begin("C"); p.at.host, p.copied = m[1], false }},
		{copiedLine(), func([]string) { p.copied = true }},
		{rowLine(), p.row},
		{connectLine(), p.connect},
		{acceptedLine(), func([]string) { p.begin("S") }},
		{clientLine(), p.client},
		{serverLine(), p.server},
		{reverseLine(), func([]string) { p.test().reverse = true }},
		{hyphens(), func([]string) { p.test().parted = true }},
		{titleLine(), func(m []string) {
			t := p.test()
			t.summary = t.summary || t.parted
			t.udp = t.udp || strings.Contains(m[1], "Datagrams")
			t.sends = t.sends || strings.Contains(m[1], "Cwnd") || strings.Contains(m[1], "Total Datagrams") &&
				!strings.Contains(m[1], "/Total")
		}},
		{reportLine(), func(m []string) { p.test().report = m[1] }},
		{datagramLine(), func(m []string) { p.test().udp, p.test().block = true, parsedInt(m[1]) }},
		{bufferLine(), func(m []string) { p.test().block = parsedInt(m[1]) }},
		{versionLine(), func(m []string) { p.unlessRows().version = m[1] }},
		{timeLine(), func(m []string) { p.unlessRows().start = parsedTime(m[1]) }},
		{startingLine(), p.starting},
		{cpuLine(), func(m []string) {
			p.test().cpu = map[string]float64{"local": parsedNumber(m[1]) / 100, "remote": parsedNumber(m[2]) / 100}
		}},
		{cookieLine(), func(m []string) { p.test().cookie = m[1] }},
		{targetLine(), func(m []string) { p.test().rate = parsedNumber(m[1]) / 8 }},
		{congestionLine(), func(m []string) { p.test().congestion = m[1] }},
		{refusedLine(), func(m []string) { p.test().failed = m[1] }},
		{failedLine(), func(m []string) { p.test().failed = m[1] + m[2] }},
		{pasted.Prompt(), func([]string) { p.end(); p.command, p.copied = nil, false }},
		{rateLine(), func([]string) { p.lost = append(p.lost, p.number) }},
	} {
		m := kind.pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if !p.copied || kind.pattern == donePattern() || kind.pattern == connectingLine() ||
			kind.pattern == pasted.Prompt() {
			kind.read(m)
		}
		return
	}
}

// test returns the current test, or a new one.
func (p *textParser) test() *printed {
	if p.at == nil {
		p.at = &printed{line: p.number, prompt: p.number, command: p.command, options: optionsOf(p.command),
			last: map[string]row{}, ends: map[string]bool{}}
		if p.command != nil {
			p.at.prompt = p.prompt
			p.at.two = strings.Contains(p.command[0], "iperf") && !strings.Contains(p.command[0], "iperf3")
		}
		p.tests = append(p.tests, p.at)
	}
	return p.at
}

// begin returns the test of a line that begins one at a client or a server.
func (p *textParser) begin(role string) *printed {
	if p.at != nil && (p.at.role != "" || len(p.at.rows) > 0) {
		p.end()
	}
	p.test().role = role
	return p.at
}

// unlessRows returns the current test if it has no rows yet, or a new one.
func (p *textParser) unlessRows() *printed {
	if p.at != nil && len(p.at.rows) > 0 {
		p.end()
	}
	return p.test()
}

// end ends the current test.
func (p *textParser) end() { p.at = nil }

// client parses iperf 2's "Client connecting to 192.0.2.1, TCP port 5001". A server also prints it when it tests the
// reverse direction.
func (p *textParser) client(m []string) {
	back := p.at != nil && p.at.role == "S" && len(p.at.connections) > 0
	early := p.at != nil && (p.at.role == "" || p.at.role == "S") && len(p.at.rows) == 0
	if !back && !early {
		p.end()
	}
	t := p.test()
	t.two, t.udp, t.host = true, t.udp || m[2] == "UDP", m[1]
	if !back {
		t.role = "C"
	}
}

// server parses "Server listening on TCP port 5001", or "Server listening on 5201", at which iperf3 waits for a test.
func (p *textParser) server(m []string) {
	if m[1] == "" {
		p.end()
		return
	}
	p.begin("S").two = true
	p.at.udp, p.at.port = m[1] == "UDP", m[2]
}

// connect parses the line of a connection. A server of iperf 2 begins a test with it.
func (p *textParser) connect(m []string) {
	t := p.test()
	if known := slices.ContainsFunc(t.connections, func(c connection) bool { return c.id == m[1] }); len(t.rows) > 0 &&
		(known || t.role == "S" && t.finished()) {
		role, port, host := t.role, t.port, t.host
		p.end()
		t = p.test()
		t.role, t.port, t.host = role, port, host
	}
	t.two = m[4] == "with"
	address := func(s string) string { before, _, _ := strings.Cut(s, "%"); return before }
	t.connections = append(t.connections, connection{id: m[1], local: address(m[2]), localPort: m[3],
		remote: address(m[5]), reversed: strings.Contains(m[6], "(reverse)")})
}

// starting parses a line that -V adds:
//
//	Starting Test: protocol: TCP, 1 streams, 131072 byte blocks, omitting 0 seconds, 2 second test, tos 0
func (p *textParser) starting(m []string) {
	t := p.test()
	t.protocol, t.streams, t.block = m[1], int(parsedInt(m[2])), parsedInt(m[3])
	t.omit, t.seconds = parsedNumber(m[4]), parsedNumber(m[5])
}
