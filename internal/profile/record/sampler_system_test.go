//go:build system && linux

package record

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/profile"
)

// running is a load.
type running struct {
	pid  int
	stop func()
}

// busy starts a load, which ends with the test at the latest.
func busy(t *testing.T, arguments ...string) running {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("all CPUs are sampled by root alone")
	}
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("no fio")
	}
	fio := exec.Command("fio", append([]string{"--name=sampled", "--thread=0", "--time_based", "--runtime=600",
		"--output=/dev/null"}, arguments...)...)
	fio.Dir = t.TempDir()
	if err := fio.Start(); err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		if err := fio.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		_ = fio.Wait() // it was interrupted
	})
	t.Cleanup(stop)
	return running{worker(t, fio.Process.Pid), stop}
}

// worker returns the process that does fio's job, once it exists.
func worker(t *testing.T, fio int) int {
	t.Helper()
	children := filepath.Join("/proc", strconv.Itoa(fio), "task", strconv.Itoa(fio), "children")
	for range 6000 {
		text, err := os.ReadFile(children)
		if err != nil {
			t.Fatal(err)
		}
		if of := strings.Fields(string(text)); len(of) > 0 {
			pid, err := strconv.Atoi(of[0])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("fio has started no job within five minutes")
	return 0
}

func options(t *testing.T, pid int) SampleOptions {
	t.Helper()
	kernel, err := ReadKernelSymbols("/proc")
	if err != nil {
		t.Fatal(err)
	}
	return SampleOptions{Hz: 199, For: 2 * time.Second, Load: func(of int) bool { return of == pid }, Kernel: kernel}
}

func reads(t *testing.T) []string {
	return []string{"--filename=" + filepath.Join(t.TempDir(), "file"), "--size=16m", "--rw=randread", "--bs=4k",
		"--ioengine=psync"}
}

func TestSampleALoad(t *testing.T) {
	pid := busy(t, reads(t)...).pid
	got, missing := Sample(t.Context(), options(t, pid))
	if got == nil {
		t.Fatal(missing)
	}
	if got.Event == "cpu-clock" && !slices.ContainsFunc(missing, func(m profile.Missing) bool {
		return m.What == cycles
	}) {
		t.Errorf("no hardware counter, and nothing is said of it: %+v", missing)
	}
	var total uint64
	contexts := map[profile.Context]uint64{}
	functions := map[string]uint64{}
	for _, s := range got.Stacks {
		total += s.Count
		contexts[s.Context] += s.Count
		if len(s.Frames) == 0 {
			t.Errorf("a stack without functions: %+v", s)
		}
		if s.Context == profile.InLoad {
			if s.Task != "fio" {
				t.Errorf("the load is called %q", s.Task)
			}
			for _, f := range s.Frames {
				functions[f] += s.Count
			}
		}
	}
	t.Logf("%d samples of %s in %.2f s, %d lost, %d throttled, %d stacks; %v", got.Samples, got.Event, got.Seconds,
		got.Lost, got.Throttled, len(got.Stacks), contexts)
	if total != got.Samples || total == 0 {
		t.Errorf("%d samples, and %d in stacks", got.Samples, total)
	}
	if contexts[profile.InLoad] == 0 {
		t.Error("the load was never seen")
	}
	if functions["vfs_read"] == 0 {
		t.Errorf("nobody read: %v", functions)
	}
}

// A load of fio's own code shows in functions of fio. One that reads spends nearly all of its time in the kernel, and
// on a busy machine the few samples may all be there: this one only computes.
func TestSampleAProgram(t *testing.T) {
	pid := busy(t, "--ioengine=cpuio", "--cpuload=100").pid
	o := options(t, pid)
	for range 30 { // until there are samples, however few a busy machine takes
		got, missing := Sample(t.Context(), o)
		if got == nil {
			t.Fatal(missing)
		}
		inLoad := uint64(0)
		for _, s := range got.Stacks {
			if s.Context != profile.InLoad {
				continue
			}
			inLoad += s.Count
			if slices.ContainsFunc(s.Frames, func(f string) bool { return strings.HasPrefix(f, "fio:") }) {
				return
			}
		}
		if inLoad >= 50 {
			t.Fatalf("none of %d samples of the load is in fio: %+v", inLoad, got.Stacks)
		}
	}
	t.Error("the load was hardly seen")
}

// A load that is limited to a rate sleeps, and its stack shows that. No thread is off the CPUs for longer than it is
// followed.
func TestWaitsOfALoad(t *testing.T) {
	pid := busy(t, append(reads(t), "--rate_iops=20")...).pid
	// A busy machine may not wake it in time.
	for range 20 {
		if waitsOf(t, pid) || t.Failed() {
			return
		}
	}
	t.Error("it is never seen asleep")
}

func waitsOf(t *testing.T, pid int) (slept bool) {
	o := options(t, pid)
	got, missing := SampleWaits(t.Context(), o, []int{pid, 1 << 30})
	if got == nil || len(missing) > 0 {
		t.Fatal(missing)
	}
	if got.Threads != 1 {
		t.Errorf("%d threads are followed, want the one that is there", got.Threads)
	}
	var seconds float64
	for _, s := range got.Stacks {
		t.Logf("%d %.3f s %s %s", s.Count, s.Seconds, s.Task, strings.Join(s.Frames, ";"))
		seconds += s.Seconds
		slept = slept || slices.ContainsFunc(s.Frames, func(f string) bool { return strings.Contains(f, "nanosleep") })
		if s.Task != "fio" || s.Count == 0 || s.Seconds < 0 {
			t.Errorf("%+v", s)
		}
	}
	if seconds > got.Seconds {
		t.Errorf("%.3f s off the CPUs in %.3f s", seconds, got.Seconds)
	}
	return slept
}

// Lost records are counted, although the ring is not read for a while. The kernel reports them with the next sample.
func TestLostSamplesAreCounted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("all CPUs are sampled by root alone")
	}
	cpus, err := OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	rs, err := openSampling(clockOf(4999), cpus[:1], os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	defer rs.close()
	if err := rs.enable(); err != nil {
		t.Fatal(err)
	}
	taken := 0
	for range 600 {
		time.Sleep(500 * time.Millisecond)
		rs.drain(func(_ *ring, r record) {
			if r.kind == recordSample {
				taken++
			}
		})
		if rs.lost() > uint64(taken) {
			t.Logf("%d samples, %d lost", taken, rs.lost())
			return
		}
	}
	t.Errorf("in a ring of a page %d samples found room, and %d did not", taken, rs.lost())
}

type refusal struct {
	sampled *profile.Sampled
	waits   *profile.Waits
	missing []profile.Missing
}

// refusals returns the errors for a thread that first gives up some of its privileges. It ends with its goroutine.
func refusals(t *testing.T, givesUp func() syscall.Errno) refusal {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root has something to give up")
	}
	ended := make(chan refusal, 1)
	go func() {
		runtime.LockOSThread()
		defer close(ended)
		if err := givesUp(); err != 0 {
			t.Error(err)
			return
		}
		_, err := ReadKernelSymbols("/proc")
		o := SampleOptions{Hz: 99, For: time.Second, Load: func(int) bool { return false }}
		s, missing := Sample(t.Context(), o)
		w, more := SampleWaits(t.Context(), o, []int{unix.Gettid()})
		missing = append(missing, more...)
		if err != nil {
			missing = append(missing, missingSymbols(err))
		}
		ended <- refusal{s, w, missing}
	}()
	got := <-ended
	for _, m := range got.missing {
		t.Logf("%s: %s; %s", m.What, m.Why, m.Hint)
	}
	if got.sampled != nil || got.waits != nil {
		t.Errorf("it samples: %+v", got)
	}
	return got
}

func (r refusal) says(t *testing.T, what, why, hint string) {
	t.Helper()
	if !slices.ContainsFunc(r.missing, func(m profile.Missing) bool {
		return m.What == what && strings.Contains(m.Why, why) && strings.Contains(m.Hint, hint)
	}) {
		t.Errorf("of %s nobody says %q and %q", what, why, hint)
	}
}

// A user who may not sample gets a message with the reason, and how to allow it.
func TestSampleWithoutPrivileges(t *testing.T) {
	if value, err := strconv.Atoi(sysctl("/proc", "perf_event_paranoid")); err != nil || value < 1 {
		t.Skip("kernel.perf_event_paranoid allows everybody to sample")
	}
	got := refusals(t, func() syscall.Errno {
		_, _, err := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534)
		return err
	})
	got.says(t, samples, "perf_event_paranoid is", "root")
	got.says(t, switches, "perf_event_paranoid is", "root")
	got.says(t, "kernel symbols", "kptr_restrict", "root")
}

// Containers have a filter of system calls that returns this error.
func TestSampleInAContainer(t *testing.T) {
	got := refusals(t, func() syscall.Errno {
		filter := []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_PERF_EVENT_OPEN},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		}
		program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		_, _, err := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
			uintptr(unsafe.Pointer(&program)))
		return err
	})
	got.says(t, samples, "seccomp", "CAP_PERFMON")
	got.says(t, switches, "seccomp", "CAP_PERFMON")
}
