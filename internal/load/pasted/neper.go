package pasted

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

var (
	// callPattern finds a call. It does not match "netperf -t tcp_rr".
	callPattern = prose.Pattern(`(?m)(?:^\s*|[/(;&|#$%>❯➜]\s*|\b(?:sudo|time|exec|--)\s+)` +
		`((?:tcp|udp|psp)_(?:stream|rr|crr))(?:\s+-|\s*$)`)
	rate    = prose.Pattern(`(?m)^\s*throughput=\d`)
	begins  = prose.Pattern(`^\s*VERSION=\d`)
	setting = prose.Pattern(`^\s*([a-z][A-Za-z0-9_]*(?:\.\d+)?)=(.*)$`)
	marks   = prose.Pattern(`\b(?:local_throughput|remote_throughput|throughput_units|throughput_Mbps|` +
		`invalid_secret_count|correlation_coefficient)=`)
)

// IsNeper reports whether a text has output of neper.
func IsNeper(text []byte) bool {
	return marks().Match(text) || rate().Match(text) && callPattern().Match(text)
}

// ParseNeper parses tests, of one call or several, with commands and prose between them. Left are tests that could not
// be parsed. The programs print their options, then their results, a name and a value in each line.
//
//	num_flows=1
//	client=1
//	throughput=13200.32
//	remote_throughput=12831
//
// Sources: define_all_flags.c, thread.c, rr.c, stream.c, histo.c and common.c of neper; for the versions before July
// 2019, which had no udp_stream, tcp_crr and local_throughput, tcp_stream.c and tcp_rr.c.
func ParseNeper(text string) (all []Result, left []Left) {
	for _, part := range Parts(text, callPattern(), begins()) {
		for _, t := range neperTests(part) {
			r, reason := t.result()
			if reason != "" {
				left = append(left, Left{Line: t.part.Line, Reason: reason})
				continue
			}
			r.Part = t.part
			all = append(all, r)
		}
	}
	return all, left
}

// neperTest has the names and values of one process.
type neperTest struct {
	part   Part
	values map[string]string
}

// neperTests returns the tests of a part: a repeated name begins another test. --iostat-ms prints t=… many times.
func neperTests(part Part) (all []neperTest) {
	last := neperTest{values: map[string]string{}}
	for i, line := range part.Lines {
		m := setting().FindStringSubmatch(line)
		if m == nil || !slices.Contains(neperCounts(), m[1]) && !slices.Contains(neperChanges(), m[1]) &&
			!strings.HasPrefix(m[1], "latency_p") {
			continue
		}
		if _, again := last.values[m[1]]; again || len(last.values) == 0 {
			if again {
				all = append(all, last)
			}
			last = neperTest{part: part, values: map[string]string{}}
			last.part.Line += i
		}
		last.values[m[1]] = strings.TrimSpace(m[2])
	}
	whole := strings.Join(part.Lines, "\n")
	if !marks().MatchString(whole) && (part.Command == nil || !rate().MatchString(whole)) {
		return nil // other programs print host=a, too
	}
	if len(last.values) == 0 {
		last.part = part
	}
	return append(all, last)
}

// neperCounts are the names whose values are used. Those from throughput on are results.
func neperCounts() []string {
	return []string{"magic", "maxevents", "client", "num_clients", "num_flows", "num_threads", "host", "test_length",
		"total_run_time", "total_transactions", "buffer_size", "request_size", "response_size", "congestion_control",
		"enable_read", "tcp_fastopen", "min_rto", "throughput_opt", "time_start", "time_end", "num_transactions",
		"throughput", "throughput_units", "throughput_Mbps", "local_throughput", "remote_throughput",
		"latency_min", "latency_max", "latency_mean"}
}

// program returns the program that printed the test, determined by its options. If they are missing it returns the
// program of the command, and "" if there is no command. psp_stream has the options of tcp_stream.
func (t *neperTest) program() string {
	typed := ""
	if t.part.Command != nil {
		typed = path.Base(t.part.Command[0])
	}
	has := t.byOptions()
	if has == "" || strings.TrimPrefix(typed, "psp") == strings.TrimPrefix(has, "tcp") {
		return typed
	}
	if has != typed {
		t.part.Command = nil // it belongs to another test, above this one
	}
	return has
}

// typed adds the values of options that are in the command but in no line.
func (t *neperTest) typed() {
	names := map[string]string{"-F": "num_flows", "-T": "num_threads", "-B": "buffer_size", "-H": "host",
		"-l": "test_length"}
	if strings.HasSuffix(t.program(), "rr") {
		names["-Q"], names["-R"] = "request_size", "response_size"
	}
	for i, word := range t.part.Command {
		name, value, joined := strings.Cut(word, "=")
		if strings.HasPrefix(name, "--") {
			name = strings.ReplaceAll(name[2:], "-", "_")
		} else if len(name) > 2 {
			name, value, joined = names[word[:2]], word[2:], true
		} else {
			name = names[name]
		}
		if !joined && i+1 < len(t.part.Command) {
			value = t.part.Command[i+1]
		}
		if _, printed := t.values[name]; !printed && slices.Contains(slices.Collect(maps.Values(names)), name) {
			t.values[name] = value
		}
	}
}

// byOptions returns the program that has these options; empty if lines of them are missing.
func (t *neperTest) byOptions() string {
	has := func(name string) bool { _, printed := t.values[name]; return printed }
	_, tcp := t.values["tcp_fastopen"]
	switch {
	case !has("magic") || !has("maxevents"):
		return ""
	case has("min_rto") && has("enable_read"): // before 2019
		return "tcp_stream"
	case has("min_rto") && has("request_size"):
		return "tcp_rr"
	case has("throughput_opt") && tcp:
		return "tcp_stream"
	case has("throughput_opt"):
		return "udp_stream"
	case has("request_size") && tcp && !has("delay"):
		return "tcp_crr"
	case has("request_size") && tcp:
		return "tcp_rr"
	case has("request_size"):
		return "udp_rr"
	}
	return ""
}

// isClient reports whether a client printed it, if that is known.
func (t *neperTest) isClient() (client, known bool) {
	if value := t.values["client"]; value != "" {
		return value == "1", true
	}
	isOption := regexp.MustCompile(`^(?:-[A-Za-z]*c[A-Za-z]*|--client)$`)
	return slices.ContainsFunc(t.part.Command, isOption.MatchString), t.part.Command != nil
}

// number returns a value, and whether it is printed.
func (t *neperTest) number(name string) (v float64, ok bool) { return Number(t.values[name]) }

// result returns the result of the test, or why there is none.
func (t *neperTest) result() (r Result, reason string) {
	program := t.program()
	client, known := t.isClient()
	switch {
	case program == "":
		return r, "no command or option identifies neper's program; paste all of its lines"
	case !known:
		return r, "client=1 or client=0 is missing; paste all lines"
	case t.values["num_clients"] != "" && t.values["num_clients"] != "1":
		return r, "the server had several clients, and its figures are of all of them"
	}
	t.typed()
	protocol, kind, _ := strings.Cut(program, "_")
	r = Result{Job: protocol + "-" + kind, Params: map[string]string{"protocol": protocol},
		Values: map[string]float64{}, Form: "server"}
	if client {
		r.Form = "client"
	}
	names := map[string]string{"server": "host", "parallel": "num_flows", "threads": "num_threads",
		"congestion": "congestion_control", "time": "test_length", "transactions": "total_transactions"}
	if kind == "stream" {
		names["length"] = "buffer_size"
	} else {
		names["request"], names["response"] = "request_size", "response_size"
	}
	for param, name := range names {
		if value := t.values[name]; value != "" && value[0] != '-' { // --test-length -100 is in transactions
			r.Params[param] = value
		}
	}
	for _, name := range neperChanges() {
		if v, _ := t.number(name); v > 0 {
			r.Params[name] = t.values[name]
		}
	}
	start, _ := t.number("time_start")
	end, _ := t.number("time_end")
	if start > 0 && end > start {
		r.Seconds = math.Round((end-start)*1e6) / 1e6
	} else {
		r.Seconds, _ = t.number("total_run_time")
	}
	if kind == "stream" {
		reason = t.stream(&r, client)
	} else {
		reason = t.requests(&r, client)
	}
	if flows := t.values["num_flows"]; flows != "" && flows != "1" {
		r.Job += "-p" + flows
	}
	return r, reason
}

// neperChanges are the options that change the load if they are not 0.
func neperChanges() []string {
	return []string{"delay", "noburst", "no_delay", "max_pacing_rate", "tcp_tx_delay", "zerocopy", "rx_zerocopy"}
}

// neperMixed is the reason why lines of several processes among each other are not parsed.
const neperMixed = "throughput and local_throughput are not of the same test; paste what each process printed one after the other"

// stream parses rates. A process has the rate of the data that it read, and at its end learns the rate of the other
// one; both are in bit/s then.
func (t *neperTest) stream(r *Result, client bool) (reason string) {
	local, measured := t.number("local_throughput")
	remote, _ := t.number("remote_throughput")
	own, printed := t.number("throughput")
	bits, ok := neperUnits()[t.values["throughput_units"]]
	if megabits, old := t.number("throughput_Mbps"); old {
		own, bits, printed, ok = megabits, 1e6, true, true
	}
	switch {
	case !measured && !printed:
		return "it has no rate: the end of it is missing, or this end only sent; paste what the other end printed"
	case printed && !ok:
		return fmt.Sprintf("the unit %q of its rate is not known", t.values["throughput_units"])
	case measured && printed && math.Abs(local-own*bits) > bits/100+1: // both are rounded
		return neperMixed
	case !measured:
		local = own * bits
	}
	sent, received := remote, local
	if !client {
		sent, received = local, remote
	}
	for direction, rate := range map[string]float64{lab.Send: sent, lab.Receive: received} {
		if rate > 0 {
			r.Values[lab.Bitrate(direction)] = rate
		}
	}
	switch {
	case sent > 0 && received > 0:
		r.Job, r.Params["bidir"] = r.Job+"-bidir", "1"
	case received > 0:
		r.Job, r.Params["reverse"] = r.Job+"-reverse", "1"
	case sent == 0:
		return "this end received nothing; paste what the other end printed"
	}
	if measured {
		r.Test = fmt.Sprintf("stream %.0f %.0f", sent, received)
	}
	return ""
}

// requests parses the rate of transactions, and their latency in seconds. A server prints only zeros as times.
func (t *neperTest) requests(r *Result, client bool) (reason string) {
	rate, printed := t.number("throughput")
	remote, _ := t.number("remote_throughput")
	local, both := t.number("local_throughput")
	if !client && remote > 0 { // counted by the client
		rate, printed = cmp.Or(rate, remote), true
	}
	switch {
	case !printed || rate == 0:
		return "it has no rate of transactions: the end of it is missing"
	case local > 0 && math.Abs(local-rate) > 1:
		return neperMixed
	}
	r.Values[lab.RequestRate] = rate
	if both && client {
		r.Test = fmt.Sprintf("requests %.0f %.0f", local, remote)
	} else if both {
		r.Test = fmt.Sprintf("requests %.0f %.0f", remote, local)
	}
	if !client {
		return ""
	}
	for _, part := range []string{"min", "max", "mean"} {
		if v, _ := t.number("latency_" + part); v > 0 {
			r.Values[lab.Latency(lab.Request, part)] = v
		}
	}
	count, _ := t.number("num_transactions")
	for _, q := range lab.Quantiles() {
		if v, _ := t.number("latency_" + q.Name); v > 0 && (1-q.Q)*count >= 1 {
			r.Values[lab.Latency(lab.Request, q.Name)] = v
		}
	}
	return ""
}

// neperUnits returns the units of --throughput-opt in bit/s.
func neperUnits() map[string]float64 {
	return map[string]float64{"bits/s": 1, "10^3bits/s": 1e3, "10^6bits/s": 1e6, "10^9bits/s": 1e9,
		"Kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Kibit/s": 1 << 10, "Mibit/s": 1 << 20, "Gibit/s": 1 << 30,
		"B/s": 8, "KB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9, "KiB/s": 8 << 10, "MiB/s": 8 << 20, "GiB/s": 8 << 30,
		"KBytes/s": 8 << 10, "MBytes/s": 8 << 20, "GBytes/s": 8 << 30}
}
