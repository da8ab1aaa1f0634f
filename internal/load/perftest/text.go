package perftest

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/load/pasted"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

var (
	callPattern = prose.Pattern(pasted.Before + `((?:ib|raw_ethernet)_\w+_(?:bw|lat))(?:\s|$)`)
	headPattern = prose.Pattern(
		`(RDMA_Write|RDMA_Read|Send|Atomic|Write_imm)\S*[ _].{0,60}?(BW|Latency)[ _].{0,20}Test`)
	rowPattern   = prose.Pattern(`^\s*\d+\s+\d+\s+[\d.]+(?:\s|$)`)
	titlePattern = prose.Pattern(`#bytes\s+.*#iterations`)
	settings     = prose.Pattern(`(Number.of.qps|Connection.type|TX.depth|Mtu)"?\s*:\s*"?(\w+)`)
	infoPattern  = prose.Pattern(`test_info"?\s*:`)
	// documentHead begins the figures in the file of --out_json.
	documentHead = prose.Pattern(`\bresults"?\s*:\s*\{`)
)

// inCycles matches -C, which has no argument, alone or combined with others that have none.
var inCycles = prose.Pattern(`^(?:--report-cycles|-[aFegzRvhbNVHUOZP]*C[aFegzRvhbNVHUOZP]*)$`)

// IsText reports whether a text has a table of perftest, or its JSON.
func IsText(text []byte) bool { return titlePattern().Match(text) || infoPattern().Match(text) }

// ParseText parses output of perftest, and files of --out_json, of one call or several, with commands and prose between
// them. With -a, each size of a table is a result; a file only has the last one. Left are lines that could not be
// parsed.
//
//	                   RDMA_Write BW Test
//	#bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
//	65536      5000             92.57              92.55              0.176529
func ParseText(text string) (all []pasted.Result, left []pasted.Left) {
	for _, part := range pasted.Parts(text, callPattern(), headPattern()) {
		results, not := partOf(part)
		all, left = append(all, results...), append(left, not...)
	}
	return all, left
}

func partOf(part pasted.Part) (all []pasted.Result, left []pasted.Left) {
	program, params := "", map[string]string{}
	if part.Command != nil {
		program = path.Base(part.Command[0])
	}
	title, unread := "", ""
	names := map[string]string{"Number of qps": "qp", "Connection type": "connection", "TX depth": "tx-depth",
		"Mtu": "mtu"}
	// head parses a line that names a test and its settings.
	head := func(line string) {
		if m := headPattern().FindStringSubmatch(line); m != nil {
			program = map[string]string{"RDMA_Write": "ib_write", "RDMA_Read": "ib_read", "Send": "ib_send"}[m[1]] +
				map[string]string{"BW": "_bw", "Latency": "_lat"}[m[2]]
			unread = ""
			switch {
			case part.Command != nil && path.Base(part.Command[0]) != program:
				part.Command = nil // it belongs to another test, above this one
			case strings.HasSuffix(program, "_lat") && slices.ContainsFunc(part.Command, inCycles().MatchString):
				unread = "with -C the times are cycles of the processor, whatever the titles say; run it without"
			}
			if strings.Contains(line, "Bidirectional") {
				unread = "a bidirectional test prints one rate for both ways together; run it without -b"
			}
		}
		for _, m := range settings().FindAllStringSubmatch(line, -1) {
			params[names[strings.ReplaceAll(m[1], "_", " ")]] = m[2]
		}
	}
	for i, line := range part.Lines {
		add := func(r Result, reason, form string) {
			reason = cmp.Or(unread, reason)
			if reason != "" {
				left = append(left, pasted.Left{Line: part.Line + i, Reason: reason})
				return
			}
			one := pasted.Result{Part: part, Job: program + "-" + unit.BlockSize(strconv.FormatInt(r.Size, 10)),
				Params: map[string]string{"test": program, "size": strconv.FormatInt(r.Size, 10)}, Values: r.Values(),
				Seconds: r.Ran(), Test: fmt.Sprint(r), Form: form}
			one.Line = part.Line + i
			maps.Copy(one.Params, params)
			all = append(all, one)
		}
		// A line of jq -c can have several documents.
		from := 0
		rest := line
		if documentHead().MatchString(line) {
			rest = strings.Join(part.Lines[i:], "\n")
		}
		for _, at := range documentHead().FindAllStringIndex(line, -1) {
			head(line[from:at[0]])
			r, reason := documentOf(program, rest[at[0]:])
			add(r, reason, "JSON")
			from = at[1]
		}
		head(line[from:])
		switch {
		case titlePattern().MatchString(line):
			title = line
		case strings.Contains(line, "-----"):
			title = ""
		case title != "" && rowPattern().MatchString(line):
			r, reason := rowOf(program, title, line)
			add(r, reason, "table")
		}
	}
	return all, left
}

// rowOf returns the result of a row, or why there is none.
func rowOf(program, title, line string) (r Result, reason string) {
	err := r.row(title, line)
	return r, r.fault(program, err)
}

// documentOf returns the result of a file of --out_json, from its results on, or why there is none.
//
//	results: {                          "results": {
//	MsgSize: 4096,                      "MsgSize": 65536,
//	n_iterations: 800,                  "n_iterations": 5000,
func documentOf(program, text string) (r Result, reason string) {
	results, _, whole := strings.Cut(text, "}")
	switch {
	case !whole:
		return r, "the JSON is cut off"
	case strings.Contains(results, "sl:") || strings.Contains(results, `"sl"`):
		return r, "the JSON has one service level of several"
	case !strings.Contains(results, "n_iterations"):
		return r, "the JSON has one figure alone, as with --output; run it without"
	}
	err := r.document(results)
	return r, r.fault(program, err)
}

// fault sets the verb of a result that was parsed with err, and returns why it is invalid; empty for a valid one.
func (r *Result) fault(program string, err error) string {
	verb, kind, _ := strings.Cut(strings.TrimPrefix(program, "ib_"), "_")
	r.Verb = verb
	switch {
	case verb != "write" && verb != "read" && verb != "send" || kind != "bw" && kind != "lat":
		return "no line names a test of RDMA writes, reads or sends above the figures; paste the whole output"
	case err != nil:
		return err.Error()
	case r.Iterations == 0:
		return "no operation was counted"
	case (kind == "bw") != (r.Bitrate > 0) || len(r.Values()) == 0:
		return fmt.Sprintf("the line has no figures of %s, or they are 0", program)
	}
	return ""
}
