package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testMachine has a kernel whose functions are 0x100 bytes each, and processes: 7 is a load, 9 is not.
func testMachine(t *testing.T, functions ...string) (*stacks, map[string]uint64) {
	t.Helper()
	var table strings.Builder
	at := map[string]uint64{}
	for i, name := range functions {
		if at[name] == 0 {
			at[name] = 0xffffffff81000000 + uint64(i)*0x100
			fmt.Fprintf(&table, "%x t %s\n", at[name], name)
		}
	}
	kernel, err := ParseKernelSymbols(strings.NewReader(table.String()))
	if err != nil {
		t.Fatal(err)
	}
	proc := t.TempDir()
	for pid, name := range map[string]string{"7": "fio", "9": "schedule", "11": "kworker/0:1H-kblockd"} {
		if err := os.Mkdir(filepath.Join(proc, pid), 0o755); err != nil {
			t.Fatal(err)
		}
		maps := "400000-500000 r-xp 00000000 00:00 0 \n"
		for file, text := range map[string]string{"comm": name + "\n", "maps": maps} {
			if err := os.WriteFile(filepath.Join(proc, pid, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return newStacks(proc, SampleOptions{Kernel: kernel, Load: func(pid int) bool { return pid == 7 }}), at
}

// Stacks that were sampled on machines: x86 of 5.10, 6.1, 6.12 and 6.18, arm64 of 6.1.
func TestContexts(t *testing.T) {
	for _, c := range []struct {
		pid           int
		program       bool
		stack         string // from the outermost
		context, task string
		from          string // the first that is kept
	}{
		{7, true, "entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_pread64 vfs_read", "load",
			"fio", "anonymous:?"},
		{9, true, "entry_SYSCALL_64_after_hwframe do_syscall_64 vfs_read", "task", "schedule", "anonymous:?"},
		{7, true, "", "load", "fio", "anonymous:?"},
		{11, false, "ret_from_fork_asm ret_from_fork kthread worker_thread process_one_work wb_workfn", "kworker",
			"kworker", "ret_from_fork_asm"},
		{0, false, "common_startup_64 start_secondary cpu_startup_entry do_idle default_idle pv_native_safe_halt",
			"idle",
			"swapper", "common_startup_64"},
		{0, false, "common_startup_64 start_secondary cpu_startup_entry schedule_idle __schedule", "idle", "swapper",
			"common_startup_64"},
		{0, false, "start_secondary cpu_startup_entry do_idle pv_native_safe_halt asm_common_interrupt " +
			"common_interrupt __common_interrupt handle_edge_irq handle_irq_event nvme_irq", "hardirq", "hardirq",
			"asm_common_interrupt"},
		{0, false, "do_idle default_idle asm_sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt __irq_exit_rcu " +
			"handle_softirqs blk_done_softirq", "softirq", "softirq", "handle_softirqs"},
		{7, true, "vfs_read asm_common_interrupt common_interrupt irq_exit_rcu __softirqentry_text_start net_rx_action",
			"softirq", "softirq", "__softirqentry_text_start"},
		{7, true, "vfs_read asm_common_interrupt common_interrupt irq_exit_rcu", "hardirq", "hardirq",
			"asm_common_interrupt"},
		{7, true, "tcp_sendmsg __local_bh_enable_ip do_softirq.part.0 __do_softirq net_rx_action " +
			"asm_common_interrupt common_interrupt vring_interrupt", "hardirq", "hardirq", "asm_common_interrupt"},
		{7, true, "tcp_sendmsg __local_bh_enable_ip do_softirq.part.0 __do_softirq net_rx_action", "softirq", "softirq",
			"do_softirq.part.0"},
		{9, false, "ret_from_fork kthread smpboot_thread_fn run_ksoftirqd __do_softirq rcu_core", "softirq", "softirq",
			"run_ksoftirqd"},
		{7, true, "asm_sysvec_reschedule_ipi irqentry_exit_to_user_mode schedule __schedule finish_task_switch.isra.0",
			"load", "fio", "asm_sysvec_reschedule_ipi"},
		{7, true, "vfs_read asm_sysvec_apic_timer_interrupt irqentry_exit preempt_schedule_irq __schedule", "load",
			"fio",
			"anonymous:?"},
		{7, true, "asm_exc_page_fault exc_page_fault handle_mm_fault", "load", "fio", "anonymous:?"},
		{0, false, "do_idle default_idle_call arch_cpu_idle el1h_64_irq el1h_64_irq_handler el1_interrupt " +
			"do_interrupt_handler call_on_irq_stack gic_handle_irq nvme_irq", "hardirq", "hardirq", "el1h_64_irq"},
		{7, true, "el0t_64_irq el0t_64_irq_handler __el0_irq_handler_common el0_interrupt __irq_exit_rcu " +
			"do_softirq_own_stack call_on_irq_stack ____do_softirq __do_softirq blk_done_softirq", "softirq", "softirq",
			"____do_softirq"},
		{0, true, "entry_SYSCALL_64_after_hwframe do_syscall_64", "task", "?", "entry_SYSCALL_64_after_hwframe"},
		{0, false, "ret_from_fork kthread nvme_poll", "kthread", "?", "ret_from_fork"},
		{9, false, "entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_exit_group do_exit", "task", "schedule",
			"entry_SYSCALL_64_after_hwframe"},
		{9, false, "ret_from_fork kthread irq_thread nvme_irq", "kthread", "schedule", "ret_from_fork"},
	} {
		functions := strings.Fields(c.stack)
		s, at := testMachine(t, append(functions, "end")...)
		from := &sample{pid: c.pid, tid: c.pid, inProgram: c.program}
		for i := len(functions) - 1; i >= 0; i-- {
			from.kernel = append(from.kernel, at[functions[i]]+1)
		}
		if c.program {
			from.user = []uint64{0x400010, 0xdead}
		}
		s.of(3, from).count++
		all, total := s.sampled()
		if got := all[0]; total != 1 || string(got.Context) != c.context || got.Task != c.task || got.CPU != 3 ||
			got.Frames[0] != c.from || len(functions) > 0 && got.Frames[len(got.Frames)-1] !=
			functions[len(functions)-1] {
			t.Errorf("%q of %d: %+v; want %s, %s from %s", c.stack, c.pid, got, c.context, c.task, c.from)
		}
	}
}

func TestNothingIsCalledNothing(t *testing.T) {
	s, _ := testMachine(t, "vfs_read")
	for _, c := range []struct {
		sample
		want string
	}{
		{sample{pid: 7, tid: 7, kernel: []uint64{0x10}}, "kernel:?"},
		{sample{pid: 7, tid: 7}, "kernel:?"},
		{sample{pid: 7, tid: 7, inProgram: true, user: []uint64{0x10}}, "fio:?"},
		{sample{pid: 99, tid: 99, inProgram: true}, "?:?"},
		{sample{pid: 9, tid: 9, inGuest: true}, "guest:?"},
	} {
		found := s.of(0, &c.sample)
		if got := s.frames.names[found.numbers[0]]; got != c.want || len(found.numbers) != 1 {
			t.Errorf("%+v is %s, want %s", c.sample, got, c.want)
		}
	}
}

// If there are too many different stacks, further ones lose functions, but are counted.
func TestStacksAreBounded(t *testing.T) {
	s, at := testMachine(t, "vfs_read", "ext4_read", "vfs_write")
	s.most = 2
	many := func(cpu int, address uint64) *countedStack {
		return s.of(cpu, &sample{pid: 7, tid: 7, kernel: []uint64{at["ext4_read"], at["vfs_read"] + 9},
			inProgram: true, user: []uint64{address}})
	}
	for i, want := range []int{3, 3, 2, 2, 1, 1} {
		c := many(i, 0x400000)
		c.count++
		if len(c.numbers) != want || s.frames.names[c.numbers[0]] != "ext4_read" {
			t.Errorf("stack %d has %d functions, want %d", i, len(c.numbers), want)
		}
	}
	if c := many(4, 0x400000); c.count != 1 || many(0, 0x400000) == c {
		t.Errorf("%+v is not found again", c)
	}
	if _, total := s.sampled(); total != 6 {
		t.Errorf("%d are counted, want 6", total)
	}
}

// Stacks of a program differ by address, and are merged if these have one name.
func TestStacksOfOneName(t *testing.T) {
	s, at := testMachine(t, "vfs_read", "vfs_write")
	for i := range 6 {
		from := &sample{pid: 7, tid: 7, kernel: []uint64{at["vfs_read"]}, inProgram: true,
			user: []uint64{0x400000 + uint64(i%3)}}
		s.of(i/5, from).count++
	}
	if len(s.counts) != 4 {
		t.Errorf("%d stacks by address, want 4", len(s.counts))
	}
	got, total := s.sampled()
	want := "[{0 load fio [anonymous:? vfs_read] 5} {1 load fio [anonymous:? vfs_read] 1}]"
	if fmt.Sprint(got) != want || total != 6 {
		t.Errorf("%v, %d; want %s", got, total, want)
	}
}

// The kernel's information about threads: a name, an executed program, a new thread.
func TestThreadsAreTold(t *testing.T) {
	s, _ := testMachine(t, "vfs_read")
	tell := func(r []byte, kind uint32, misc uint16) { s.told(record{kind, misc, r[header:]}) }
	name := s.threads.name
	if got := name(7); got != "fio" {
		t.Error(got)
	}
	tell(written(recordComm, 0, uint32(7), uint32(7), "fio-renamed"), recordComm, 0)
	if got := name(7); got != "fio-renamed" {
		t.Error(got)
	}
	tell(written(recordFork, 0, uint32(12), uint32(7), uint32(13), uint32(7), uint64(0)), recordFork, 0)
	if got := name(13); got != "fio-renamed" {
		t.Error(got)
	}
	loads := 0
	s.threads.load = func(int) bool { loads++; return loads > 1 }
	for range 2 {
		if s.threads.ofLoad(20) {
			t.Error("a process is of the load before it executes it")
		}
	}
	if loads != 1 {
		t.Errorf("a process is asked about %d times", loads)
	}
	tell(written(recordComm, miscExec, uint32(20), uint32(20), "fio"), recordComm, miscExec)
	if !s.threads.ofLoad(20) {
		t.Error("a process that executes the load is none of it")
	}
}

func TestWaits(t *testing.T) {
	s, at := testMachine(t, "io_schedule", "schedule")
	w := &waiter{}
	tell := func(kind uint32, misc uint16, fields ...any) {
		if !w.take(record{kind, misc, written(kind, misc, fields...)[header:]}, s) {
			t.Errorf("%d %v can't be read", kind, fields)
		}
	}
	leaves := func(at64 uint64, functions ...string) {
		fields := []any{uint32(7), uint32(7), at64, uint64(1 + len(functions)), uint64(inKernel)}
		for _, f := range functions {
			fields = append(fields, at[f]+1)
		}
		tell(recordSample, 1, fields...)
		tell(recordSwitch, miscOut, uint32(7), uint32(7), at64+1)
	}
	tell(recordSwitch, 0, uint32(7), uint32(7), uint64(50)) // it was waiting before
	leaves(1e9, "schedule", "io_schedule")
	tell(recordSwitch, 0, uint32(7), uint32(7), uint64(3e9))
	leaves(4e9, "schedule", "io_schedule")
	tell(recordSwitch, 0, uint32(7), uint32(7), uint64(5e9))
	leaves(6e9, "schedule")
	tell(recordLost, 0, uint64(1), uint64(3)) // its state is unknown then
	tell(recordSwitch, 0, uint32(7), uint32(7), uint64(9e9))
	leaves(20e9, "schedule")
	w.ends(20.5e9)
	got := fmt.Sprint(s.waited())
	if want := "[{fio [io_schedule schedule] 2 3} {fio [schedule] 1 0.5}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if w.take(record{recordSample, 0, nil}, s) {
		t.Error("a sample of nothing is read")
	}
}
