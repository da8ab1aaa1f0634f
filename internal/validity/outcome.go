package validity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/unit"
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
			When: "a job's error or fio's exit status is not 0, errors were passed over (continue_on_error), " +
				"or I/Os were short or dropped",
			Do:     "fix the cause and run again",
			Source: "fio #731, #1685",
		},
		{
			Code:   "no-result",
			Weight: Spoils,
			Title:  "There is no result",
			By:     "runner",
			Taints: "everything",
			When:   "fio's output has no JSON document, iperf3 reports an error, or nothing of what it sent arrived",
			Do:     "read the output: headroom show --raw",
			Source: "fio #731, #1685, #2048",
		},
		{
			Code:   "too-much-output",
			Weight: Spoils,
			Title:  "The load printed too much and was ended",
			By:     "runner",
			Taints: "everything",
			When:   "a load printed more than 256 MiB",
			Do:     "have it print less, or into a file",
			Source: "headroom's own",
		},
		{
			Code:   "not-ended",
			Weight: Spoils,
			Title:  "The load did not end by itself",
			By:     "runner",
			Taints: "everything",
			When: "fio, iperf3, sockperf or perftest takes twice its time, and at least a minute more (ten with a " +
				"layout, flush or events); or a load that ends by size does less than 1 MiB and 20 operations a second",
			Do:     "read the output (headroom show --raw) and the kernel's log",
			Source: "headroom's own",
		},
		{
			Code:   "output-cut",
			Weight: Note,
			Title:  "Long output was cut",
			By:     "runner",
			Taints: "nothing",
			When:   "a file of the load is longer than 64 MiB: both ends are kept",
			Do:     "read headroom show --raw; cut JSON and logs are ignored",
			Source: "headroom's own",
		},
		{
			Code:   "command-failed",
			Weight: Spoils,
			Title:  "A command failed",
			By:     "runner",
			Taints: "everything",
			When:   "a job's exec ended with a status other than 0, a signal or its timeout, or a metric found nothing",
			Do:     "read headroom show --raw, or try the command of headroom suites show",
			Source: "headroom's own",
		},
		{
			Code:   "cleanup-failed",
			Weight: Note,
			Title:  "Cleaning up after a command failed",
			By:     "runner",
			Taints: "nothing",
			When:   "a cleanup command failed, or what an exec job left could not be ended or removed",
			Do:     "read its output, and remove what is left",
			Source: "headroom's own",
		},
		{
			Code:   "event-failed",
			Weight: Spoils,
			Title:  "An event failed",
			By:     "runner",
			Taints: "results of events",
			When:   "an event's command failed or did not end within a minute of the load, or the load ended first",
			Do:     "try the command by hand; measure longer",
			Source: "headroom's own",
		},
		{
			Code:   "event-unknown",
			Weight: Spoils,
			Title:  "The effect of an event is unknown",
			By:     "runner",
			Taints: "results of events",
			When: "less than 5 s of the load came before an event or 1 s after it, or it has no rates by the tenth " +
				"of a second",
			Do:     "move the event; measure longer",
			Source: "headroom's own simulations",
		},
		{
			Code:   "not-recovered",
			Weight: Spoils,
			Title:  "The rate was not back when the load ended",
			By:     "runner",
			Taints: "the time until it was back",
			When:   "after an event the rate did not return to 95% and stay",
			Do:     "measure longer, or undo the event earlier",
			Source: "headroom's own",
		},
		{
			Code:       "no-io",
			Weight:     Spoils,
			Title:      "I/O that was asked for did not happen",
			Repetition: noIO,
			Taints:     "the directions that are missing",
			When:       "fio did nothing in a direction of rw=",
			Do:         "read fio's messages, and check the file's size",
			Source:     "tried with fio 3.33",
		},
		{
			Code:       "ended-early",
			Weight:     Spoils,
			Title:      "The load ended before its time",
			Repetition: endedEarly,
			Taints:     "everything",
			When: fmt.Sprintf("it ran for %s of runtime=, and at least %.1f s less; or sockperf's answers "+
				"ended half a second early", below(fullTime), slackSeconds),
			Do:     "add time_based or a larger size; over UDP, use protocol: tcp or mode: under-load",
			Source: "fio's HOWTO, time_based; ocs-ci #283",
		},
		{
			Code:       "short-run",
			Weight:     Moves,
			Title:      "Measured for too short a time",
			Repetition: tooShort,
			Taints:     "everything",
			When:       fmt.Sprintf("less than %.0f s were measured, of a network less than 1 s", shortRun),
			Do:         "run for 30 s",
			Source:     "starting takes about 100 ms",
		},
		{
			Code:       "uneven-jobs",
			Weight:     Spoils,
			Title:      "Jobs that were added up did not run together",
			Repetition: unevenJobs,
			Taints:     "IOPS and bandwidth",
			When:       fmt.Sprintf("run times within a group differ by more than %s", unit.Percent(unevenShare)),
			Do:         "use time_based with runtime",
			Source:     "fio #519",
		},
		{
			Code:       "unlike-jobs",
			Weight:     Spoils,
			Title:      "Jobs of different loads were added up",
			Taints:     "everything",
			When:       "with group_reporting the mean I/O differs by 2% from the block size (fio #492, #499, #2132)",
			Do:         "leave out group_reporting, or give each load its new_group",
			Source:     "fio's HOWTO, group_reporting",
			Repetition: unlikeJobs,
		},
		{
			Code:       "concurrent-jobs",
			Weight:     Spoils,
			Title:      "Different loads ran at the same time",
			Repetition: concurrentJobs,
			Taints:     "everything",
			When:       "fio's document has a job of another name in the same group",
			Do:         "put stonewall between them",
			Source:     "kubestr #68",
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

// failed gathers every way in which fio says that something went wrong: a job's errno, errors that did not end it, its
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
	if !e.options().isOn("time_based") {
		advice = "it reached the end of its size: add time_based, or a larger size"
	}
	return warn(allMetrics(), "the load ran for %s of the %.0f s that were asked for; %s",
		unit.Latency(e.Group.Seconds), wanted, advice)
}

func tooShort(e *Evidence) []lab.Warning {
	if e.ran() <= 0 || e.ran() >= shortRun || len(e.directions()) == 0 {
		return nil
	}
	if len(endedEarly(e)) > 0 || len(failed(e)) > 0 {
		return nil // which say why
	}
	return warn(allMetrics(), "measured for %s only: starting up and caches weigh more than the storage; run for "+
		"at least %.0f s, better 30", unit.Latency(e.ran()), shortRun)
}

// noIO speaks of whole fio documents only: pasted text may have lost a direction's line. A job that failed says more.
func noIO(e *Evidence) []lab.Warning {
	if e.Document.Partial || len(e.Group.Jobs) == 0 || e.did(lab.Mixed) || len(e.Group.Errors) > 0 {
		return nil
	}
	var missing []string
	for _, d := range e.options().expectedDirections() {
		if !e.did(d) {
			missing = append(missing, d)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return warn(metricsOf(missing...), "rw=%s was asked for, and fio did no I/O of this kind: %s; look at its "+
		"messages, and at whether the file exists and has its size", e.options().pattern(), strings.Join(missing, ", "))
}

func unlikeJobs(e *Evidence) []lab.Warning {
	if !e.Group.Unlike {
		return nil
	}
	return warn(allMetrics(), "fio added up jobs of different loads: the mean I/O does not have the block size of %s, the "+
		"first of them; leave out group_reporting, or give each load its new_group", e.Group.Jobs[0].Name)
}

func unevenJobs(e *Evidence) []lab.Warning {
	if len(e.Group.Jobs) < 2 {
		return nil
	}
	bySeconds := func(a, b fio.Job) int { return cmp.Compare(a.Seconds, b.Seconds) }
	first, last := slices.MinFunc(e.Group.Jobs, bySeconds).Seconds, slices.MaxFunc(e.Group.Jobs, bySeconds).Seconds
	if first <= 0 || (last-first)/last <= unevenShare {
		return nil
	}
	return warn(speedMetrics(e.directions()...), "the first of %d jobs ended after %.1f s and the last after %.1f s: "+
		"their rates were added up, though they ran together only in part; "+
		"use time_based with runtime", len(e.Group.Jobs), first, last)
}
