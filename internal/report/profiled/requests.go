package profiled

import (
	"cmp"
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/stat"
)

// Requests are the requests with one device, direction and size, of all loads together.
type Requests struct {
	Device    string `json:"device"`
	Direction string `json:"direction"`
	Bytes     int64  `json:"bytes"`
	Count     uint64 `json:"count"`
	// Above is the time from the entry into the block layer until there is a request, Scheduler until it is issued, and
	// InDevice until it has completed; nil if not recorded.
	Above     *Time `json:"above,omitempty"`
	Scheduler *Time `json:"scheduler,omitempty"`
	InDevice  *Time `json:"in_device,omitempty"`
}

// Time has quantiles in seconds. Low and High are the smallest and the largest median of a load, nil with one load.
type Time struct {
	P50  float64  `json:"p50"`
	P99  float64  `json:"p99"`
	Low  *float64 `json:"p50_low,omitempty"`
	High *float64 `json:"p50_high,omitempty"`
}

// Device is a block device that handled requests.
type Device struct {
	Device string `json:"device"`
	// Depth is the average number of requests in the device over time, and Deepest the maximum; nil if not recorded.
	Depth   *float64 `json:"depth,omitempty"`
	Deepest *int     `json:"deepest,omitempty"`
	// Idle is the share of the time without requests in the device.
	Idle *float64 `json:"idle,omitempty"`
	// Requests that were recorded, and how many of them were Merged with others, Split, and Requeued by the driver.
	Requests uint64 `json:"requests"`
	Merged   uint64 `json:"merged"`
	Split    uint64 `json:"split"`
	Requeued uint64 `json:"requeued"`
}

func stagesOf(loads []profile.Load) []*profile.Stages {
	var all []*profile.Stages
	for _, l := range loads {
		if l.Failed == "" && l.Stages != nil {
			all = append(all, l.Stages)
		}
	}
	return all
}

type requestKey struct {
	device, direction string
	bytes             int64
}

func requestsOf(loads []profile.Load) []Requests {
	groups := map[requestKey][]profile.StageGroup{}
	for _, s := range stagesOf(loads) {
		for _, g := range s.Groups {
			key := requestKey{g.Device, g.Direction, g.Bytes}
			groups[key] = append(groups[key], g)
		}
	}
	var all []Requests
	for key, of := range groups {
		r := Requests{Device: key.device, Direction: key.direction, Bytes: key.bytes,
			Above:     timeOf(of, func(g profile.StageGroup) lab.Histogram { return g.Above }),
			Scheduler: timeOf(of, func(g profile.StageGroup) lab.Histogram { return g.Scheduler }),
			InDevice:  timeOf(of, func(g profile.StageGroup) lab.Histogram { return g.InDevice })}
		for _, g := range of {
			r.Count += g.Count
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Requests) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Device, b.Device),
			cmp.Compare(a.Direction, b.Direction), cmp.Compare(a.Bytes, b.Bytes))
	})
	return all
}

// timeOf returns the quantiles of one stage in all loads.
func timeOf(groups []profile.StageGroup, stage func(profile.StageGroup) lab.Histogram) *Time {
	var ns []int64
	var counts []uint64
	var medians []float64
	for _, g := range groups {
		h := stage(g)
		if len(h.Counts) == 0 {
			continue
		}
		medians = append(medians, stat.BinQuantile(h.Nanoseconds, h.Counts, 0.5)/1e9)
		ns, counts = stat.AddBins(ns, counts, h.Nanoseconds, h.Counts)
	}
	if len(medians) == 0 {
		return nil
	}
	q := stat.BinQuantiles(ns, counts, []float64{0.5, 0.99})
	t := &Time{P50: q[0] / 1e9, P99: q[1] / 1e9}
	if len(medians) > 1 {
		low, high := slices.Min(medians), slices.Max(medians)
		t.Low, t.High = &low, &high
	}
	return t
}

func devicesOf(loads []profile.Load) []Device {
	devices := map[string]*Device{}
	at := func(name string) *Device {
		if devices[name] == nil {
			devices[name] = &Device{Device: name}
		}
		return devices[name]
	}
	depths := map[string][]float64{}
	for _, s := range stagesOf(loads) {
		for _, g := range s.Groups {
			at(g.Device).Requests += g.Count
		}
		for _, c := range []struct {
			counts map[string]uint64
			of     func(*Device) *uint64
		}{
			{s.Merged, func(d *Device) *uint64 { return &d.Merged }},
			{s.Split, func(d *Device) *uint64 { return &d.Split }},
			{s.Requeued, func(d *Device) *uint64 { return &d.Requeued }},
		} {
			for name, n := range c.counts {
				*c.of(at(name)) += n
			}
		}
		for name, seconds := range s.Depth {
			at(name)
			for n, v := range seconds {
				for len(depths[name]) <= n {
					depths[name] = append(depths[name], 0)
				}
				depths[name][n] += v
			}
		}
	}
	var all []Device
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		d := *devices[name]
		d.Depth, d.Deepest, d.Idle = depthOf(depths[name])
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b Device) int { return cmp.Compare(b.Requests, a.Requests) })
	return all
}

// depthOf summarises a queue from the seconds that it spent at each depth.
func depthOf(seconds []float64) (mean *float64, deepest *int, idle *float64) {
	total, sum, last := 0.0, 0.0, 0
	for n, v := range seconds {
		total, sum = total+v, sum+float64(float64(n)*v)
		if v > 0 {
			last = n
		}
	}
	if total == 0 {
		return nil, nil, nil
	}
	average, none := sum/total, seconds[0]/total
	return &average, &last, &none
}
