package cost

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/profile"
)

// traced returns a load of calls in which this many reads were begun; calls has the count of each function per 100.
func traced(number int, reads uint64, calls map[string]uint64) profile.Load {
	t := &profile.Traced{Seconds: 0.6, Functions: true}
	t.Calls = append(t.Calls, profile.CallCount{Function: "aio_read", Context: profile.InLoad, Count: reads})
	for name, per100 := range calls {
		context, function, ok := strings.Cut(name, "/")
		if !ok {
			context, function = "load", name
		}
		t.Calls = append(t.Calls, profile.CallCount{Function: function, Context: profile.Context(context),
			Count: per100 * reads / 100})
	}
	return profile.Load{Cell: "randread", Number: number, Part: profile.Calls,
		Values: map[string]float64{"read.iops": 900}, Recording: profile.Recording{Kernel: "6.1.0", CPUs: 2, Traced: t,
			Modules: map[string]string{"nvme_prep_rq.part.0": "nvme"}}}
}

func TestCallsPerIO(t *testing.T) {
	p := one(t, []profile.Load{
		traced(1, 200, map[string]uint64{"qi_submit_sync": 100, "nvme_prep_rq.part.0": 100, "vfs_read": 5,
			"hardirq/nvme_irq": 80, "task/vfs_read": 300, "idle/do_idle": 50, "rare": 1, "block:block_rq_issue": 100}),
		traced(2, 1000, map[string]uint64{"qi_submit_sync": 104, "nvme_prep_rq.part.0": 100,
			"hardirq/nvme_irq": 90, "task/vfs_read": 100, "block:block_rq_issue": 100}),
	})
	if p.CallLoads != 2 || !slices.Equal(p.Operations, []string{"aio_read"}) || len(p.Missing) > 0 {
		t.Errorf("%d loads, operations %v, missing %v", p.CallLoads, p.Operations, p.Missing)
	}
	if rates := p.Rates[profile.Calls]; rates == nil || math.Abs(rates.Mean-1000) > 1e-9 || len(p.Rates) != 1 {
		t.Errorf("1200 reads in 1.2 s are %+v", rates)
	}
	sync := function(t, p, "qi_submit_sync")
	if sync.Layer != "dma" || math.Abs(sync.Calls.Mean-1.02) > 1e-9 || sync.Calls.Low == nil || sync.Self != nil {
		t.Errorf("qi_submit_sync: %+v", sync)
	}
	if prep := function(t, p, "nvme_prep_rq"); prep.Module != "nvme" || prep.Layer != "driver" || prep.Calls.Mean != 1 {
		t.Errorf("nvme_prep_rq: %+v", prep)
	}
	irq := function(t, p, "nvme_irq")
	if math.Abs(irq.Contexts[profile.InHardirq]-0.85) > 1e-9 || math.Abs(irq.Calls.Mean-0.85) > 1e-9 {
		t.Errorf("nvme_irq: %+v", irq)
	}
	if read := function(t, p, "vfs_read"); math.Abs(read.Calls.Mean-0.025) > 1e-9 || read.Contexts["task"] != 2 {
		t.Errorf("other processes' vfs_read count: %+v", read)
	}
	if issue := function(t, p, "block:block_rq_issue"); issue.Layer != "block" || issue.Calls.Mean != 1 {
		t.Errorf("block:block_rq_issue: %+v", issue)
	}
	if slices.ContainsFunc(p.Functions, func(f Function) bool { return f.Name == "rare" }) {
		t.Error("a function with 0.005 calls per I/O is listed")
	}
	for _, l := range p.Layers {
		if l.ID == "dma" && (math.Abs(l.Calls.Mean-1.02) > 1e-9 || l.NS != nil) {
			t.Errorf("layer dma: %+v", l)
		}
		if l.ID == "block" {
			t.Error("occurrences of a tracepoint are counted as calls")
		}
	}
}

// TestBursts distinguishes work in one go from work for each I/O, by the bursts of loads.
func TestBursts(t *testing.T) {
	load := func(number int, reads, drops []uint64) profile.Load {
		l := traced(number, 0, nil)
		l.Traced.Calls = []profile.CallCount{{Function: "aio_read", Context: profile.InLoad, Bursts: reads},
			{Function: "submit_bio", Context: profile.InLoad, Bursts: reads},
			{Function: "drop.part.0", Context: profile.InWorker, Bursts: drops}}
		for i, c := range l.Traced.Calls {
			for _, n := range c.Bursts {
				l.Traced.Calls[i].Count += n
			}
		}
		return l
	}
	p := one(t, []profile.Load{load(1, []uint64{20, 60, 20, 20}, []uint64{0, 60, 0, 0}),
		load(2, []uint64{10, 20, 30}, []uint64{10, 20, 30})})
	if b := function(t, p, "submit_bio").Calls.Bursts; b == nil || b.SD > 1e-9 || b.Freedom != 5 {
		t.Errorf("once for each I/O: %+v", b)
	}
	// Beyond half a call for each of 120 I/Os there are -10, 30, -10 and -10: 4·1200/120², and 0 of the other load, by
	// 5 degrees of freedom.
	if b := function(t, p, "drop").Calls.Bursts; b == nil || math.Abs(b.SD-math.Sqrt(4*1200/(120.*120)/5)) > 1e-9 {
		t.Errorf("in one go: %+v", b)
	}
	if b := function(t, one(t, []profile.Load{traced(1, 50, nil)}), "aio_read").Calls.Bursts; b != nil {
		t.Errorf("of a recording without bursts: %+v", b)
	}
}

// TestPieces adds copies of a function, and does not add pieces that the function itself calls.
func TestPieces(t *testing.T) {
	p := one(t, []profile.Load{traced(1, 100, map[string]uint64{
		"filemap_write_and_wait_range": 100, "filemap_write_and_wait_range.part.0": 60,
		"kiocb_write_and_wait.part.0": 100,
		"iommu_pgsize.isra.0":         100, "iommu_pgsize.constprop.0": 50,
		"__pfx_aio_read": 100,
	})})
	for name, want := range map[string]float64{"filemap_write_and_wait_range": 1, "kiocb_write_and_wait": 1,
		"iommu_pgsize": 1.5} {
		if got := function(t, p, name).Calls.Mean; got != want {
			t.Errorf("%s: %v calls per I/O, not %v", name, got, want)
		}
	}
	if slices.ContainsFunc(p.Functions, func(f Function) bool { return strings.HasPrefix(f.Name, "__pfx_") }) {
		t.Error("the space in front of a function is listed")
	}
}

// TestLoadsThatSayNothing checks that loads without usable data are ignored, with a note.
func TestLoadsThatSayNothing(t *testing.T) {
	lossy := traced(1, 500, nil)
	lossy.Traced.Lost = 7
	failed := profile.Load{Cell: "randread", Number: 4, Part: profile.Calls, Failed: "fio ended with status 1"}
	p := one(t, []profile.Load{lossy, traced(2, 29, nil), traced(3, 200, nil), failed})
	if p.CallLoads != 1 || p.Lost != 7 || len(p.Missing) != 3 || p.Functions[0].Calls.Low != nil {
		t.Errorf("%d loads, %d lost, missing %v", p.CallLoads, p.Lost, p.Missing)
	}
	for _, m := range p.Missing {
		if !strings.Contains(m.What, "function calls") {
			t.Errorf("what is missing is %q", m.What)
		}
	}
}

// TestIOsByBytes counts the I/Os of a load that maps its file by the I/Os that its device completed.
func TestIOsByBytes(t *testing.T) {
	l := traced(1, 3, map[string]uint64{"filemap_fault": 20000})
	l.Values = map[string]float64{"read.iops": 1000, "read.bandwidth": 4096 * 1000, "write.iops": 10}
	l.Traced.Completed = []profile.Completed{{Device: "253:0", Bios: 75, Bytes: 4096 * 600},
		{Device: "259:0", Requests: 99, Bytes: 4096 * 601}}
	p := one(t, []profile.Load{l})
	if fault := function(t, p, "filemap_fault"); fault.Calls.Mean != 1 {
		t.Errorf("filemap_fault: %v", fault.Calls.Mean)
	}
	if p.Operations != nil {
		t.Errorf("operations are %v", p.Operations)
	}
	l.Values = nil
	if p = one(t, []profile.Load{l}); math.Abs(function(t, p, "filemap_fault").Calls.Mean-8) > 1e-9 {
		t.Errorf("by requests it is %v", function(t, p, "filemap_fault").Calls.Mean)
	}
}

func sampled(number int, iops float64, stacks ...profile.Stack) profile.Load {
	return profile.Load{Cell: "randread", Number: number, Part: profile.Time,
		Values: map[string]float64{"read.iops": iops, "sync.iops": 1e6}, Recording: profile.Recording{CPUs: 2,
			Sampled: &profile.Sampled{Event: "cpu-clock", Hz: 100, Seconds: 10, Stacks: stacks}}}
}

func stack(cpu int, context profile.Context, count uint64, frames string) profile.Stack {
	return profile.Stack{CPU: cpu, Context: context, Count: count, Frames: strings.Split(frames, ";")}
}

func TestTimePerIO(t *testing.T) {
	stacks := []profile.Stack{
		stack(0, profile.InLoad, 400, "fio:main;entry_SYSCALL_64;aio_read;bio_alloc_bioset;kmem_cache_alloc"),
		stack(0, profile.InLoad, 60, "fio:main;fio:get_io_u"), stack(0, profile.InLoad, 40, "ld-linux-x86:?"),
		stack(0, profile.InHardirq, 100, "nvme_irq;fq_ring_free;_raw_spin_lock;native_queued_spin_lock_slowpath"),
		stack(0, profile.InTask, 100, "sshd:main;entry_SYSCALL_64;tcp_sendmsg"),
		stack(0, profile.InThread, 100, "ret_from_fork_asm;kthread;md_thread"),
		stack(0, profile.InIdle, 200, "do_idle;default_idle"),
		stack(1, profile.InIdle, 1000, "do_idle;default_idle"),
	}
	p := one(t, []profile.Load{sampled(1, 1000, stacks...)})
	// 7 s of CPU time for 10,000 I/Os, and 1 s of another program.
	if p.TimeLoads != 1 || p.Event != "cpu-clock" || math.Abs(p.CPU.Mean-700_000) > 1e-6 ||
		math.Abs(p.Others.Mean-100_000) > 1e-6 || math.Abs(p.SpinLocks.Mean-1.0/7) > 1e-9 {
		t.Errorf("%d loads by %s, %+v, locks %+v", p.TimeLoads, p.Event, p.CPU, p.SpinLocks)
	}
	for id, want := range map[string]float64{"block": 400_000, "load": 100_000, "dma": 100_000, "mapper": 100_000} {
		i := slices.IndexFunc(p.Layers, func(l Layer) bool { return l.ID == id })
		if i < 0 || math.Abs(p.Layers[i].NS.Mean-want) > 1e-6 || p.Layers[i].Calls != nil {
			t.Errorf("layer %s is not %v: %+v", id, want, p.Layers)
		}
	}
	alloc, read := function(t, p, "kmem_cache_alloc"), function(t, p, "aio_read")
	if math.Abs(alloc.Self.Mean-400_000) > 1e-6 || read.Self.Mean != 0 || math.Abs(read.Total.Mean-400_000) > 1e-6 {
		t.Errorf("kmem_cache_alloc %+v, aio_read %+v", alloc, read)
	}
	if library := function(t, p, "ld-linux-x86:?"); library.Layer != "load" {
		t.Errorf("what the load calls in libraries is of %s", library.Layer)
	}
	if slices.ContainsFunc(p.Functions, func(f Function) bool { return f.Name == "tcp_sendmsg" }) {
		t.Error("the kernel's work for another program is listed")
	}
}

// TestWaitsPerIO counts waits of the load in a function, but not where it was preempted by another thread.
func TestWaitsPerIO(t *testing.T) {
	waits := &profile.Waits{Seconds: 0.5, Threads: 2, Stacks: []profile.WaitStack{
		{Frames: strings.Split("aio_read;blk_mq_get_tag;io_schedule;schedule", ";"), Count: 300},
		{Frames: strings.Split("io_write;blk_mq_get_tag;io_schedule;schedule", ";"), Count: 100},
		{Frames: strings.Split("aio_read;irqentry_exit_to_user_mode;schedule", ";"), Count: 400}}}
	first, second := sampled(1, 1000, stack(0, profile.InLoad, 10, "aio_read")),
		sampled(2, 1000, stack(0, profile.InLoad, 10, "aio_read"))
	first.Waits, second.Waits = waits, &profile.Waits{Seconds: 0.5, Threads: 2}
	p := one(t, []profile.Load{first, second})
	if got := function(t, p, "blk_mq_get_tag").Waits; p.WaitLoads != 2 || !slices.Equal(got.Values, []float64{0.8, 0}) {
		t.Errorf("%d loads, %+v", p.WaitLoads, got)
	}
	if function(t, p, "aio_read").Waits != nil {
		t.Error("aio_read waits")
	}
}

// TestWorksFor puts a function into the layer that it mostly works for.
func TestWorksFor(t *testing.T) {
	p := one(t, []profile.Load{sampled(1, 1000,
		stack(0, profile.InLoad, 300, "shrink_folio_list;free_unref_page_list;free_pcp_prepare;clear_page_erms"),
		stack(0, profile.InLoad, 100, "do_anonymous_page;clear_page_erms"))})
	if f := function(t, p, "clear_page_erms"); f.Layer != "debugging" {
		t.Errorf("it is in %s", f.Layer)
	}
	p = one(t, []profile.Load{sampled(1, 1000,
		stack(0, profile.InLoad, 100, "shrink_folio_list;free_unref_page_list;free_pcp_prepare;clear_page_erms"),
		stack(0, profile.InLoad, 300, "do_anonymous_page;clear_page_erms"))})
	if f := function(t, p, "clear_page_erms"); f.Layer != "memory" {
		t.Errorf("it is in %s", f.Layer)
	}
}

// TestThrottled weighs samples by the time that they represent.
func TestThrottled(t *testing.T) {
	busy := stack(0, profile.InLoad, 300, "aio_read")
	if p := one(t, []profile.Load{sampled(1, 1000, busy, stack(0, profile.InIdle, 300, "do_idle"))}); math.Abs(
		p.CPU.Mean-500_000) > 1e-6 {
		t.Errorf("with 600 of 1000 samples: %v", p.CPU.Mean)
	}
	if p := one(t, []profile.Load{sampled(1, 1000, busy)}); math.Abs(p.CPU.Mean-300_000) > 1e-6 {
		t.Errorf("where idling is not sampled: %v", p.CPU.Mean)
	}
	if p := one(t, []profile.Load{sampled(1, 0, busy)}); p.CPU != nil || len(p.Missing) != 1 {
		t.Errorf("without a rate: %+v, missing %v", p.CPU, p.Missing)
	}
}

func TestOverhead(t *testing.T) {
	loads := []profile.Load{sampled(1, 950, stack(0, profile.InLoad, 300, "aio_read")),
		sampled(2, 970, stack(0, profile.InLoad, 300, "aio_read")), traced(1, 100, nil)}
	loads[2].Values["read.iops"] = 100
	beside := func(number int, iops float64) Measured {
		return Measured{Cell: "randread", Number: number, Values: map[string]float64{"read.iops": iops}}
	}
	p, err := Of(loads, Options{Measured: []Measured{beside(1, 1000), beside(2, 1000), beside(3, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	time, calls := p[0].Overhead[profile.Time], p[0].Overhead[profile.Calls]
	if time.Metric != "read.iops" || math.Abs(time.Ratio.Mean-math.Sqrt(0.95*0.97)) > 1e-9 || time.Ratio.Low == nil {
		t.Errorf("of sampling: %+v", time)
	}
	if math.Abs(calls.Ratio.Mean-0.1) > 1e-9 || calls.Ratio.Low != nil {
		t.Errorf("of tracing: %+v", calls)
	}
	p, _ = Of(loads, Options{Measured: []Measured{beside(1, 1000)}, Deciding: func(string) string { return "elapsed" }})
	if p[0].Overhead != nil {
		t.Errorf("of a metric that nobody has: %+v", p[0].Overhead)
	}
}

// TestArms checks that cells, arms and roles are separate.
func TestArms(t *testing.T) {
	a, b, c := traced(1, 100, nil), traced(1, 100, nil), traced(1, 100, nil)
	a.Arm, b.Arm, c.Arm, c.Role = "strict", "lazy", "lazy", "server"
	p, err := Of([]profile.Load{a, b, c, a}, Options{})
	if err != nil || len(p) != 3 || p[0].Arm != "strict" || p[0].CallLoads != 2 || p[2].Role != "server" {
		t.Errorf("%v, %+v", err, p)
	}
}

func one(t *testing.T, loads []profile.Load) Profile {
	t.Helper()
	all, err := Of(loads, Options{})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d profiles, %v", len(all), err)
	}
	return all[0]
}

func function(t *testing.T, p Profile, name string) Function {
	t.Helper()
	for _, f := range p.Functions {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("%s is not listed", name)
	return Function{}
}
