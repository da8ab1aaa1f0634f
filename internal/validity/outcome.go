package validity

import (
	"fmt"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/unit"
)

// outcomeChecks say whether there is a result, and of what was asked for.
func outcomeChecks() []Check {
	return []Check{
		{
			Code:       "errors",
			Weight:     Spoils,
			Title:      "fio reported an error",
			Repetition: failed,
			Taints:     "everything",
			When: "a job's error is not 0, errors were passed over (continue_on_error), fio's exit status is not " +
				"0, or I/Os came back short or were dropped",
			Do: "fix the cause and repeat",
			Source: "fio prints a whole document with exit status 1, and no error with exit status 0: fio " +
				"#731, #1685",
		},
		{
			Code:   "no-result",
			Weight: Spoils,
			Title:  "fio printed nothing that can be read",
			By:     "runner",
			Taints: "everything",
			When:   "fio's output holds no JSON document",
			Do:     "read what it printed instead: headroom show --raw",
			Source: "fio #731, #1685, #2048",
		},
		{
			Code:   "too-much-output",
			Weight: Spoils,
			Title:  "The load printed too much, and was ended",
			By:     "runner",
			Taints: "everything",
			When:   "a load has printed more than 256 MiB while it goes on",
			Do: "have it print less, or into a file of the place under test: what a load prints is kept in the " +
				"memory of the machine that is measured",
			Source: "a load generator that printed without end filled the memory of its machine",
		},
		{
			Code:   "not-ended",
			Weight: Spoils,
			Title:  "The load did not end by itself",
			By:     "runner",
			Taints: "everything",
			When: "a load of fio, iperf3, sockperf or perftest takes more than twice its time, and a minute more at " +
				"least: ten minutes where files may be laid out, caches flushed or events come upon it; or one that " +
				"ends by size takes longer than that does at 1 MiB or 20 operations a second. It is ended, and the " +
				"run goes on with the next one",
			Do: "look at what it printed (headroom show --raw), and at the kernel's log for a device that does " +
				"not answer",
			Source: "a load generator that hung was waited for until somebody came by",
		},
		{
			Code:   "output-cut",
			Weight: Note,
			Title:  "Only the ends of what was printed are kept",
			By:     "runner",
			Taints: "nothing: what could be read of it counts",
			When:   "a file of the load's is longer than 64 MiB",
			Do: "look at its beginning and its end with headroom show --raw; a result in JSON that was cut can't be " +
				"read, and a log that was cut is left out",
			Source: "a load generator that printed 200 MB had its runs take minutes to be shown",
		},
		{
			Code:   "command-failed",
			Weight: Spoils,
			Title:  "A command failed",
			By:     "runner",
			Taints: "everything",
			When: "the command of a job with exec ended with another exit status than 0, by a signal or after its " +
				"timeout, or printed nothing that one of its metrics matches",
			Do: "read what it printed: headroom show --raw; headroom suites show prints the command, to try by hand",
			Source: "a command that fails has done something else than what was to be measured, so not even its time " +
				"counts",
		},
		{
			Code:   "cleanup-failed",
			Weight: Note,
			Title:  "Cleaning up after a command failed",
			By:     "runner",
			Taints: "nothing: what was measured was measured before",
			When:   "a command under cleanup failed, or what a job with exec left behind could not be ended or removed",
			Do:     "look at what it printed, and at what is left on the machine",
			Source: "headroom's own",
		},
		{
			Code:   "event-failed",
			Weight: Spoils,
			Title:  "An event was not carried out as it was meant",
			By:     "runner",
			Taints: "what is said of events",
			When: "the command of an event ended with another exit status than 0, had not ended a minute after the " +
				"load, or the load ended before it came",
			Do:     "try the command by hand; measure longer",
			Source: "what did not happen has no effect that could be measured",
		},
		{
			Code:   "event-unknown",
			Weight: Spoils,
			Title:  "The effect of an event is unknown",
			By:     "runner",
			Taints: "what is said of events",
			When: "less than 5 s of the load came before an event, or less than 1 s after it, or the load has no " +
				"rate by the tenth of a second",
			Do:     "have the event later, and measure longer",
			Source: "what is usual must be known to tell what is not; headroom's own simulations",
		},
		{
			Code:   "not-recovered",
			Weight: Spoils,
			Title:  "The rate was not back when the load ended",
			By:     "runner",
			Taints: "the time until it was back, which the other repetitions alone would make too good",
			When:   "after an event the rate did not reach 95% of what it was and stay there",
			Do:     "measure longer, or undo the event earlier",
			Source: "headroom's own",
		},
		{
			Code:       "no-io",
			Weight:     Spoils,
			Title:      "No I/O of a kind that was asked for",
			Repetition: noIO,
			Taints:     "the directions that are missing",
			When:       "rw= asks for a direction in which fio did nothing",
			Do:         "look at fio's messages and at the file's size",
			Source:     "an empty file with create_on_open: tried with fio 3.33",
		},
		{
			Code:       "ended-early",
			Weight:     Spoils,
			Title:      "The load ended before its time",
			Repetition: endedEarly,
			Taints:     "everything",
			When: fmt.Sprintf("it ran for %s of runtime= and at least %.1f s less; or sockperf's answers came for "+
				"half a second less than its test went on",
				below(fullTime), slackSeconds),
			Do: "add time_based, or a larger size; of requests over UDP: protocol: tcp, or mode: under-load",
			Source: "fio's HOWTO, time_based; ocs-ci #283; tried with sockperf 3.7: its ping-pong waits for ever for " +
				"a datagram that was lost, and counts none as dropped",
		},
		{
			Code:       "short-run",
			Weight:     Moves,
			Title:      "Too short to mean anything",
			Repetition: tooShort,
			Taints:     "everything",
			When:       fmt.Sprintf("less than %.0f s were measured", shortRun),
			Do:         "run longer, better 30 s",
			Source:     "starting threads and filling queues takes some 100 ms",
		},
		{
			Code:       "uneven-jobs",
			Weight:     Spoils,
			Title:      "Jobs that were added up did not run together",
			Repetition: unevenJobs,
			Taints:     "IOPS and bandwidth",
			When: fmt.Sprintf("the run times of a group's jobs differ by more than %s",
				unit.Percent(unevenShare)),
			Do:     "use time_based with runtime",
			Source: "fio #519; pbench's pbench-fio.md; elbencho's result columns (first done, last done)",
		},
		{
			Code:       "concurrent-jobs",
			Weight:     Spoils,
			Title:      "Different loads ran at the same time",
			Repetition: concurrentJobs,
			Taints:     "everything",
			When: "fio's document has a job of another name in the same group, that is, without stonewall " +
				"between them",
			Do:     "put stonewall between them",
			Source: "kubestr's default job file; kubestr #68",
		},
	}
}

const (
	// fullTime is the share of the asked time that a load must have run; fio itself ends within some milliseconds of
	// it.
	fullTime = 0.95
	// slackSeconds are what start-up may take off a short one.
	slackSeconds = 0.5
	// shortRun is the run time below which starting up, some 100 ms of creating threads and filling queues, is more
	// than 5% of what was measured.
	shortRun = 2.0
)

// failed gathers every way in which fio says that something went wrong: a job's errno, errors it went on after, its
// exit status, and I/Os that came back short. Exit status 0 proves nothing, and a whole document may come with 1.
func failed(e *Evidence) []lab.Warning {
	printed := append([]string(nil), e.Group.Errors...)
	var short, dropped int64
	for _, j := range e.Group.Jobs {
		for _, d := range j.Directions {
			short += d.ShortIOs
			dropped += d.DropIOs
		}
	}
	if e.ExitCode != 0 && len(printed) == 0 {
		printed = append(printed, fmt.Sprintf("fio ended with exit status %d%s", e.ExitCode, firstComplaint(e.Stderr)))
	}
	if len(printed) > 0 {
		advice := "what was counted before is no measurement; fix the cause and repeat"
		if strings.Contains(e.Stderr+strings.Join(e.Document.Notes, "\n"), "does not support direct") {
			advice = "the file system refuses O_DIRECT: choose another directory, or direct=0"
		}
		return warn(allMetrics(), "%s; %s", strings.Join(printed, "; "), advice)
	}
	if short+dropped > 0 {
		return warn(allMetrics(), "%d I/Os came back short and %d were dropped: the load went past the end of the "+
			"file or device, or was cut off; look at size and offset", short, dropped)
	}
	return nil
}

// firstComplaint is the first line of fio's standard error that speaks of a fault.
func firstComplaint(stderr string) string {
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "fio:") || strings.Contains(line, "rror") {
			return " (" + line + ")"
		}
	}
	return ""
}

func endedEarly(e *Evidence) []lab.Warning {
	wanted, ran := e.Wanted.Seconds(), e.Group.Seconds
	if wanted == 0 || ran <= 0 || ran >= fullTime*wanted || ran >= wanted-slackSeconds {
		return nil
	}
	advice := "look at fio's messages"
	if !e.isOn("time_based") {
		advice = "it reached the end of its size: add time_based, or a larger size"
	}
	return warn(allMetrics(), "the load ran for %s of the %.0f s that were asked for; %s",
		unit.Latency(e.Group.Seconds), wanted, advice)
}

func tooShort(e *Evidence) []lab.Warning {
	if e.Group.Seconds <= 0 || e.Group.Seconds >= shortRun || len(e.directions()) == 0 {
		return nil
	}
	if len(endedEarly(e)) > 0 || len(failed(e)) > 0 {
		return nil // which say why
	}
	return warn(allMetrics(), "measured for %s only: starting up and caches weigh more than the storage; run for "+
		"at least %.0f s, better 30", unit.Latency(e.Group.Seconds), shortRun)
}

// noIO speaks of whole fio documents only: pasted text may have lost a direction's line. A job that failed says more.
func noIO(e *Evidence) []lab.Warning {
	if e.Document.Partial || len(e.Group.Jobs) == 0 || e.did(lab.Mixed) || len(e.Group.Errors) > 0 {
		return nil
	}
	var missing []string
	for _, d := range e.expectedDirections() {
		if !e.did(d) {
			missing = append(missing, d)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return warn(metricsOf(missing...), "rw=%s was asked for, and fio did no I/O of this kind: %s; look at its "+
		"messages, and at whether the file exists and has its size", e.pattern(), strings.Join(missing, ", "))
}

// expectedDirections are those in which the load must do something.
func (e *Evidence) expectedDirections() []string {
	if mixedAway(e, "rwmixread") || mixedAway(e, "rwmixwrite") {
		return nil
	}
	return slices.DeleteFunc([]string{lab.Read, lab.Write, lab.Trim}, func(d string) bool { return !e.asksFor(d) })
}

// mixedAway says whether a share of 0 or 100 leaves one direction of a mixed load out.
func mixedAway(e *Evidence, share string) bool {
	v, ok := e.param(share)
	return ok && (v == "0" || v == "100")
}

// asksFor says whether fio's rw contains a direction.
func (e *Evidence) asksFor(direction string) bool {
	p := strings.TrimPrefix(e.pattern(), "rand")
	switch p {
	case "rw", "readwrite":
		return direction != lab.Trim
	case "trimwrite":
		return direction != lab.Read
	default:
		return p == direction
	}
}
