package ladderrun

import (
	"maps"
	"strconv"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/suite"
)

// share returns how many bytes each job of each rung reads: the same everywhere, and no more than the smallest rung
// has.
func (s *storageLadder) share(su suite.Suite, rungs []rung) (int64, error) {
	share := int64(experiment.DefaultScratch)
	if n := su.ScratchSize(nil); n > 0 {
		share = n
	}
	if s.Options.Size != "" {
		n, err := experiment.Size(s.Options.Size)
		if err != nil || n < 1<<20 {
			return 0, app.Usage("--size "+s.Options.Size+" is no amount to read",
				"write something like 4g; 1m is the least")
		}
		share = n
	}
	for _, r := range rungs {
		if r.place.Kind == lab.Device {
			share = min(share, roundToBlocks(r.place.Size/int64(r.jobsPerPlace())))
		}
		if share < 1<<20 {
			return 0, app.Usage(r.name + " is too small to be read by " + prose.Count(r.jobs, "job"))
		}
	}
	return share, nil
}

// roundToBlocks rounds down to a multiple of the largest block of a load.
func roundToBlocks(n int64) int64 { return n - n%(1<<20) }

// fitRun makes the run of a rung: loads that only read, by as many jobs as drives carry the rung, each on a separate
// part.
func (s *storageLadder) fitRun(r rung, arm string, share int64) {
	run := &s.plan.Parts[arm].Run
	onlyReads(run)
	place := &run.Targets[0].Place
	if r.kind == ladder.Memory {
		share = min(share, memoryShare)
	}
	step := share
	if place.Kind == lab.Directory {
		place.Size = share * int64(r.jobs)
	} else if place.Kind == lab.Device {
		// Parts are spread over the whole device, so a volume of concatenated drives has a part on each.
		step = roundToBlocks(place.Size / int64(r.jobsPerPlace()))
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		c.Params = maps.Clone(c.Params)
		c.Params["size"] = strconv.FormatInt(share, 10)
		if n := r.jobsPerPlace(); n > 1 {
			c.Params["numjobs"], c.Params["offset_increment"] = strconv.Itoa(n), strconv.FormatInt(step, 10)
		}
		switch {
		case r.disk != nil && r.disk.Blank:
			// the disk was made for the guest; blocks never written are read without storage
			c.Steps = []lab.Step{lab.Fill, lab.Load}
		case place.Kind != lab.Directory:
			c.Steps = []lab.Step{lab.Load} // nothing is prepared on a device that may hold data
		}
		switch {
		case r.kind == ladder.Null && place.Kind == lab.NoPlace:
			c.Params["ioengine"] = "null"
		// a file system in memory takes no direct I/O before Linux 6.6, and answers immediately
		case r.kind == ladder.Memory:
			c.Params["ioengine"], c.Params["direct"], c.Params["iodepth"] = "psync", "0", "1"
		}
	}
	levels := map[string]string{results.KindLevel: string(r.kind)}
	if r.below > 0 {
		levels[results.BelowLevel] = strconv.Itoa(r.below)
	}
	if r.disk != nil {
		maps.Copy(levels, diskLevels(*r.disk))
	}
	s.setHeader(arm, levels)
	run.Terms = &s.terms
}
