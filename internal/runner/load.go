package runner

import (
	"context"
	"maps"
	"strconv"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/runner/engine"
)

// load is one job to run.
type load struct {
	engine engine.Engine
	// spec of the job, without its ID.
	spec host.JobSpec
	// argv as one would type it.
	argv  []string
	doing string // for people
	// expected time; 0 when it is not known.
	expected time.Duration
	// timeout after which it is ended; 0 for one from what else is known of it. slowest is how long it takes at the
	// very least of rates; 0 when that is not known. movesData says that it may take time before or after its own.
	timeout   time.Duration
	slowest   time.Duration
	movesData bool
	// started is what a command starts that may outlive its job.
	started host.Started
	// cell that it measures; nil for what is done before and after.
	cell *Cell
	// enough says that the load has served its purpose, and is ended; nil for one that ends by itself.
	enough func(ctx context.Context) bool
}

// workload is a kind of loads: of fio on the place, between the ends of a network, or a command.
type workload interface {
	// prepare does what comes before a load and takes long.
	prepare(ctx context.Context, cell Cell) (preparation, error)
	// load returns the load of a cell, whose output an engine reads.
	load(ctx context.Context, cell Cell, e engine.Engine) (load, error)
	// end ends what runs beside the load, and carries out what comes after it, also where prepare failed. It does so
	// once.
	end(ctx context.Context, cell Cell) []lab.Warning
}

// preparation is what was done before a load.
type preparation struct {
	did []string
	// shared is the part of its time that was spent on what later repetitions find done.
	shared time.Duration
}

// fioLoad is a job of fio's that works on what the options say, which it is handed by another name.
func fioLoad(name string, params map[string]string, opt fio.Options, handed string) load {
	opt.Output, opt.Logs, opt.Progress = engine.FioOutput, engine.FioLogs, true
	argv := fio.Argv(name, params, opt)
	opt.Filename = handed
	return load{engine: engine.Fio{}, argv: argv, spec: host.JobSpec{Argv: fio.Argv(name, params, opt)}}
}

// LoadParams are a cell's parameters, with the size of the scratch file where the cell names none: it makes the command
// line whole, so that it can be repeated by hand.
func LoadParams(place lab.Place, params map[string]string, scratch int64) map[string]string {
	if place.Kind != lab.Directory || params["size"] != "" {
		return params
	}
	params = maps.Clone(params)
	params["size"] = strconv.FormatInt(scratch, 10)
	return params
}
