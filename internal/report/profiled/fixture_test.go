package profiled

import (
	"cmp"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/profile/layer"
	"github.com/headroom/headroom/internal/report"
)

func p(v float64) *float64 { return &v }

// about is an estimate of three loads that differ by a share.
func about(mean, share float64) *cost.LoadMean {
	return &cost.LoadMean{Mean: mean, Low: p(mean * (1 - 2*share)), High: p(mean * (1 + 2*share)),
		Values: []float64{mean * (1 - share), mean, mean * (1 + share)}}
}

func stack(context profile.Context, count uint64, frames ...string) profile.Stack {
	return profile.Stack{Context: context, Task: "fio", Frames: frames, Count: count}
}

// timeLoad is a load whose CPUs were sampled; with strict the IOMMU is flushed at each I/O.
func timeLoad(arm string, number int, strict uint64) profile.Load {
	n := uint64(number)
	submit := []string{"fio:io_queue_event", "entry_SYSCALL_64_after_hwframe", "do_syscall_64", "submit_bio",
		"blk_mq_submit_bio", "nvme_queue_rq"}
	irq := []string{"asm_common_interrupt", "handle_irq_event", "nvme_irq"}
	with := func(base []string, more ...string) []string { return append(append([]string{}, base...), more...) }
	h := func(ns int64) lab.Histogram {
		return lab.Histogram{Nanoseconds: []int64{ns, ns + 100*int64(n), 8 * ns}, Counts: []uint64{400, 595, 12}}
	}
	return profile.Load{Cell: "randread 4k q4", Arm: arm, Number: number, Part: profile.Time, Seconds: 5,
		Recording: profile.Recording{Kernel: "6.1.0-56-amd64", Architecture: "x86_64", CPUs: 2,
			Sampled: &profile.Sampled{Event: "cpu-clock", Hz: 199, Seconds: 4, Samples: 1592,
				Stacks: []profile.Stack{stack(profile.InLoad, 300+n, "fio:get_io_u"),
					stack(profile.InLoad, 120, submit[:3]...), stack(profile.InLoad, 200-n, submit[:5]...),
					stack(profile.InLoad, 140, submit...),
					stack(profile.InLoad, 90+n, with(submit, "dma_map_sg_attrs", "iommu_map_sg")...),
					stack(profile.InHardirq, 110, irq...),
					stack(profile.InHardirq, 60+strict*(80+n), with(irq, "iommu_dma_unmap_sg")...),
					stack(profile.InHardirq, 2+strict*(230+n), with(irq, "iommu_dma_unmap_sg", "qi_submit_sync")...),
					stack(profile.InIdle, 400)}},
			Stages: &profile.Stages{Seconds: 1, Groups: []profile.StageGroup{{Device: "259:0", Direction: lab.Read,
				Bytes: 4096, Count: 1007, Above: h(2100), Scheduler: h(700), InDevice: h(81_000)}},
				Depth:  map[string][]float64{"259:0": {0.05, 0.05, 0.2, 0.3, 0.4}},
				Merged: map[string]uint64{"259:0": 3}},
			Waits: &profile.Waits{Seconds: 1, Threads: 1, Stacks: []profile.WaitStack{
				{Task: "fio", Count: 900, Seconds: 0.61, Frames: []string{"fio:td_io_getevents",
					"entry_SYSCALL_64_after_hwframe", "do_syscall_64", "__x64_sys_io_getevents", "read_events",
					"schedule_hrtimeout_range", "schedule", "__schedule"}},
				{Task: "fio", Count: 4, Seconds: 0.002, Frames: []string{"blk_mq_get_tag", "io_schedule", "schedule",
					"__schedule"}}}}}}
}

// oneCell is a cell with all parts; with strict the IOMMU is flushed at each I/O.
func oneCell(t *testing.T, arm string, strict uint64) Cell {
	var loads []profile.Load
	for n := range 3 {
		loads = append(loads, timeLoad(arm, n+1, strict))
	}
	s := float64(strict)
	costs := cost.Profile{Cell: "randread 4k q4", Arm: arm, Kernel: "6.1.0-56-amd64", TimeLoads: 3, CallLoads: 3,
		Event: "cpu-clock", CPU: about(18_400+4_000*s, 0.012),
		Overhead: map[profile.Part]cost.Overhead{profile.Time: {Metric: "read.iops", Ratio: *about(0.993, 0.004)},
			profile.Calls: {Metric: "read.iops", Ratio: *about(0.41, 0.02)}},
		Layers: []cost.Layer{
			{ID: "block", Title: "block layer", NS: about(5_700, 0.02), Calls: about(45.2, 0.001)},
			{ID: "load", Title: "the load generator", NS: about(5_100, 0.02)},
			{ID: "dma", Title: "DMA mapping and IOMMU", NS: about(2_760+4_000*s, 0.05), Calls: about(18.1+s, 0.002)},
			{ID: "driver", Title: "driver", NS: about(2_500, 0.03), Calls: about(8, 0)},
			{ID: "syscall", Title: "system call entry and mitigations", NS: about(2_040, 0.02),
				Calls: about(2.01, 0.001)},
			{ID: "interrupt", Title: "interrupt and softirq", NS: about(300, 0.3), Calls: about(14.2, 0.02)}},
		Functions: []cost.Function{
			{Name: "fio:get_io_u", Layer: "load", Self: about(5_100, 0.02), Total: about(5_100, 0.02)},
			{Name: "blk_mq_submit_bio", Layer: "block", Self: about(3_400, 0.02), Total: about(8_100, 0.02),
				Calls: about(1, 0), Contexts: map[profile.Context]float64{profile.InLoad: 1}},
			{Name: "nvme_queue_rq", Module: "nvme", Layer: "driver", Self: about(2_300, 0.03),
				Total: about(4_000, 0.02),
				Calls: about(1, 0), Contexts: map[profile.Context]float64{profile.InLoad: 0.8, profile.InWorker: 0.2}},
			{Name: "iommu_dma_unmap_sg_with_a_name_that_is_longer_than_any", Layer: "dma", Self: about(700, 0.1),
				Total: about(900, 0.1), Calls: about(1, 0),
				Contexts: map[profile.Context]float64{profile.InHardirq: 1}},
			{Name: "qi_submit_sync", Layer: "dma", Self: about(20+4_000*s, 0.1), Calls: about(0.02+0.98*s, 0.01),
				Contexts: map[profile.Context]float64{profile.InHardirq: 0.02 + 0.98*s}},
			{Name: "__rcu_read_lock", Layer: "other", Calls: about(21.4, 0.01)}}}
	slices.SortStableFunc(costs.Layers, func(a, b cost.Layer) int { return cmp.Compare(b.NS.Mean, a.NS.Mean) })
	return CellOf(Group{Cell: costs.Cell, Arm: arm, Loads: loads}, costs)
}

// guestProfile is the profile of an emulated guest with two arms.
func guestProfile(t *testing.T) Document {
	return Document{Schema: Schema, Run: "7KQ4M2X9TD",
		Warnings: []lab.Warning{
			{Code: "emulated-guest", Text: "qemu:guest.yaml is emulated: its times are those of no " +
				"hardware; calls per I/O are true"}},
		Cells: []Cell{oneCell(t, "lazy", 0), oneCell(t, "strict", 1)}}
}

// refusedProfile is the profile of a machine that refuses nearly everything.
func refusedProfile() Document {
	return Document{Schema: Schema, Run: "7KQ4M2X9TD", Cells: []Cell{
		{Profile: cost.Profile{Cell: "write 1m", Kernel: "6.18.0", CallLoads: 1, Lost: 1203,
			Missing: []profile.Missing{
				{What: "function calls", Why: "the kernel refused its function tracer (operation not permitted)",
					Hint: "boot without lockdown=integrity; static tracepoints are counted meanwhile"},
				{What: "CPU samples", Why: "kernel.perf_event_paranoid is 3", Hint: "run as root"}},
			Layers: []cost.Layer{{ID: "block", Title: "block layer",
				Calls: &cost.LoadMean{Mean: 4, Values: []float64{4}}}},
			Functions: []cost.Function{{Name: "block:block_rq_issue", Layer: "block",
				Calls: &cost.LoadMean{Mean: 1, Values: []float64{1}}}}}},
		{Profile: cost.Profile{Cell: "read 1m", Kernel: "6.18.0", Missing: []profile.Missing{{What: "samples",
			Why: "fio: No space left on device"}}}},
		{Profile: cost.Profile{Cell: "trim 1m", Kernel: "6.18.0"}}}}
}

func options(t *testing.T, o report.Options) Options {
	t.Helper()
	return Options{Options: o, Functions: ShownFunctions, Layers: allLayers(t)}
}

func delta(a, b, half float64, c difference.Change) *difference.Delta {
	return &difference.Delta{A: a, B: b, Low: b - a - half, High: b - a + half, Change: c}
}

// strictDifference is the difference of two arms; in one of them the IOMMU is flushed at each I/O.
func strictDifference(t *testing.T) (difference.Document, Sides) {
	d := guestProfile(t)
	a, b := d, d
	a.Cells, b.Cells = d.Cells[:1], d.Cells[1:]
	return difference.Document{Schema: difference.Schema, A: "7KQ4:lazy", B: "7KQ4:strict", Alpha: 0.05,
		Cells: []difference.Cell{{Cell: "randread 4k q4", A: a.Cells[0].Profile, B: b.Cells[0].Profile, Slower: 1,
			Layers: []difference.Layer{
				{ID: "dma", Title: "DMA mapping and IOMMU", Share: 0.94, Calls: delta(18.1, 19.1, 0.1, ""),
					NS: delta(2760, 6760, 500, difference.More), Functions: []string{"qi_submit_sync", "fq_ring_free"}},
				{ID: "generic", Title: "locks, memory, lists", Share: 0.06, Calls: delta(72, 88, 20, ""),
					Functions: []string{"__rcu_read_lock"}}},
			Functions: []difference.Function{
				{Name: "qi_submit_sync", Layer: "dma", Calls: delta(0.0154, 1, 0.012, difference.Appeared),
					NS: delta(20, 4020, 410, difference.More)},
				{Name: "fq_ring_free", Layer: "dma", Calls: delta(1.03, 0, 0.02, difference.Vanished)},
				{Name: "__rcu_read_lock", Module: "", Layer: "generic",
					Calls: delta(21.4, 26.1, 0.4, difference.More)}},
			Account: account(80_000, 84_300, difference.Part{Reason: difference.InLayer, Layer: "dma",
				Title: "DMA mapping and IOMMU", NS: within(4000, 500)}, difference.Part{Reason: difference.Waiting,
				NS: within(280, 300)}, difference.Part{Reason: difference.Unexplained, NS: within(30, 90)}),
			Same: 157}}}, Sides{a, b}
}

// kernelDifference is the difference of two kernels, one of which refused to count calls.
func kernelDifference(t *testing.T) difference.Document {
	a, b := oneCell(t, "old", 0).Profile, oneCell(t, "new", 1).Profile
	b.Kernel, b.CallLoads = "6.12.9-amd64", 0
	b.Missing = []profile.Missing{{What: "function calls", Why: "the kernel is locked down (integrity)",
		Hint: "boot without lockdown="}}
	return difference.Document{A: "7KQ4", B: "M2X9", Alpha: 0.05, Cells: []difference.Cell{
		{Cell: "randread 4k q4", A: a, B: b, Slower: 1.61,
			Layers: []difference.Layer{{ID: "dma", Title: "DMA mapping and IOMMU", Share: 1,
				NS: delta(2760, 6760, 500, difference.More), Functions: []string{}}}, Same: 40,
			Renamed: []difference.Renamed{{A: "blk_mq_submit_bio", B: "submit_bio_noacct",
				Why: "renamed in 6.9"}},
			Missing: []profile.Missing{{What: "function calls", Why: "the second side has none",
				Hint: "profile both sides again, with at least two loads each"}}},
		{Cell: "randwrite 4k q4", A: a, B: a, Slower: 1, Same: 163},
		{Cell: "randrw 4k q4", A: b, B: b, Slower: 3.49, Same: 41},
		{Cell: "trim 4k", A: cost.Profile{Kernel: "6.1"}, B: cost.Profile{Kernel: "6.1"}, Slower: 1}}}
}

func within(value, half float64) difference.Range {
	return difference.Range{Value: value, Low: value - half, High: value + half}
}

// account returns an account of the parts, whose shares are computed.
func account(a, b float64, parts ...difference.Part) *difference.Account {
	loss := b - a
	for i := range parts {
		ns := parts[i].NS
		parts[i].Share = difference.Range{Value: ns.Value / loss, Low: ns.Low / loss, High: ns.High / loss}
	}
	return &difference.Account{A: a, B: b, CPUs: 1, Loss: within(loss, 500), Parts: parts}
}

// isolatedDifference is strictDifference with isolated page tables, which make everything slower.
func isolatedDifference(t *testing.T) (difference.Document, Sides) {
	d, sides := strictDifference(t)
	c := &d.Cells[0]
	c.Slower, c.Layers[0].NS = 2.36, delta(2760, 2900, 500, "")
	c.Functions[0].NS = nil
	c.Account = account(181_000, 461_000, difference.Part{Reason: difference.Uniform, Factor: 2.36,
		Causes: []difference.FactChange{{Key: "cpu.pti", Title: "page-table isolation", A: "off", B: "on"}},
		NS:     within(246_000, 21_000)}, difference.Part{Reason: difference.Waiting, NS: within(30_000, 12_000)},
		difference.Part{Reason: difference.Unexplained, NS: within(6_000, 9_000)},
		difference.Part{Reason: difference.InLayer, Layer: "dma", Title: "DMA mapping and IOMMU",
			NS: within(-2_000, 3_000)})
	return d, sides
}

func allLayers(t *testing.T) *layer.Layers {
	t.Helper()
	layers, err := layer.Load()
	if err != nil {
		t.Fatal(err)
	}
	return layers
}

// waitingDifference is the difference caused by a queue that is too short, in emulated guests that differ in nothing
// else.
func waitingDifference() difference.Document {
	side := cost.Profile{Cell: "randread 4k q32", Kernel: "6.1.0-56-amd64", CallLoads: 3, TimeLoads: 3, WaitLoads: 3,
		Emulated: true, CPU: about(191_000, 0.1), Layers: []cost.Layer{{ID: "block", Calls: about(45, 0.01)}}}
	waits := difference.Cell{Cell: side.Cell, A: side, B: side, Slower: 1, Same: 380,
		Layers: []difference.Layer{{ID: "tags", Title: "tags of requests", Share: 1, Calls: delta(2, 2.55, 0.56, ""),
			Functions: []string{"blk_mq_get_tag"}}},
		Functions: []difference.Function{{Name: "blk_mq_get_tag", Layer: "tags", Calls: delta(1, 1, 0.02, ""),
			Waits: delta(0, 0.43, 0.07, difference.Appeared)}}}
	nothing := difference.Cell{Cell: "randwrite 4k q32", A: side, B: side, Slower: 1, Same: 356,
		OwnPace: []string{"wb_workfn", "ext4_writepages"}}
	return difference.Document{Schema: difference.Schema, A: "N1KV", B: "HNBE", Alpha: 0.05,
		Cells: []difference.Cell{waits, nothing}}
}
