package results

import (
	"fmt"
	"strconv"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/stat"
)

// compareGate is the error that --fail-on asks for.
func compareGate(d compare.Document, failOn string) error {
	counts := map[compare.Verdict]int{}
	total := 0
	for _, c := range d.Cells {
		counts[c.Verdict]++
		total++
	}
	var stopped, unknown []string
	for _, n := range d.New {
		for _, o := range n.Outages {
			name := o.Job + " in " + n.Name
			if o.Kind.Outage() {
				stopped = append(stopped, name)
			} else {
				unknown = append(unknown, name)
			}
		}
	}
	bad := counts[compare.Slower] + counts[compare.Worse]
	uncertainty := counts[compare.Undecided] + counts[compare.Differs] + counts[compare.Agrees] +
		counts[compare.Incomparable]
	what := "slower or worse"
	switch failOn {
	case "":
		return nil
	case "different":
		bad, what = bad+counts[compare.Faster]+counts[compare.Better], "different"
	case "undecided":
		bad, stopped, unknown = 0, nil, append(stopped, unknown...)
	}
	switch {
	case len(stopped) > 0:
		return &lab.Error{Kind: lab.Gate, What: "no result: " + prose.List(stopped),
			Hints: []string{"headroom show RUN says whether it failed, and why; or it measured 0"}}
	case bad > 0:
		return &lab.Error{Kind: lab.Gate,
			What: fmt.Sprintf("%d of %s %s", bad, prose.Count(total, "number"), verbal(bad, what))}
	case len(unknown) > 0:
		return &lab.Error{Kind: lab.Undecided, What: "not all repetitions have a number: " + prose.List(unknown)}
	case total == 0:
		return &lab.Error{Kind: lab.Undecided, What: "the runs have no number in common"}
	case uncertainty > 0:
		return &lab.Error{Kind: lab.Undecided, What: fmt.Sprintf("%d of %s could not be decided", uncertainty,
			prose.Count(total, "number")),
			Hints: gateHints(counts, d.New)}
	}
	return nil
}

// gateHints say what would decide it.
func gateHints(counts map[compare.Verdict]int, runs []compare.ComparedRun) []string {
	var hints []string
	if counts[compare.Undecided] > 0 {
		hints = append(hints, "undecided: measure both with more repetitions (headroom run --repeat), or in turns "+
			"until it is decided (headroom compare --live); a wider --margin takes fewer")
	}
	if counts[compare.Differs]+counts[compare.Agrees] > 0 {
		hints = append(hints,
			fmt.Sprintf("differs, agrees: how far sessions of this load differ is not known; measure in turns (headroom "+
				"compare --live), each side in two boots, or the suite %d times more", stat.MinSessions))
	}
	doubtful := 0
	for _, n := range runs {
		doubtful += n.Doubtful
	}
	if doubtful > 0 {
		hints = append(hints,
			fmt.Sprintf("incomparable: with --anyway, %s of them would be judged in spite of warnings",
				strconv.Itoa(doubtful)))
	} else if counts[compare.Incomparable] > 0 {
		hints = append(hints, "incomparable: the table says why; --anyway compares nevertheless")
	}
	return hints
}

func verbal(n int, what string) string {
	if n == 1 {
		return "is " + what
	}
	return "are " + what
}
