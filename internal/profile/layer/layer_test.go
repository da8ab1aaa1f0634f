package layer

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	l := loaded(t)
	for _, c := range []struct{ function, module, want string }{
		{"qi_submit_sync", "", "dma"},
		{"fq_ring_free", "", "dma"},
		{"cache_tag_flush_iotlb", "", "dma"},
		{"arm_smmu_cmdq_issue_cmdlist", "", "dma"},
		{"iommu_pgsize.isra.0", "", "dma"},
		{"check_bytes_and_report", "", "debugging"},
		{"check_bytes_and_report.cold", "", "debugging"},
		{"set_track_prepare", "", "debugging"},
		{"unwind_next_frame", "", "debugging"},
		{"___slab_alloc", "", "memory"},
		{"kmem_cache_alloc_noprof", "", "generic"},
		{"_raw_spin_lock_irqsave", "", "generic"},
		{"native_queued_spin_lock_slowpath", "", "generic"},
		{"__audit_syscall_entry", "", "lsm"},
		{"bpf_lsm_file_permission", "", "lsm"},
		{"nvme_queue_rq", "nvme", "driver"},
		{"_base_interrupt", "mpt3sas", "driver"},
		{"crypt_convert", "dm_crypt", "encryption"},
		{"crypt_convert", "dm-crypt", "encryption"},
		{"clone_endio", "dm_mod", "mapper"},
		{"xts_crypt", "aesni_intel", "encryption"},
		{"integrity_metadata", "dm_integrity", "checksums"},
		{"bio_integrity_prep", "", "block"},
		{"blk_mq_get_tag", "", "tags"},
		{"sbitmap_prepare_to_wait", "", "tags"},
		{"blk_mq_requeue_request", "", "tags"},
		{"dd_insert_requests", "mq_deadline", "iosched"},
		{"blk_mq_sched_bio_merge", "", "block"},
		{"wbt_wait", "", "throttling"},
		{"aio_read", "", "aio"},
		{"io_schedule", "", "scheduling"},
		{"__x64_sys_io_submit", "", "aio"},
		{"__x64_sys_read", "", "syscall"},
		{"srso_alias_safe_ret", "", "syscall"},
		{"do_sys_openat2", "", "vfs"},
		{"ext4_file_read_iter", "ext4", "filesystem"},
		{"swiotlb_bounce", "", "bounce"},
		{"iowrite16", "", "exits"},
		{"copy_user_generic_string", "", "copying"},
		{"pv_native_safe_halt", "", "idle"},
		{"tcp_sendmsg", "", "network"},
		{"fio:get_io_u", "", "load"},
		{"bash:main", "", "programs"},
		{"block:block_rq_issue", "", "block"},
		{"nvme:nvme_complete_rq", "", "driver"},
		{"no_such_function", "", Other},
		{"no_such_function", "no_such_module", Other},
	} {
		if got := l.Of(c.function, c.module); got != c.want {
			t.Errorf("%s of module %q is in %s, not in %s", c.function, c.module, got, c.want)
		}
	}
}

// TestOfStack follows functions that count for their caller.
func TestOfStack(t *testing.T) {
	l := loaded(t)
	modules := map[string]string{"nvme_queue_rq": "nvme"}
	for _, c := range []struct{ stack, want string }{
		{"entry_SYSCALL_64_after_hwframe;io_submit_one;nvme_queue_rq;_raw_spin_lock", "driver"},
		{"nvme_irq;nvme_unmap_data;dma_unmap_page_attrs;fq_ring_free_locked;_raw_spin_unlock_irqrestore", "dma"},
		{"set_track_prepare;stack_trace_save;arch_stack_walk;unwind_next_frame;orc_find", "debugging"},
		{"bio_alloc_bioset;mempool_alloc;kmem_cache_alloc", "block"},
		{"getname_flags;kmem_cache_alloc;memset_erms", "debugging"},
		{"aio_read;kfree;memset_erms", "debugging"},
		{"filemap_add_folio;get_page_from_freelist;clear_page_erms", "debugging"},
		{"do_exit;free_unref_folios;clear_page_rep", "debugging"},
		{"do_anonymous_page;clear_page_erms", "memory"},
		{"_raw_spin_lock", "generic"},
		{"fio:main;fio:fill_random_buf;libc.so.6:memcpy", "load"},
		{"bash:main;libc.so.6:memcpy", "programs"},
		{"", Other},
	} {
		var frames []string
		if c.stack != "" {
			frames = strings.Split(c.stack, ";")
		}
		if got := l.OfStack(frames, modules); got != c.want {
			t.Errorf("the time of %s counts for %s, not for %s", c.stack, got, c.want)
		}
	}
}

// TestWaitsIn skips the scheduler and locks, and preempted threads.
func TestWaitsIn(t *testing.T) {
	l := loaded(t)
	for stack, want := range map[string]string{
		"blk_mq_submit_bio;__blk_mq_alloc_requests;blk_mq_get_tag;io_schedule;schedule":    "blk_mq_get_tag",
		"do_io_getevents;read_events;schedule":                                             "read_events",
		"vfs_write;ext4_buffered_write_iter;down_write;rwsem_down_write_slowpath;schedule": "ext4_buffered_write_iter",
		"aio_read;bio_alloc_bioset;mempool_alloc;__cond_resched;preempt_schedule_common":   "",
		"aio_read;asm_sysvec_apic_timer_interrupt;irqentry_exit_to_user_mode;schedule":     "",
		"do_syscall_64;syscall_exit_to_user_mode;exit_to_user_mode_prepare;schedule":       "",
		"schedule": "",
	} {
		if got := l.WaitsIn(strings.Split(stack, ";"), nil); got != want {
			t.Errorf("in %s it waits in %q, not in %q", stack, got, want)
		}
	}
}

// TestCoverage counts the functions called by real kernels that belong to no layer.
func TestCoverage(t *testing.T) {
	l := loaded(t)
	calls, in := 0, 0
	for function, counts := range counted(t) {
		id := l.Of(function, "")
		for _, n := range counts {
			calls += n
			if id != Other {
				in += n
			}
		}
	}
	if calls < 1_000_000 || float64(in) < 0.97*float64(calls) {
		t.Errorf("%d of %d calls are in a layer", in, calls)
	}
}

func TestOperations(t *testing.T) {
	seen := map[string]bool{}
	for _, interfaces := range loaded(t).Operations() {
		for _, function := range interfaces {
			if seen[function] {
				t.Errorf("%s begins operations of two interfaces", function)
			}
			seen[function] = true
		}
	}
	if !seen["aio_read"] || !seen["vfs_write"] || !seen["io_read"] {
		t.Errorf("operations are %v", seen)
	}
}

func TestMarks(t *testing.T) {
	l := loaded(t)
	for _, function := range []string{"native_queued_spin_lock_slowpath", "__pv_queued_spin_lock_slowpath"} {
		if !l.Spins(function) {
			t.Errorf("%s does not wait for a lock", function)
		}
	}
	if l.Spins("_raw_spin_lock") {
		t.Error("_raw_spin_lock waits for a lock")
	}
	if !l.Varies("nvme_irq", "nvme") || !l.Varies("scheduler_tick", "") || l.Varies("qi_submit_sync", "") {
		t.Error("interrupts and ticks don't vary, or the flushes of an IOMMU do")
	}
	if !l.Chance("__slab_free", "") || !l.Chance("do_idle", "") || l.Chance("schedule", "") {
		t.Error("what chance decides is not right")
	}
	if !l.Telling("__audit_syscall_entry") || l.Telling("audit_reset_context") {
		t.Error("telling functions are not right")
	}
	if !l.VariesAll("interrupt") || l.VariesAll("driver") {
		t.Error("layers that vary as a whole are not right")
	}
}

func TestName(t *testing.T) {
	for symbol, want := range map[string]string{
		"aio_read":                           "aio_read",
		"get_partial_node.part.0":            "get_partial_node",
		"get_sigframe.constprop.0.isra.0":    "get_sigframe",
		"check_object.cold":                  "check_object",
		"tcp_v4_rcv.llvm.1234567":            "tcp_v4_rcv",
		"fio:td.main":                        "fio:td.main",
		"a.out":                              "a.out",
		".text":                              ".text",
		"blk_mq_rq_ctx_init.isra.0.cold.123": "blk_mq_rq_ctx_init",
	} {
		if got := Name(symbol); got != want {
			t.Errorf("%s is named %s, not %s", symbol, got, want)
		}
	}
}

// TestTitles checks that titles are unique and informative.
func TestTitles(t *testing.T) {
	titles := map[string]bool{}
	for _, one := range loaded(t).All() {
		if titles[one.Title] {
			t.Errorf("two layers are titled %q", one.Title)
		}
		titles[one.Title] = true
		if one.Source != "" && !strings.HasPrefix(one.Source, "https://") {
			t.Errorf("the source of %s is no address", one.ID)
		}
	}
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"layers: [{id: a, title: A, why: w, functions: [x, x]}]":                         "x is there twice",
		"layers: [{id: a, title: A, why: w, functions: [\"*x*\"]}]":                      "write one *",
		"layers: [{id: a, title: A, why: w, functions: [_x*]}]":                          "no underscore",
		"layers: [{id: a, title: A, why: w, functions: [x*, x*]}]":                       "in a, too",
		"layers: [{id: a, title: A, why: w, called: [x]}]":                               "caller>function",
		"layers: [{id: a, title: A, functions: [x]}]":                                    "must be there",
		"layers: [{id: a, title: A, why: w}, {id: a, title: B, why: w}]":                 "layer a: it is there twice",
		"layers: [{id: a, title: A, why: w, modules: [m, m]}]":                           "m is there twice",
		"layers: [{id: a, title: A, why: w, function: [x]}]":                             "field function not found",
		"layers: [{id: a, title: A, why: w, events: [block], programs: [block]}]":        "block is there twice",
		"operations: [{interface: aio, functions: [aio_read], what: one}]\nlayers: []\n": "field what not found",
	} {
		err := empty().add([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", text, err, want)
		}
	}
}

func loaded(t *testing.T) *Layers {
	t.Helper()
	l, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// counted are the calls of real kernels.
func counted(t *testing.T) map[string][]int {
	t.Helper()
	f, err := os.Open("testdata/calls.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	counts := map[string][]int{}
	for s := bufio.NewScanner(f); s.Scan(); {
		function, rest, _ := strings.Cut(s.Text(), "\t")
		for _, field := range strings.Split(rest, "\t") {
			if n, err := strconv.Atoi(field); err == nil {
				counts[function] = append(counts[function], n)
			}
		}
	}
	return counts
}
