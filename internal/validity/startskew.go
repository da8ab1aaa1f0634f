package validity

import (
	"fmt"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/unit"
)

// skewShare is how far apart loads of several targets may start, as a share of the shortest of them: above that, a
// good part of what is said to have gone on at the same time did not.
const skewShare = 0.05

// StartSkew are the warnings that loads of several targets, the shortest of which took so long, did not start together,
// or that nobody knows whether they did.
func StartSkew(skew, uncertainty, shortest time.Duration) []lab.Warning {
	most := time.Duration(skewShare * float64(shortest))
	switch {
	case shortest <= 0:
		return nil
	case skew > most:
		return []lab.Warning{startSkew(skew, uncertainty, shortest)}
	case uncertainty > most:
		return []lab.Warning{
			ClocksUnknown(fmt.Sprintf("the clocks of the targets can be compared to %s only, and the shortest load "+
				"took %s", brief(uncertainty), unit.Duration(shortest)))}
	}
	return nil
}

func startSkew(skew, uncertainty, shortest time.Duration) lab.Warning {
	return lab.Warning{Code: "started-apart", Taints: allMetrics(), Text: fmt.Sprintf(
		"the loads of the targets started %s apart (±%s), and the shortest took %s: for a part of the time some ran "+
			"alone; run longer, or find what delays the start of one",
		brief(skew), brief(uncertainty), unit.Duration(shortest))}
}

// brief prints a time that may be far below a second.
func brief(d time.Duration) string { return unit.Latency(d.Seconds()) }

// ClocksUnknown is the warning that nobody knows whether loads of several targets ran at the same time; why begins the
// sentence.
func ClocksUnknown(why string) lab.Warning {
	return lab.Warning{Code: "clocks-unknown", Taints: allMetrics(),
		Text: why + ": whether the loads ran at the same time is not known; run longer, or over a connection that " +
			"answers faster"}
}

// NoClock is ClocksUnknown for targets that do not tell the time.
func NoClock(targets []string) lab.Warning {
	return ClocksUnknown("the clock of " + strings.Join(targets, " and ") + " can't be read")
}

// NoSum is the warning that what several targets did together can't be added up.
func NoSum(why string) lab.Warning {
	return lab.Warning{Code: "no-sum", Taints: []string{}, Text: "the targets are not added up: " + why}
}
