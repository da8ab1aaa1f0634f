package iperf3

import (
	"slices"
	"strings"
)

// optionsOf returns the options of a call of iperf3 or iperf 2 by their long names, and its role ("client" or "server")
// as "role". Options that only affect where, how often and in which form results are printed are omitted. Source:
// iperf3(1), iperf(1).
//
//	iperf3 -c 192.0.2.24 -P20 -t360
//	iperf -s -u -i 1
func optionsOf(command []string) map[string]string {
	short := map[byte]string{'c': "client", 'P': "parallel", 't': "time", 'l': "length", 'b': "bitrate", 'O': "omit",
		'w': "window", 'C': "congestion", 'M': "set-mss", 'n': "bytes", 'k': "blockcount", 'i': "", 'f': "", 'p': "",
		'B': "", 'A': "", 'S': "tos", 'T': "", 'X': "", 'L': "", 'F': "", 'I': ""}
	toggles := map[byte]string{'s': "server", 'u': "udp", 'R': "reverse", 'Z': "zerocopy", 'N': "no-delay",
		'd': "dualtest", 'r': "tradeoff", 'V': "", 'J': "", 'e': "", 'D': "", '1': "", '4': "", '6': ""}
	printing := []string{"interval", "format", "port", "bind", "verbose", "json", "json-stream", "title", "logfile",
		"get-server-output", "timestamps", "forceflush", "one-off", "daemon", "connect-timeout", "enhanced"}
	options := map[string]string{}
	set := func(name, value string) {
		switch {
		case name == "" || slices.Contains(printing, name) || strings.Contains(value, "$"):
		case name == "client" || name == "server":
			options["role"], options[name] = name, value
		default:
			options[name] = value
		}
	}
	for i := 1; i < len(command); i++ {
		word := command[i]
		value := func() string {
			if i+1 < len(command) && !strings.HasPrefix(command[i+1], "-") {
				i++
				return command[i]
			}
			return "1"
		}
		if long, isLong := strings.CutPrefix(word, "--"); isLong {
			name, given, found := strings.Cut(long, "=")
			if !found {
				given = value()
			}
			set(name, given)
			continue
		}
		for k := 1; k < len(word) && word[0] == '-'; k++ {
			if name, ok := short[word[k]]; ok {
				if k+1 < len(word) {
					set(name, word[k+1:])
				} else {
					set(name, value())
				}
				break
			}
			set(toggles[word[k]], "1")
		}
	}
	return options
}

// LoadOptions are the options of a pasted command that affect the load and that results do not show otherwise.
func LoadOptions() []string {
	return []string{"window", "set-mss", "no-delay", "zerocopy", "bytes", "blockcount", "tos", "dscp", "bitrate",
		"dualtest", "tradeoff", "skip-rx-copy", "fq-rate", "mptcp", "gsro"}
}

// amount parses a number with a K, M, G or T of 1000 or 1024, as iperf3 takes it; 0 for other text.
func amount(s string, base float64) float64 {
	s, _, _ = strings.Cut(s, "/") // removes bursts
	digits := strings.TrimRight(s, "kKmMgGtT")
	v := parsedNumber(digits)
	if len(s) == len(digits)+1 {
		for range 1 + strings.Index("kmgt", strings.ToLower(s[len(digits):])) {
			v *= base
		}
	}
	return v
}
