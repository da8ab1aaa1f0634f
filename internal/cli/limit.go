package cli

import (
	"headroom/internal/lab"
	"headroom/internal/suite"
	"headroom/internal/sweep"
)

// limitIn puts the limit of latency, where one was asked for, among the terms of a sweep. It means nothing where the
// levels are no load.
func (o *experimentOptions) limitIn(e *lab.Experiment) error {
	if o.limit == "" {
		return nil
	}
	quantile, seconds, err := suite.ParseLimit(o.limit)
	if err != nil {
		return usage("--limit: " + err.Error())
	}
	if len(e.Factors) != 1 || !sweep.IsLoad(e.Factors[0].Factor) {
		return usage("--limit asks how much load keeps a latency, so the levels must be more and more of it",
			"vary one of job:rate_iops, job:rate, job:iodepth, job:numjobs, job:thinktime")
	}
	if quantile == "" {
		quantile = sweep.DefaultQuantile
	}
	e.Limit, e.Quantile = seconds, quantile
	return nil
}
