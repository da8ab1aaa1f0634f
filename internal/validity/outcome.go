package validity

import (
	"fmt"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/unit"
)

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
		advice := "what was counted before is no measurement; mend the cause and repeat"
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
