package validity

import (
	"fmt"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// targetChecks are of several targets, and of the two ends of a network.
func targetChecks() []Check {
	return []Check{
		{
			Code:   "connection-missed",
			Weight: Note,
			Title:  "perftest's client came before its server listened",
			By:     "runner",
			Taints: "nothing",
			When:   "the second connection was refused (RDMA_CM_EVENT_REJECTED; error: 8), at most three times",
			Do:     "nothing, if rare; else find what keeps the server's CPUs busy",
			Source: "perftest_communication.c",
		},
		{
			Code:   "target-lost",
			Weight: Note,
			Title:  "The target was lost, and another one took its place",
			By:     "runner",
			Taints: "nothing",
			When:   "a pod ended during a repetition, which another pod on the node repeated",
			Do:     "read the reason; before and after are two pods, with emptydir two volumes",
			Source: "Kubernetes on eviction and disruption",
		},
		{
			Code:   "target-left-out",
			Weight: Note,
			Title:  "A node that was selected has no pod",
			By:     "run",
			Taints: "nothing",
			When:   "a node of kube:nodes takes no pods, or a ladder's pods can't use their nodes' network",
			Do: "read the reason; add tolerate for taints, narrow the selector, or use a namespace that allows " +
				"hostNetwork",
			Source: "Kubernetes' Pod Security Standards",
		},
		{
			Code:   "started-apart",
			Weight: Spoils,
			Title:  "Loads of several targets did not start together",
			By:     "runner",
			Taints: "everything",
			When:   "the first and last start were " + unit.Percent(skewShare) + " of the shortest load apart",
			Do:     "run longer, or find what delays one of them",
			Source: "fio #519",
		},
		{
			Code:   "clocks-unknown",
			Weight: Spoils,
			Title:  "Unknown whether loads of several targets ran together",
			By:     "runner",
			Taints: "everything",
			When:   "a clock can't be read, or is uncertain by " + unit.Percent(skewShare) + " of the shortest load",
			Do:     "run longer, or over a faster connection",
			Source: "headroom's own",
		},
		{
			Code:   "unanswered",
			Weight: Spoils,
			Title:  "Requests were not answered, or answers were left out",
			By:     "runner",
			Taints: "the latency of requests, and their rate where answers were left out",
			When:   "sockperf counted answers that are missing, double or out of order",
			Do:     "send fewer a second, or find the drops",
			Source: "sockperf, client.cpp",
		},
		{
			Code:   "only-sent",
			Weight: Spoils,
			Title:  "Messages were counted where they were sent",
			By:     "runner",
			Taints: "the rate of what was sent",
			When:   "sockperf sent datagrams without answers, or an imported result has no count of what arrived",
			Do:     "use protocol: tcp, or iperf3 with protocol: udp; import what the receiver's side printed",
			Source: "sockperf, client.cpp; iperf3, iperf_api.c",
		},
		{
			Code:   "no-sum",
			Weight: Note,
			Title:  "Several targets are not added up",
			By:     "runner",
			Taints: "nothing: each target has its own numbers",
			When: "a load failed, clocks can't be compared, loads share no second, or a load has no rates by the " +
				"second (commands, perftest, own fio logs)",
			Do:     "read the numbers of each target",
			Source: "headroom's own",
		},
	}
}

// skewShare is how far apart loads of several targets may start, as a share of the shortest of them: above that, a
// good part of what is said to have gone on at the same time did not.
const skewShare = 0.05

// StartSkew are the warnings that loads of several targets, the shortest of which took so long, did not start together,
// or that it is not known whether they did.
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

// ClocksUnknown is the warning that it is not known whether loads of several targets ran at the same time; why begins
// the sentence.
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
