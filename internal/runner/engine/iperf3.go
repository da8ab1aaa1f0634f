package engine

import (
	"context"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/load/iperf3"
	"github.com/headroom/headroom/internal/load/sockperf"
	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/validity"
)

// Iperf3 runs iperf3: a client on the session's target, whose server is started before each test and ends with
// it. Its rates are in steps of so long; 0 is a second.
type Iperf3 struct{ step time.Duration }

func (Iperf3) Raw() (output, messages string) { return "iperf3.json", "messages" }

func (Iperf3) Collect(ctx context.Context, job host.Job) (Printed, error) {
	return fetchStreams(ctx, job)
}

func (Iperf3) Read(_ context.Context, done Ended, rep *lab.Repetition, evidence *validity.Evidence) bool {
	evidence.ExitCode, evidence.Stderr = done.State.ExitCode, done.Messages
	r, err := iperf3.Parse(done.Output)
	if err != nil {
		rep.Warnings = append(rep.Warnings, lab.Warning{Code: "no-result", Taints: []string{"*"},
			Text: "iperf3 printed no result (" + done.reason(err) + "); headroom show --raw shows all that it said"})
		return true
	}
	rep.Values, rep.Seconds = r.Values(), r.Ran()
	evidence.Reported = reportedTraffic(r, evidence.Cell.Params)
	for _, s := range r.Series() {
		rep.Series = append(rep.Series, bySecond(s))
	}
	rep.Warnings = append(rep.Warnings, r.Warnings()...)
	return r.Failed != "" || len(rep.Values) == 0
}

// Rate returns the rate of both directions. iperf3 does not tell exactly when the time that counts began. It did after
// the process was there and its connection was made, and so long before the process ended that the test fits in
// between.
func (Iperf3) Rate(_ context.Context, done Ended, _ float64, ahead Offset) (lab.Series, Timestamp, bool) {
	r, err := iperf3.Parse(done.Output)
	if err != nil {
		return lab.Series{}, Timestamp{}, false
	}
	var sum lab.Series
	for i, s := range r.Series() {
		if i == 0 {
			sum = lab.Series{Metric: "bitrate", Interval: s.Interval, Values: slices.Clone(s.Values)}
			continue
		}
		sum.Values = sum.Values[:min(len(sum.Values), len(s.Values))]
		for k := range sum.Values {
			sum.Values[k] += s.Values[k]
		}
	}
	earliest, latest := done.State.Started, done.State.Ended.Add(-SecondsOf(r.Ran()+r.Omit))
	if printed := r.Start.Add(-ahead.Offset); !r.Start.IsZero() && printed.After(earliest) {
		earliest = printed
	}
	if latest.Before(earliest) {
		latest = earliest
	}
	half := latest.Sub(earliest) / 2
	return sum, Timestamp{Time: earliest.Add(half + SecondsOf(r.Omit)), Uncertainty: half + ahead.Uncertainty +
			JobTimeStep},
		len(sum.Values) > 0
}

// Ramp is how long a load runs before what counts.
func Ramp(cell lab.Cell) time.Duration {
	if cell.Engine == lab.EngineIperf3 {
		omit, _ := unit.ParseDuration(cell.Params["omit"])
		return omit
	}
	if cell.Engine == lab.EngineSockperf {
		return sockperf.Ramp
	}
	return fio.Ramp(cell.Params)
}

// reportedTraffic is what iperf3 says went through the network.
func reportedTraffic(r iperf3.Result, params map[string]string) map[string]validity.ReportedTraffic {
	claims := map[string]validity.ReportedTraffic{}
	for direction, f := range map[string]*iperf3.Flow{lab.Send: r.Forward, lab.Receive: r.Reverse} {
		if f != nil {
			claims[direction] = validity.ReportedTraffic{Arrived: f.Arrived, Handed: f.Handed,
				Payload:       iperf3.Payload(params),
				Retransmitted: max(0, f.Retransmits), Flows: iperf3.Flows(params)}
		}
	}
	return claims
}
