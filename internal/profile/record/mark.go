package record

import "strings"

// mark is what a kernel function implies for the functions that it called: on whose behalf they run.
type mark uint8

const (
	unmarked mark = iota
	// hardirq functions are entered by an interrupt, and softirq functions run work deferred by interrupts.
	hardirq
	softirq
	// threadMark functions run for the thread itself, even if they were entered by an interrupt: it is switched away
	// from, or handles its signals before it continues.
	threadMark
	// start functions are where kernel threads begin, which have no program.
	start
)

// markOf recognises the functions of x86 and arm64 by name, and those that all architectures share. Kernels before 6.9
// give __do_softirq, the first function of its section, the name of the section.
func markOf(function string) mark {
	name, _, _ := strings.Cut(function, ".") // compilers append .part.0, .isra.0
	switch name {
	case "__do_softirq", "handle_softirqs", "do_softirq", "____do_softirq", "do_softirq_own_stack",
		"__softirqentry_text_start", "run_ksoftirqd":
		return softirq
	case "common_interrupt", "__common_interrupt", "asm_common_interrupt", "asm_exc_nmi", "exc_nmi",
		"irq_enter_rcu", "irq_exit_rcu", "__irq_exit_rcu", "irq_exit", "do_IRQ", "ret_from_intr",
		"apic_timer_interrupt", "smp_apic_timer_interrupt", "call_function_interrupt",
		"call_function_single_interrupt", "reschedule_interrupt", "xen_hvm_callback_vector",
		"el1h_64_irq", "el1h_64_irq_handler", "el0t_64_irq", "el0t_64_irq_handler", "el1_interrupt", "el0_interrupt",
		"__el0_irq_handler_common", "el1_irq", "el0_irq", "el0_irq_naked", "gic_handle_irq",
		"__gic_handle_irq_from_irqson", "do_interrupt_handler", "call_on_irq_stack", "__irqentry_text_start",
		"generic_handle_arch_irq", "handle_domain_irq", "generic_handle_domain_irq", "generic_handle_irq",
		"handle_irq_event":
		return hardirq
	case "__schedule", "schedule", "preempt_schedule_irq", "arm64_preempt_schedule_irq",
		"irqentry_exit_to_user_mode", "exit_to_user_mode_prepare", "exit_to_user_mode_loop", "do_notify_resume":
		return threadMark
	case "kthread", "ret_from_fork", "ret_from_fork_asm":
		return start
	}
	if strings.HasPrefix(name, "asm_sysvec_") || strings.HasPrefix(name, "sysvec_") {
		return hardirq
	}
	return unmarked
}

// interruptedStack finds the innermost interrupt in a stack of marks, the innermost first. It returns the kind of
// interrupt, and how many frames belong to it, out to the function that was entered first. The other frames belong to
// the interruptedStack code. Without an interrupt it returns unmarked, and all frames belong to the thread.
func interruptedStack(stack []mark) (mark, int) {
	kind, own := unmarked, len(stack)
	for i, m := range stack {
		switch {
		case m == unmarked:
		case kind == unmarked && (m == hardirq || m == softirq):
			kind, own = m, i+1
		case m == kind:
			own = i + 1
		default:
			return kind, own
		}
	}
	return kind, own
}
