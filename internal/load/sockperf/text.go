package sockperf

import (
	"strings"

	"github.com/headroom/headroom/internal/load/pasted"
	"github.com/headroom/headroom/internal/prose"
)

var (
	callPattern = prose.Pattern(pasted.Before + `(sockperf)\s+(?:\S+\s+)?--?[A-Za-z]`)
	headPattern = prose.Pattern(`== version #\S+ ==`)
	isText      = prose.Pattern(`== version #\S+ ==|\[Valid Duration\] RunTime=|sockperf: Total of \d+ messages sent in`)
	wayPattern  = prose.Pattern(`IP = (\S+)\s+PORT = +\d+ # (TCP|UDP)`)
)

// IsText reports whether a text has output of a sockperf client.
func IsText(text []byte) bool {
	return isText().Match(text) && strings.Contains(string(text), "sockperf")
}

// ParseText parses the output of sockperf clients, of one call or several, with commands and prose between them. The
// mode and the options are from the command; without one, only the direction is known. Left are calls that could not be
// parsed.
//
//	[ 0] IP = 198.18.9.2      PORT = 11111 # UDP
//	sockperf: [Valid Duration] RunTime=1.549 sec; SentMessages=28531; ReceivedMessages=28531
//	sockperf: ====> avg-rtt=54.262 (std-dev=692.804)
func ParseText(text string) (all []pasted.Result, left []pasted.Left) {
	for _, part := range pasted.Parts(text, callPattern(), headPattern()) {
		printed := strings.Join(part.Lines, "\n")
		if !isText().MatchString(printed) {
			continue
		}
		r, err := Parse([]byte(printed))
		reason := ""
		switch {
		case err != nil:
			reason = err.Error()
		case strings.Contains(printed, "[SERVER]"):
			reason = "a server of sockperf prints no times; paste what the client printed"
		case strings.Count(printed, "[Valid Duration]") > 1:
			reason = "the times are of several servers, or of several calls with nothing between them"
		}
		if reason != "" {
			left = append(left, pasted.Left{Line: part.Line, Reason: reason})
			continue
		}
		params := paramsOf(part.Command)
		if m := wayPattern().FindStringSubmatch(printed); m != nil {
			params["protocol"], params["server"] = strings.ToLower(m[2]), m[1]
		}
		if r.OneWay.Seconds > 0 {
			params["mode"] = Throughput
		}
		job := strings.Trim(params["mode"]+"-"+params["protocol"], "-")
		if job == "" {
			job = "sockperf"
		}
		all = append(all, pasted.Result{Part: part, Job: job, Params: params, Values: r.Values(), Seconds: r.Ran(),
			Warnings: r.Warnings(params)})
	}
	return all, left
}

// paramsOf returns the options of a call that affect the load. Source: sockperf.cpp, the tables of options.
//
//	sockperf pp -i 192.0.2.1 --tcp -m 64 -t 10
func paramsOf(command []string) map[string]string {
	params := map[string]string{}
	modes := map[string]string{"pp": PingPong, "ul": UnderLoad, "tp": Throughput, PingPong: PingPong,
		UnderLoad: UnderLoad, Throughput: Throughput}
	short := map[string]string{"-t": "time", "-m": "msg-size", "-b": "burst"}
	for i := 1; i < len(command); i++ {
		name, value, given := strings.Cut(command[i], "=")
		if long, ok := short[name]; ok {
			name = "--" + long
		}
		name, isOption := strings.CutPrefix(name, "--")
		_, known := Options()[name]
		switch {
		case modes[command[i]] != "":
			params["mode"] = modes[command[i]]
		case !isOption || !known:
		case !given && i+1 < len(command) && !strings.HasPrefix(command[i+1], "-"):
			i++
			value = command[i]
			fallthrough
		default:
			if value == "" {
				value = "1"
			}
			if !strings.Contains(value, "$") {
				params[name] = value
			}
		}
	}
	return params
}
