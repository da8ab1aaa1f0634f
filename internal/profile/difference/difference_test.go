package difference

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
)

// costs returns a profile of functions with their calls per I/O in each load, each in its layer.
func costs(kernel string, functions ...cost.Function) cost.Profile {
	p := cost.Profile{Cell: "randread", Kernel: kernel, Functions: functions,
		Rates: map[profile.Part]*cost.LoadMean{profile.Calls: {Mean: 1000}}}
	for _, f := range functions {
		p.CallLoads = len(f.Calls.Values)
		if !slices.ContainsFunc(p.Layers, func(l cost.Layer) bool { return l.ID == f.Layer }) {
			p.Layers = append(p.Layers, cost.Layer{ID: f.Layer, Title: f.Layer})
		}
	}
	return p
}

func calls(name, layer string, values ...float64) cost.Function {
	return cost.Function{Name: name, Layer: layer, Calls: &cost.LoadMean{Values: values}}
}

func changes(c Cell) map[string]Change {
	all := map[string]Change{}
	for _, f := range c.Functions {
		all[f.Name] = f.Calls.Change
	}
	return all
}

func TestAppearing(t *testing.T) {
	a := costs("6.1", calls("new", "block", 0, 0.2), calls("old", "block", 0.9, 1), calls("some", "block", 0, 0.3),
		calls("few", "block", 0, 0), calls("same", "block", 1, 1.01), calls("lock_timer_base", "scheduling", 0, 0))
	b := costs("6.1", calls("new", "block", 0.9, 5), calls("old", "block", 0, 0.1), calls("some", "block", 1, 1),
		calls("few", "block", 0.8, 1), calls("same", "block", 1, 1), calls("lock_timer_base", "scheduling", 3, 3))
	c := compared(t, a, b)
	got := changes(c)
	if got["new"] != Appeared || got["old"] != Vanished || got["some"] == Appeared || got["few"] == Appeared ||
		got["same"] != "" || got["lock_timer_base"] != "" {
		t.Errorf("%v", got)
	}
	if c.Layers[0].ID != "block" || c.Layers[0].Share != 1 {
		t.Errorf("%+v", c.Layers)
	}
}

// TestByChance checks that a function that only a few bursts caught is not reported as new.
func TestByChance(t *testing.T) {
	in := func(f cost.Function, sd float64) cost.Function {
		f.Calls.Bursts = &cost.Spread{SD: sd, Freedom: 21}
		return f
	}
	a := costs("6.1", in(calls("steady", "block", 0, 0, 0), 0), in(calls("rare", "vfs", 0, 0, 0), 0),
		in(calls("aio_read", "aio", 1, 1, 1), 0))
	b := costs("6.1", in(calls("steady", "block", 1, 1, 1), 0.05), in(calls("rare", "vfs", 1, 1.1, 1.05), 1.1),
		in(calls("aio_read", "aio", 1, 1, 1), 0))
	c := compared(t, a, b)
	if got := changes(c); len(got) != 1 || got["steady"] != Appeared || len(c.Layers) != 1 ||
		c.Layers[0].ID != "block" {
		t.Errorf("%s", told(c))
	}
}

// TestWaiting checks that waiting appears and vanishes: hardly ever on one side, sometimes on the other in every load.
func TestWaiting(t *testing.T) {
	waiting := func(name, layer string, values ...float64) cost.Function {
		f := calls(name, layer, 1, 1, 1)
		f.Waits = &cost.LoadMean{Values: values}
		return f
	}
	of := func(functions ...cost.Function) cost.Profile {
		p := costs("6.1", functions...)
		p.WaitLoads = 3
		return p
	}
	a := of(calls("blk_mq_get_tag", "tags", 1, 1, 1), waiting("read_events", "aio", 0.02, 0.01, 0.02),
		waiting("jbd2_log_wait_commit", "filesystem", 0.5, 0.4, 0.6), waiting("balance_dirty_pages", "vfs", 0, 0, 0.2))
	b := of(waiting("blk_mq_get_tag", "tags", 0.06, 0.9, 1.7), waiting("read_events", "aio", 0.3, 0.4, 0.3),
		calls("jbd2_log_wait_commit", "filesystem", 1, 1, 1),
		waiting("balance_dirty_pages", "vfs", 0.3, 0.3, 0.3))
	c := compared(t, a, b)
	got := map[string]Change{}
	for _, f := range c.Functions {
		got[f.Name] = f.Waits.Change
	}
	if len(got) != 2 || got["blk_mq_get_tag"] != Appeared || got["jbd2_log_wait_commit"] != Vanished {
		t.Errorf("%v", got)
	}
	if c.Layers[0].ID != "tags" {
		t.Errorf("%s", told(c))
	}
	b.WaitLoads = 0
	if c := compared(t, a, b); len(c.Functions) > 0 {
		t.Errorf("not followed on one side: %s", told(c))
	}
}

// TestMoreAndLess needs more than scatter, and more than a fifth.
func TestMoreAndLess(t *testing.T) {
	a := costs("6.1", calls("twice", "dma", 2, 2.02, 1.98), calls("tenth", "dma", 2, 2.01, 1.99),
		calls("wild", "dma", 1, 5, 9), calls("half", "dma", 1, 1.01, 0.99),
		calls("nvme_irq", "driver", 0.3, 0.31, 0.32))
	b := costs("6.1", calls("twice", "dma", 4, 4.02, 3.98), calls("tenth", "dma", 2.2, 2.21, 2.19),
		calls("wild", "dma", 2, 9, 14), calls("half", "dma", 0.5, 0.51, 0.49),
		calls("nvme_irq", "driver", 0.9, 0.91, 0.9))
	got := changes(compared(t, a, b))
	if got["twice"] != More || got["half"] != Less || len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// TestTicks checks a function that runs equally often per second with few I/Os and with many.
func TestTicks(t *testing.T) {
	a := costs("6.1", calls("scheduler_tick", "scheduling", 2.5, 2.6), calls("aio_read", "aio", 1, 1))
	b := costs("6.1", calls("scheduler_tick", "scheduling", 0.05, 0.06), calls("aio_read", "aio", 1, 1))
	b.Rates[profile.Calls] = &cost.LoadMean{Mean: 45000}
	if got := changes(compared(t, a, b)); len(got) > 0 {
		t.Errorf("%v", got)
	}
	b.Rates[profile.Calls] = &cost.LoadMean{Mean: 1000}
	if got := changes(compared(t, a, b)); got["scheduler_tick"] != Vanished {
		t.Errorf("%v", got)
	}
}

// TestWhatFollows checks that consequences of another layer's work come after it, however large they are.
func TestWhatFollows(t *testing.T) {
	var before, after []cost.Function
	for _, name := range []string{"schedule", "try_to_wake_up", "dequeue_entity", "enqueue_entity",
		"pick_next_task_fair", "finish_task_switch", "psi_task_switch", "update_curr", "io_schedule",
		"set_next_entity"} {
		before = append(before, calls(name, "scheduling", 0.1, 0.1))
		after = append(after, calls(name, "scheduling", 3, 3.1))
	}
	before = append(before, calls("sbitmap_prepare_to_wait", "tags", 0, 0))
	after = append(after, calls("sbitmap_prepare_to_wait", "tags", 0.96, 0.97))
	c := compared(t, costs("6.1", before...), costs("6.1", after...))
	if c.Layers[0].ID != "tags" || c.Layers[1].ID != "scheduling" || c.Functions[0].Name != "sbitmap_prepare_to_wait" {
		t.Errorf("%s", told(c))
	}
	c = compared(t, costs("6.1", before[:3]...), costs("6.1", after[:3]...))
	if len(c.Layers) != 1 || c.Layers[0].ID != "scheduling" || c.Layers[0].Share != 1 {
		t.Errorf("%s", told(c))
	}
}

func TestRenamed(t *testing.T) {
	a := costs("6.1.0", calls("__do_softirq", "interrupt", 1, 1), calls("kmem_cache_alloc", "generic", 2, 2),
		calls("gone", "block", 1, 1), calls("__both", "block", 1, 1), calls("both", "block", 0, 0))
	b := costs("6.12.0", calls("handle_softirqs", "interrupt", 1, 1), calls("kmem_cache_alloc_noprof", "generic", 2, 2),
		calls("__both", "block", 0, 0), calls("both", "block", 1, 1))
	for _, c := range []Cell{compared(t, a, b), compared(t, b, a)} {
		if len(c.Renamed) != 3 || len(c.Functions) != 1 || c.Functions[0].Name != "gone" || c.Functions[0].Note == "" {
			t.Errorf("%s", told(c))
		}
	}
	if c := compared(t, a, b); c.Renamed[0] != (Renamed{"__do_softirq", "handle_softirqs", "renamed"}) {
		t.Errorf("%+v", c.Renamed)
	}
	a.Kernel = b.Kernel
	if c := compared(t, a, b); len(c.Renamed) > 0 || len(c.Functions) != 7 || c.Functions[0].Note != "" {
		t.Errorf("of one kernel: %s", told(c))
	}
}

func TestMissing(t *testing.T) {
	one := costs("6.1", calls("new", "block", 1))
	two := costs("6.1", calls("new", "block", 0, 0))
	c := compared(t, two, one)
	if len(c.Functions) > 0 || len(c.Missing) != 2 || !strings.Contains(c.Missing[0].Why, "one profiled load") ||
		!strings.Contains(c.Missing[1].Why, "neither") {
		t.Errorf("%s", told(c))
	}
	none := cost.Profile{Cell: "randread"}
	if c := compared(t, none, two); !strings.Contains(c.Missing[0].Why, "first side has none") {
		t.Errorf("%s", told(c))
	}
}

// TestCells are matched whatever their arms are called, and those of one side are omitted.
func TestCells(t *testing.T) {
	named := func(cell, arm, role string) cost.Profile {
		p := costs("6.1", calls("aio_read", "aio", 1, 1))
		p.Cell, p.Arm, p.Role = cell, arm, role
		return p
	}
	d, err := Of([]cost.Profile{named("read@lazy", "lazy", ""), named("write", "lazy", ""), named("net", "", "server")},
		[]cost.Profile{named("read@strict", "strict", ""), named("net", "", "client"), named("net", "", "server")},
		Options{A: "one", B: "two"})
	if err != nil || len(d.Cells) != 2 || d.Cells[0].Cell != "read" || d.Cells[1].B.Role != "server" ||
		d.Alpha != 0.05 || d.A != "one" || d.Schema != Schema {
		t.Errorf("%v, %+v", err, d)
	}
}

func times(values []float64, factor float64) {
	for i := range values {
		values[i] *= factor
	}
}

// TestEmulatedTimes checks that times differ only if they do tenfold.
func TestEmulatedTimes(t *testing.T) {
	of := func(emulated bool, clear, driver float64) cost.Profile {
		values := func(v float64) *cost.LoadMean {
			return &cost.LoadMean{Mean: v, Values: []float64{0.97 * v, v, 1.03 * v}}
		}
		p := cost.Profile{Cell: "randread", Kernel: "6.1", TimeLoads: 3, Emulated: emulated, CPU: values(500_000),
			Rates:  map[profile.Part]*cost.LoadMean{profile.Time: {Mean: 1000}},
			Layers: []cost.Layer{{ID: "driver", NS: values(driver)}, {ID: "debugging", NS: values(clear)}}}
		worksFor := "debugging"
		if clear == 0 {
			worksFor = "memory"
		}
		p.Functions = []cost.Function{{Name: "clear_page_erms", Layer: worksFor, Self: values(clear)},
			{Name: "nvme_queue_rq", Layer: "driver", Self: values(driver)}}
		return p
	}
	for _, emulated := range []bool{false, true} {
		c := compared(t, of(emulated, 0, 31_000), of(emulated, 42_000, 5900))
		var names []string
		for _, f := range c.Functions {
			names = append(names, f.Name)
			if f.Name == "clear_page_erms" && f.Layer != "debugging" {
				t.Errorf("it works for %s", f.Layer)
			}
		}
		if driver := slices.Contains(names, "nvme_queue_rq"); driver == emulated ||
			!slices.Contains(names, "clear_page_erms") {
			t.Errorf("emulated %t: %s", emulated, told(c))
		}
	}
}

// TestSlower removes the general slowdown of a slower CPU.
func TestSlower(t *testing.T) {
	w := newWorld(t)
	a, b := w.draw(3), w.draw(3)
	for _, f := range b.Functions {
		times(f.Self.Values, 3)
	}
	for _, l := range b.Layers {
		times(l.NS.Values, 3)
	}
	c := compared(t, a, b)
	expected := 3 * b.CPU.Mean / a.CPU.Mean
	if math.Abs(math.Log(c.Slower/expected)) > 0.2 || len(c.Functions) > 0 {
		t.Errorf("slower by %.2f, not %.2f: %s", c.Slower, expected, told(c))
	}
}
