package validity

import (
	"fmt"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/unit"
)

// targetChecks are of several targets, and of the two ends of a network.
func targetChecks() []Check {
	return []Check{
		{
			Code:   "connection-missed",
			Weight: Note,
			Title:  "perftest's client came before its server listened",
			By:     "runner",
			Taints: "nothing: no operation was carried out in what was given up",
			When: "perftest's second connection was refused with the reason that nobody listens " +
				"(RDMA_CM_EVENT_REJECTED; error: 8); the repetition was done again, at most three times",
			Do: "nothing, if it is rare; where it is not, the server's CPUs have something else to do: look at what",
			Source: "perftest_communication.c of perftest: after both ends agreed to connect, one listens while the " +
				"other connects, and nothing makes the client wait",
		},
		{
			Code:   "target-lost",
			Weight: Note,
			Title:  "The target was lost, and another one took its place",
			By:     "runner",
			Taints: "nothing: what was lost does not count",
			When: "a pod was evicted, deleted or ended in the course of a repetition; the repetition was lost, and " +
				"repeated in another pod on the same node; of a network's tests the same holds for the server's",
			Do: "find out what takes pods away: the warning has Kubernetes' own reason; what was measured before " +
				"and after has two pods, and with emptydir two volumes",
			Source: "Kubernetes' documentation: node-pressure eviction, API-initiated eviction, pod disruption " +
				"conditions",
		},
		{
			Code:   "target-left-out",
			Weight: Note,
			Title:  "A node that was meant has no pod",
			By:     "run",
			Taints: "nothing: the node is in no number",
			When: "kube:nodes stands for a node that is not ready, takes no pods, or does not start this one; or a " +
				"ladder between pods can't have the same pods in their nodes' own network",
			Do: "the warning has the reason; add tolerate for nodes with taints, or narrow the selector; for a " +
				"ladder take a namespace that allows hostNetwork",
			Source: "the node's conditions, taints and events; Kubernetes' Pod Security Standards (baseline forbids " +
				"host namespaces)",
		},
		{
			Code:   "started-apart",
			Weight: Spoils,
			Title:  "Loads of several targets did not start together",
			By:     "runner",
			Taints: "everything",
			When: "the first and the last load of several targets started further apart than " +
				unit.Percent(skewShare) +
				" of the shortest one's time",
			Do:     "run longer, or find what delays the start on one of them",
			Source: "elbencho's result columns (first done, last done); fio #519",
		},
		{
			Code:   "clocks-unknown",
			Weight: Spoils,
			Title:  "Nobody knows whether loads of several targets ran at the same time",
			By:     "runner",
			Taints: "everything",
			When: "the clock of a target can't be read, or is known to no more than " + unit.Percent(skewShare) +
				" of the time of the shortest load: " +
				"half of the time that the quickest of some answers takes",
			Do:     "run longer, or over a connection that answers faster",
			Source: "headroom's own",
		},
		{
			Code:   "unanswered",
			Weight: Spoils,
			Title:  "Requests were not answered, or answers were left out",
			By:     "runner",
			Taints: "the latency of requests, and their rate where answers were left out",
			When: "sockperf counted requests without an answer, answers that came twice, or answers that came " +
				"after that of a later request",
			Do:     "send fewer a second, or look where they were dropped",
			Source: "sockperf, client.cpp: times are of the answers that came, in order",
		},
		{
			Code:   "only-sent",
			Weight: Spoils,
			Title:  "Messages were counted where they were sent",
			By:     "runner",
			Taints: "the rate of what was sent",
			When:   "sockperf sent datagrams and wanted no answers",
			Do:     "protocol: tcp, or iperf3 with protocol: udp, which counts what arrived",
			Source: "sockperf, client.cpp: stream_statistics",
		},
		{
			Code:   "no-sum",
			Weight: Note,
			Title:  "Several targets are not added up",
			By:     "runner",
			Taints: "nothing: each target has its own numbers",
			When: "a load failed, the clocks can't be compared, there is no second in which all were running, or the " +
				"load has no rates by the second: a command, perftest, or a fio job that has logs of its own",
			Do:     "read the numbers of each target",
			Source: "headroom's own",
		},
	}
}

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
