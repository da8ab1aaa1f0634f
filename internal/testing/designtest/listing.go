package designtest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/unit"
)

// How dry runs state the number of loads: the product of the numbers, for each match. For loads that begin at the same
// time they state the number of moments.
var (
	saidLoads = regexp.MustCompile(`(\d+) loads?;|(\d+) cells? in (\d+) (?:passes over|arms, each visited) (\d+)|` +
		`profiles (\d+) loads? more`)
	saidMoments = regexp.MustCompile(`(\d+) tests? of each pair|(\d+) (?:tests? on .*|combinations?),? in (\d+) passes`)
	saidTime    = regexp.MustCompile(`about ([\d.hms ]+)`)
	saidWrites  = regexp.MustCompile(`writes (\d[\d.]* [kMGT]?B)`)
)

var runIDs = regexp.MustCompile(`headroom-[0-9A-Za-z]{10}`)

// asListed returns a command line in the form of a dry run: without values that are random in each run, without fio's
// output file, and without the name of the load.
func asListed(line string) string {
	words := strings.Fields(runIDs.ReplaceAllString(line, "headroom-RUN"))
	own := []string{"--name=", "--output=", "--write_", "--log_avg_msec=", "--per_job_logs=", "--eta"}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool {
		return slices.ContainsFunc(own, func(prefix string) bool { return strings.HasPrefix(word, prefix) })
	}), " ")
}

// doesWhatItListed fails the test unless exactly the loads of the dry run were started. A layout is a step of a load,
// and need not be listed separately.
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

// costsWhatItSaid fails the test unless the number of loads, their time, and the size of layouts match the dry run. If
// measured values decide, the dry run states only bounds.
func (l *Lab) costsWhatItSaid(dry, done outcome) {
	l.Helper()
	if l.design.Adaptive {
		return
	}
	loads, moments, layouts, laidOut := 0, map[time.Time]bool{}, 0, 0.0
	for _, load := range l.loads() {
		size, err := strconv.ParseFloat(load.Params["size"], 64)
		switch {
		case load.Params["server"] != "":
		case load.Params["name"] == "layout" && err == nil:
			layouts, laidOut = layouts+1, laidOut+size
		default:
			loads, moments[load.Begins()] = loads+1, true
		}
	}
	said, of := numbers(saidLoads, dry.stderr), loads
	if said == 0 {
		said, of = numbers(saidMoments, dry.stderr), len(moments)
	}
	if said != of {
		l.Errorf("it has said that there will be %d loads, and there were %d:\n%s", said, of, dry.stderr)
	}
	about := saidTime.FindStringSubmatch(dry.stderr)
	if about == nil {
		l.Fatalf("it does not say how long it will take:\n%s", dry.stderr)
	}
	expected, err := time.ParseDuration(strings.ReplaceAll(strings.TrimSpace(about[1]), " ", ""))
	boots := len(l.design.Consent) > 0 // boots take longer than the loads, for an unknown time
	if err != nil || done.took < expected/2 || done.took > expected*3/2 && !boots {
		l.Errorf("it has said that it will take %s (%v), and took %s", about[1], err, done.took)
	}
	for _, writes := range saidWrites.FindAllStringSubmatch(dry.stderr, -1) {
		each := laidOut / float64(len(saidWrites.FindAllString(dry.stderr, -1)))
		if writes[1] != unit.Capacity(each) {
			l.Errorf("it has said that it writes %s, and %d layouts wrote %s", writes[1], layouts, unit.Capacity(each))
		}
	}
}

// numbers adds up the matches in a text, each as the product of its numbers.
func numbers(said *regexp.Regexp, text string) int {
	all := 0
	for _, match := range said.FindAllStringSubmatch(text, -1) {
		product := 1
		for _, number := range match[1:] {
			if n, err := strconv.Atoi(number); err == nil {
				product *= n
			}
		}
		all += product
	}
	return all
}
