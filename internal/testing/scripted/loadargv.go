package scripted

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options reads "--option=value", "--option value" and "--option". The option --name begins a new job, as in fio,
// unless its value is "global".
func options(argv []string) (map[string]string, []map[string]string) {
	global := map[string]string{}
	var jobs []map[string]string
	into := global
	for i := 1; i < len(argv); i++ {
		word, long := strings.CutPrefix(argv[i], "--")
		if !long {
			continue
		}
		name, value, given := strings.Cut(word, "=")
		if !given {
			value = "1"
			if i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-") {
				value = argv[i+1]
			}
		}
		if name == "name" && value != "global" {
			into = maps.Clone(global)
			jobs = append(jobs, into)
		}
		into[name] = value
	}
	if len(jobs) > 0 {
		return jobs[0], jobs
	}
	return global, nil
}

var shifts = regexp.MustCompile(`shift ([0-9]+)`)

// unwrap removes commands in front of a program.
func (l *Load) unwrap(argv []string) []string {
	for len(argv) > 0 {
		rest := argv[1:]
		drop := func(valued ...string) { // options, valued are those with their value in the next word
			for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
				last := rest[0] == "--"
				if slices.Contains(valued, rest[0]) {
					rest = rest[min(2, len(rest)):]
				} else {
					rest = rest[1:]
				}
				if last {
					break
				}
			}
		}
		switch path.Base(argv[0]) {
		case "env":
			for drop("-u"); len(rest) > 0 && strings.Contains(rest[0], "="); rest = rest[1:] {
				name, value, _ := strings.Cut(rest[0], "=")
				l.Env[name] = value
			}
		case "timeout":
			drop("-k", "-s")
			if len(rest) > 0 {
				seconds, _ := strconv.ParseFloat(strings.TrimSuffix(rest[0], "s"), 64)
				l.limit, rest = time.Duration(seconds*float64(time.Second)), rest[1:]
			}
		case "taskset", "chrt":
			if drop("-c"); len(rest) > 0 && !slices.Contains(argv, "-c") {
				rest = rest[1:]
			}
		case "numactl", "nice", "setpriv", "stdbuf", "setsid":
			drop("-n", "-N", "-m", "-C")
		case "sh":
			script, ok := scriptOf(argv)
			if !ok || !strings.HasSuffix(strings.TrimSpace(script), `"$@"`) {
				return argv
			}
			shifted := 0
			if found := shifts.FindStringSubmatch(script); found != nil {
				shifted, _ = strconv.Atoi(found[1])
			}
			if len(argv) < 4+shifted {
				return argv
			}
			if shifted > 0 && strings.Contains(script, `cd -- "$1"`) {
				l.Folder = argv[4]
			}
			rest = argv[4+shifted:]
		default:
			return argv
		}
		argv = rest
	}
	return argv
}

// scriptOf returns the script of sh -c.
func scriptOf(argv []string) (string, bool) {
	if len(argv) < 4 || path.Base(argv[0]) != "sh" || argv[1] != "-c" {
		return "", false
	}
	return argv[2], true
}
