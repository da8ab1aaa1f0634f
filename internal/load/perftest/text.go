package perftest

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"headroom/internal/load/pasted"
	"headroom/internal/unit"
)

var (
	callPattern = regexp.MustCompile(`(?:^|[\s/(;&|#$%>❯➜])((?:ib|raw_ethernet)_\w+_(?:bw|lat))(?:\s|$)`)
	headPattern = regexp.MustCompile(
		`(RDMA_Write|RDMA_Read|Send|Atomic|Write_imm)\S*[ _].{0,60}?(BW|Latency)[ _].{0,20}Test`)
	rowPattern   = regexp.MustCompile(`^\s*\d+\s+\d+\s+[\d.]+(?:\s|$)`)
	titlePattern = regexp.MustCompile(`#bytes\s+.*#iterations`)
	settings     = regexp.MustCompile(`(Number of qps|Connection type|TX depth|Mtu)\s*:\s*(\w+)`)
)

// IsText reports whether a text has a table of perftest.
func IsText(text []byte) bool { return titlePattern.Match(text) }

// ParseText reads what programs of perftest printed, of one call or several, with commands and prose between them. With
// -a, each size is a result. Left are lines that are not read.
//
//	                   RDMA_Write BW Test
//	#bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
//	65536      5000             92.57              92.55              0.176529
func ParseText(text string) (all []pasted.Result, left []pasted.Left) {
	for _, part := range pasted.Parts(text, callPattern, headPattern) {
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
	for i, line := range part.Lines {
		if m := headPattern.FindStringSubmatch(line); m != nil {
			if program == "" {
				program = map[string]string{"RDMA_Write": "ib_write", "RDMA_Read": "ib_read", "Send": "ib_send"}[m[1]] +
					map[string]string{"BW": "_bw", "Latency": "_lat"}[m[2]]
			}
			if strings.Contains(line, "Bidirectional") {
				unread = "a bidirectional test prints one rate for both ways together; run it without -b"
			}
		}
		for _, m := range settings.FindAllStringSubmatch(line, -1) {
			params[names[m[1]]] = m[2]
		}
		switch {
		case titlePattern.MatchString(line):
			title = line
		case strings.Contains(line, "-----"):
			title = ""
		case title != "" && rowPattern.MatchString(line):
			r, reason := rowOf(program, title, line)
			if unread != "" {
				reason = unread
			}
			if reason != "" {
				left = append(left, pasted.Left{Line: part.Line + i, Reason: reason})
				continue
			}
			one := pasted.Result{Part: part, Job: program + "-" + unit.BlockSize(strconv.FormatInt(r.Size, 10)),
				Params: map[string]string{"test": program, "size": strconv.FormatInt(r.Size, 10)}, Values: r.Values(),
				Seconds: r.Ran()}
			one.Line = part.Line + i
			for name, value := range params {
				one.Params[name] = value
			}
			all = append(all, one)
		}
	}
	return all, left
}

// rowOf returns the result of a row, or why there is none.
func rowOf(program, title, line string) (r Result, reason string) {
	verb, kind, _ := strings.Cut(strings.TrimPrefix(program, "ib_"), "_")
	r.Verb = verb
	switch err := r.row(title, line); {
	case verb != "write" && verb != "read" && verb != "send" || kind != "bw" && kind != "lat":
		return r, "no line names a test of RDMA writes, reads or sends above the table; paste the whole output"
	case err != nil:
		return r, err.Error()
	case r.Iterations == 0:
		return r, "no operation was counted"
	case (kind == "bw") != (r.Bitrate > 0) || len(r.Values()) == 0:
		return r, fmt.Sprintf("the line has no figures of %s, or they are 0", program)
	}
	return r, ""
}
