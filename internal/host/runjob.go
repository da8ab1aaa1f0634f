package host

import (
	"context"
	"errors"
)

// maxJobOutput is how many bytes of the end of a job's output RunJob returns.
const maxJobOutput = 1 << 16

// RunJob runs a job to its end and removes it. It returns how the job ended, and the end of its output: "stdout" or
// "stderr". If ctx is done first, RunJob calls stop, which ends the job and returns the error, and then removes the
// job.
func RunJob(ctx context.Context, t Target, spec JobSpec, output string,
	stop func(after context.Context, job Job) error) (JobState, []byte, error) {
	job, err := t.Start(ctx, spec)
	if err != nil {
		return JobState{}, nil, err
	}
	after := context.WithoutCancel(ctx)
	select {
	case <-job.Done():
	case <-ctx.Done():
		return JobState{}, nil, errors.Join(stop(after, job), job.Remove(after))
	}
	state, err := job.Poll(after)
	if err != nil {
		return state, nil, err
	}
	printed, err := job.Tail(after, output, maxJobOutput)
	return state, printed, errors.Join(err, job.Remove(after))
}
