package profiled

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// A layer is shown from this share of the CPU time, or this number of calls per I/O.
const (
	leastLayer      = 0.005
	leastLayerCalls = 0.05
)

// layers returns the table of an I/O's cost in each layer, with a bar for its share.
func (t text) layers(c Cell, name string) document.Table {
	table := document.Table{Name: prose.Join("Layers of", name), Columns: []document.Column{
		{Title: "layer", Kind: document.Words, Cut: true},
		{Title: "CPU per I/O", Signs: t.signs[EmulatedGuest], Kind: document.Number, Optional: true, DropInterval: 2},
		{Title: "share", Kind: document.Bar, Optional: true, Drop: 4},
		{Title: "calls per I/O", Kind: document.Number, Optional: true, DropInterval: 1},
	}}
	largest := 0.0
	for _, l := range c.Layers {
		largest = max(largest, meanOf(l.NS))
	}
	for _, l := range c.Layers {
		if meanOf(l.NS) < leastLayer*meanOf(c.CPU) && meanOf(l.Calls) < leastLayerCalls {
			continue
		}
		bar := document.Cell{}
		if l.NS != nil && largest > 0 {
			bar = document.Cell{To: l.NS.Mean / largest}
			bar.Text = unit.Percent(l.NS.Mean / max(meanOf(c.CPU), l.NS.Mean))
		}
		table.Rows = append(table.Rows, document.Row{Cells: []document.Cell{{Text: l.Title},
			timeCell(l.NS), bar, callsCell(l.Calls)}})
	}
	return table
}

func meanOf(e *cost.LoadMean) float64 {
	if e == nil {
		return 0
	}
	return e.Mean
}

// functions returns the table of the costliest functions, and how many more there are.
func (t text) functions(c Cell, name string) []document.Block {
	table := document.Table{Name: prose.Join("Functions of", name), Columns: []document.Column{
		{Title: "function", Kind: document.Words, Cut: true},
		{Title: "layer", Kind: document.Verdict, Cut: true, Drop: 2},
		{Title: "CPU per I/O", Signs: t.signs[EmulatedGuest], Kind: document.Number, Optional: true, DropInterval: 4},
		{Title: "with callees", Signs: t.signs[EmulatedGuest], Kind: document.Number, Optional: true, Drop: 5,
			DropInterval: 6},
		{Title: "calls per I/O", Kind: document.Number, Optional: true, DropInterval: 3},
		{Title: "runs in", Kind: document.Verdict, Optional: true, Drop: 7, Instead: []string{}},
	}}
	titles := map[string]string{}
	for _, l := range c.Layers {
		titles[l.ID] = l.Title
	}
	shown := c.Functions
	if t.Functions > 0 {
		shown = shown[:min(t.Functions, len(shown))]
	}
	for _, f := range shown {
		table.Rows = append(table.Rows, document.Row{Cells: []document.Cell{{Text: functionName(f.Name, f.Module)},
			{Text: cmp.Or(titles[f.Layer], t.layerTitle(f.Layer))}, timeCell(f.Self),
			timeCell(f.Total), callsCell(f.Calls), {Text: contextsText(f)}}})
	}
	blocks := []document.Block{document.Heading{Text: "Functions"}, table}
	if more := len(c.Functions) - len(shown); more > 0 {
		blocks = append(blocks, document.Terminal{Blocks: []document.Block{document.Sentence{Role: document.Reading,
			Text: fmt.Sprintf("%d more: --functions %d, --functions all, or --json", more, 4*ShownFunctions)}}})
	}
	return blocks
}

func (t text) layerTitle(id string) string {
	if t.Layers == nil {
		return id
	}
	return t.Layers.Title(id)
}

func functionName(name, module string) string {
	if module == "" {
		return name
	}
	return name + " [" + module + "]"
}

// contextsText describes in which contexts the kernel ran the function: "softirq 60%, load 40%".
func contextsText(f cost.Function) string {
	total := 0.0
	for _, v := range f.Contexts {
		total += v
	}
	if total == 0 {
		return ""
	}
	const least = 0.05
	names := slices.Sorted(maps.Keys(f.Contexts))
	slices.SortStableFunc(names, func(a, b profile.Context) int { return cmp.Compare(f.Contexts[b], f.Contexts[a]) })
	var parts []string
	for _, name := range names {
		share := f.Contexts[name] / total
		switch {
		case share > 1-least:
			return string(name)
		case share >= least:
			parts = append(parts, string(name)+" "+unit.Percent(share))
		}
	}
	return strings.Join(parts, ", ")
}

// leastRequests is the share of the most frequent kind of requests from which a kind is shown.
const leastRequests = 0.005

// frequent returns the kinds that are shown.
func frequent(all []Requests) []Requests {
	return slices.DeleteFunc(slices.Clone(all), func(r Requests) bool {
		return float64(r.Count) < leastRequests*float64(all[0].Count)
	})
}

func stageNames() []string { return []string{"until queued", "in the scheduler", "in the device"} }

func requestsName(r Requests) string {
	if r.Bytes == 0 {
		return prose.Join(r.Device, r.Direction)
	}
	return prose.Join(r.Device, r.Direction, unit.BlockSize(fmt.Sprint(r.Bytes)))
}

// stages returns tables of the time that requests spend in each stage of the block layer, and of the devices.
func (t text) stages(c Cell, name string) []document.Block {
	if len(c.Requests) == 0 {
		return nil
	}
	table := document.Table{Name: prose.Join("Stages of", name), Columns: []document.Column{
		{Title: "requests", Kind: document.Words},
		{Title: "n", Kind: document.Number, Drop: 3},
	}}
	for i, over := range stageNames() {
		table.Columns = append(table.Columns,
			document.Column{Title: "p50", Signs: t.signs[EmulatedGuest], Over: over, Kind: document.Number,
				Optional: true, DropInterval: 4 + i},
			document.Column{Title: "p99", Signs: t.signs[EmulatedGuest], Over: over, Kind: document.Number,
				Optional: true})
	}
	for _, r := range frequent(c.Requests) {
		n := float64(r.Count)
		cells := []document.Cell{{Text: requestsName(r)},
			{Text: unit.IOPS(n), Value: &n, Unit: callsUnit}}
		for _, q := range []*Time{r.Above, r.Scheduler, r.InDevice} {
			cells = append(cells, quantiles(q)...)
		}
		table.Rows = append(table.Rows, document.Row{Cells: cells})
	}
	blocks := []document.Block{document.Heading{Text: "Requests in the block layer"}, table}
	for _, d := range c.Devices {
		blocks = append(blocks, document.Sentence{Role: document.Detail, Text: deviceText(d)})
	}
	return blocks
}

func quantiles(q *Time) []document.Cell {
	if q == nil {
		return []document.Cell{{}, {}}
	}
	text := unit.Latency(q.P50)
	return []document.Cell{
		{Text: text, Interval: between(text, q.Low, q.High, unit.Latency), Value: &q.P50, Lo: q.Low, Hi: q.High,
			Unit: "s"},
		{Text: unit.Latency(q.P99), Value: &q.P99, Unit: "s"}}
}

// deviceText describes the depth of a device's queue, and what happened to requests.
func deviceText(d Device) string {
	var parts []string
	if d.Depth != nil {
		text := calls(*d.Depth) + " requests in flight on average"
		if d.Deepest != nil {
			text += fmt.Sprintf(", at most %d", *d.Deepest)
		}
		if d.Idle != nil && *d.Idle >= 0.001 {
			text += ", none for " + unit.Percent(*d.Idle) + " of the time"
		}
		parts = append(parts, text)
	}
	for _, c := range []struct {
		n    uint64
		what string
	}{{d.Merged, "merged"}, {d.Split, "split"}, {d.Requeued, "requeued"}} {
		parts = append(parts, unit.IOPS(float64(c.n))+" "+c.what)
	}
	return d.Device + ": " + strings.Join(parts, "; ")
}

// shownWaits is how many stacks of waiting threads are listed.
const shownWaits = 5

// waits returns the table of where the load's threads were off the CPU.
func waits(c Cell, name string) []document.Block {
	if c.Waits == nil || len(c.Waits.Stacks) == 0 {
		return nil
	}
	table := document.Table{Name: prose.Join("Waits of", name), Brief: shownWaits, Columns: []document.Column{
		{Title: "thread", Kind: document.Words},
		{Title: "waits in", Kind: document.Words, Cut: true},
		{Title: "share of time", Kind: document.Number},
		{Title: "times", Kind: document.Number, Drop: 2},
		{Title: "each", Kind: document.Number, Drop: 1},
	}}
	for _, w := range c.Waits.Stacks {
		n, each := float64(w.Count), w.Seconds/float64(max(w.Count, 1))
		table.Rows = append(table.Rows, document.Row{Cells: []document.Cell{{Text: w.Task},
			{Text: waitsIn(w.Frames)}, {Text: unit.Percent(w.Share), Value: &w.Share, Unit: "1"},
			{Text: unit.IOPS(n), Value: &n, Unit: callsUnit}, {Text: unit.Latency(each), Value: &each, Unit: "s"}}})
	}
	return []document.Block{document.Heading{Text: "Where the load's threads wait"}, table}
}

// waitsIn returns the innermost frames that show where a thread waits, the innermost first. Frames of the scheduler and
// of the kernel's entry, which are the same everywhere, are left out.
func waitsIn(frames []string) string {
	const most = 3
	var named []string
	for _, frame := range slices.Backward(frames) {
		if len(named) < most && !slices.Contains(commonFrames(), frame) {
			named = append(named, frame)
		}
	}
	return strings.Join(named, " ← ")
}

func commonFrames() []string {
	return []string{"__schedule", "schedule", "__traceiter_sched_switch", "perf_trace_sched_switch", "io_schedule",
		"schedule_timeout", "schedule_hrtimeout_range", "schedule_hrtimeout_range_clock", "preempt_schedule_irq",
		"entry_SYSCALL_64_after_hwframe", "entry_SYSCALL_64", "do_syscall_64", "x64_sys_call", "el0t_64_sync",
		"el0t_64_sync_handler", "el0_svc", "do_el0_svc", "el0_svc_common", "invoke_syscall"}
}
