//go:build !linux

package record

import (
	"context"

	"github.com/headroom/headroom/internal/profile"
)

// Sample samples nothing: only Linux has perf_event_open.
func Sample(context.Context, SampleOptions) (*profile.Sampled, []profile.Missing) {
	return nil, []profile.Missing{onlyLinux(samples)}
}

// SampleWaits follows no threads.
func SampleWaits(context.Context, SampleOptions, []int) (*profile.Waits, []profile.Missing) {
	return nil, []profile.Missing{onlyLinux(switches)}
}

func onlyLinux(what string) profile.Missing {
	return profile.Missing{What: what, Why: "this is not Linux", Hint: "measure a machine that runs Linux"}
}
