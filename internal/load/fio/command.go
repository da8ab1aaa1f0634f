package fio

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/load/pasted"
	"github.com/headroom/headroom/internal/prose"
)

// Command finds a call of fio in a line of a terminal, with or without a prompt before it, and splits it like a shell.
// It returns nil if there is none.
//
//	root@debian:/exports# fio --name=fiotest --ioengine=io_uring --rw=randread --bs=8k
//	$ sudo fio -name=write -filename=/dev/nvme0n1 -rw=write 2>&1 | tee log
//	fio --filename='/mnt/a b' --rw read my.fio
func Command(line string) []string {
	at := commandStart(line)
	if at < 0 {
		return nil
	}
	return pasted.Words(pasted.From(line, at))
}

var (
	callWithOptions = prose.Pattern(pasted.Before + `(fio(?:\.exe)?)\s+(?:\S+\s+)?--?[a-z]`)
	callOfJobFile   = prose.Pattern(
		`(?:^|[#$%>❯➜]\s*)(?:sudo\s+)?(?:[\w./-]*/)?(fio)\s+\S+\.(?:fio|job|ini)(?:\s|$)`)
)

// commandStart returns where the word fio begins as a command: before an option, or after a prompt and before a job
// file.
func commandStart(line string) int {
	for _, call := range []*regexp.Regexp{callWithOptions(), callOfJobFile()} {
		if m := call.FindStringSubmatchIndex(line); m != nil {
			return m[2]
		}
	}
	return -1
}

// ParseArgv parses fio's command line into its jobs, by fio's rules: --name begins a job; options before the first one
// and after --name=global apply to all jobs below. One dash is as good as two, and a value can be a separate argument.
// Options of the command, not of a job, and job files are ignored.
func ParseArgv(argv []string) []Section {
	sections, _ := parseArgv(argv)
	return sections
}

// StatesAll reports whether a command of fio states all parameters of its jobs, so that a missing one has fio's
// default: it has jobs on the command line, reads no job file, and uses no shell variable.
func StatesAll(argv []string) bool {
	sections, files := parseArgv(argv)
	return len(sections) > 0 && len(files) == 0 && strings.TrimSuffix(path.Base(argv[0]), ".exe") == "fio" &&
		!slices.ContainsFunc(argv, func(word string) bool { return strings.ContainsAny(word, "$…") })
}

// parseArgv returns the jobs of a command line, and the words that are not options, which are job files.
func parseArgv(argv []string) (sections []Section, files []string) {
	global := map[string]string{}
	current := global
	for i := 1; i < len(argv); i++ {
		option := strings.TrimLeft(argv[i], "-")
		if option == argv[i] || option == "" {
			files = append(files, argv[i])
			continue
		}
		key, value, given := strings.Cut(option, "=")
		switch {
		case given:
		case slices.Contains(flags(), key) || slices.Contains(valueless(), key):
			value = "1"
		case i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-"):
			i++
			value = argv[i]
		default:
			value = "1"
		}
		switch {
		case key == "name" && value == "global":
			current = global
		case key == "name":
			sections = append(sections, Section{Name: value, Params: maps.Clone(global)})
			current = sections[len(sections)-1].Params
		case !slices.Contains(commandOptions(), key):
			current[key] = value
		}
	}
	return sections, files
}

// valueless are the options of the command that take no value.
func valueless() []string {
	return []string{
		"parse-only", "merge-blktrace-only", "minimal", "append-terse", "version", "help", "cpuclock-test",
		"showcmd", "readonly",
		"warnings-fatal", "bandwidth-log", "latency-log",
	}
}
