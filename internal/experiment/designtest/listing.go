package designtest

import (
	"regexp"
	"slices"
	"strings"
)

var runIDs = regexp.MustCompile(`headroom-[0-9A-Za-z]{10}`)

// asListed is a command line as a dry run lists it: without what is drawn again for each run, without where fio is to
// leave its output, and without the name by which that calls the load.
func asListed(line string) string {
	words := strings.Fields(runIDs.ReplaceAllString(line, "headroom-RUN"))
	own := []string{"--name=", "--output=", "--write_", "--log_avg_msec=", "--per_job_logs=", "--eta"}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool {
		return slices.ContainsFunc(own, func(prefix string) bool { return strings.HasPrefix(word, prefix) })
	}), " ")
}

// doesWhatItListed fails the test unless the loads that were started are those that a dry run has listed. A layout is a
// step of a load, and need not be listed by itself.
func (l *Lab) doesWhatItListed(dryRun string) {
	l.Helper()
	var done, listed []string
	for _, load := range l.loads() {
		line := asListed(load.Line())
		if load.Params["name"] != "layout" && !slices.Contains(done, line) {
			done = append(done, line)
		}
	}
	for line := range strings.Lines(dryRun) {
		if strings.Contains(line, "fio --name=") && !strings.Contains(line, "--name=layout") ||
			strings.Contains(line, "iperf3 --") {
			listed = append(listed, asListed(line))
		}
	}
	is := func(line, command string) bool { return line == command || strings.HasSuffix(line, ": "+command) }
	for _, command := range done {
		if !slices.ContainsFunc(listed, func(line string) bool { return is(line, command) }) {
			l.Errorf("done, and not listed: %s", command)
		}
	}
	for _, line := range listed {
		if !slices.ContainsFunc(done, func(command string) bool { return is(line, command) }) {
			l.Errorf("listed, and not done: %s", line)
		}
	}
}
