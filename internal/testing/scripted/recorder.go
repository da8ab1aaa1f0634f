package scripted

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/profile"
)

// kernelFolder holds what recorders create in the kernel: a folder each, while they record.
const kernelFolder = "/sys/kernel/"

// record runs headroom as the recorder of a load. Its records of the next load are always the same.
func (m *Machine) record(l *Load) Result {
	var r profile.Request
	if err := json.Unmarshal(l.Stdin, &r); err != nil {
		return Result{Stderr: "headroom: can't read the request to record on standard input\n", Exit: 1}
	}
	// The kernel counts 2,000 I/Os of 4 KiB a second.
	counted := func(during time.Duration) *profile.Counted {
		return &profile.Counted{Seconds: during.Seconds(), Calls: 10, CallBytes: 1000,
			DeviceBytes: uint64(2000 * during.Seconds() * (4 << 10))}
	}
	found := profile.Recording{Kernel: m.Get("/proc/sys/kernel/osrelease"), Architecture: "x86_64", CPUs: 2}
	if r.Part == profile.Calls {
		found.Traced = &profile.Traced{Seconds: r.Trace.Seconds(), Bursts: 6, Functions: true,
			Counted: counted(r.Trace),
			Calls: []profile.CallCount{{Function: "aio_read", Context: profile.InLoad, Count: 1000},
				{Function: "aio_write", Context: profile.InLoad, Count: 1000},
				{Function: "blk_mq_submit_bio", Context: profile.InLoad, Count: 2000},
				{Function: "nvme_irq", Context: profile.InHardirq, Count: 1000}}}
		for _, number := range r.Devices {
			found.Traced.Completed = append(found.Traced.Completed, profile.Completed{Device: number, Requests: 2000,
				Bytes: 2000 << 12})
		}
	} else {
		found.Sampled = &profile.Sampled{Event: "cpu-clock", Hz: r.Hz, Seconds: r.Sample.Seconds(), Samples: 200,
			Counted: counted(r.Sample),
			Stacks: []profile.Stack{{Context: profile.InLoad, Task: "fio", Count: 120,
				Frames: []string{"fio:main", "io_submit_one", "aio_read", "blk_mq_submit_bio"}},
				{CPU: 1, Context: profile.InIdle, Task: "swapper/1", Frames: []string{"do_idle"}, Count: 80}}}
	}
	text, err := json.Marshal(found)
	if err != nil {
		return Result{Err: err}
	}
	made := kernelFolder + r.Owner
	m.Folder(made)
	return Result{Duration: time.Second + r.Delay + r.Sample + r.Follow + r.Trace, Stdout: string(text) + "\n",
		EarlyMessages: profile.Ready + "\n", Stderr: profile.Done + "\n", ended: func() { m.Remove(made) }}
}

// headroom removes what recorders left: headroom profile record --clean OWNERS.
func (m *Machine) headroom(argv []string) (Output, error) {
	if len(argv) != 5 || argv[1] != "profile" || argv[2] != "record" || argv[3] != "--clean" {
		return Output{}, m.unexpectedCommand(argv)
	}
	for _, name := range m.Names(kernelFolder) {
		if strings.HasPrefix(name, argv[4]) {
			m.Remove(kernelFolder + name)
		}
	}
	return Output{}, nil
}
