package counters

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Kernel is what a kernel has counted since it was started, all CPUs together, by names like "interrupts.TLB",
// "softirqs.RCU", "vmstat.pgfault", "stat.ctxt". Each only ever grows. What can't be read is absent.
type Kernel map[string]float64

const softIRQsPath = "/proc/softirqs"

// ReadKernel reads a machine's in one round trip.
func ReadKernel(ctx context.Context, t host.Target) (Kernel, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := time.Now()
	files, err := t.ReadFiles(ctx, machine.InterruptsPath, softIRQsPath, vmStatPath, statPath)
	if err != nil {
		return nil, &lab.Error{What: "can't read what the kernel counts", Target: host.RemoteName(t), Err: err}
	}
	all := Kernel{lab.CounterSeconds: float64(now.UnixNano()) / float64(time.Second)}
	all.addInterrupts(files[machine.InterruptsPath].Data)
	all.addSoftIRQs(files[softIRQsPath].Data)
	all.addVMStat(files[vmStatPath].Data)
	all.addStat(files[statPath].Data)
	if cpu, cores := parseStat(files[statPath].Data); len(cores) > 0 {
		all[lab.CounterBusy] = cpu.User + cpu.Nice + cpu.System + cpu.IRQ + cpu.SoftIRQ
	}
	return all, nil
}

// Since returns the increase of each counter since an earlier reading of the same boot. Counters without an increase
// are absent.
func (c Kernel) Since(before Kernel) map[string]float64 {
	moved := map[string]float64{}
	for name, now := range c {
		if more := now - before[name]; more > 0 {
			moved[name] = more
		}
	}
	return moved
}

// addInterrupts reads /proc/interrupts: a column for each online CPU, then a description. Numbers of interrupts depend
// on the platform and differ between boots, so numbered interrupts are counted by the names of their drivers, all
// queues of a device together. The others have names instead of numbers.
//
//	           CPU0       CPU1
//	 36:   11695392    1831544 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
//	TLB:    4782002    4853885   TLB shootdowns
//	ERR:          0
func (c Kernel) addInterrupts(data []byte) {
	head, rest, _ := bytes.Cut(data, []byte("\n"))
	cpus := len(bytes.Fields(head))
	for line := range bytes.Lines(rest) {
		label, columns, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		sum, others := sumOf(bytes.Fields(columns), cpus)
		name := string(bytes.TrimSpace(label))
		if _, err := strconv.Atoi(name); err == nil {
			if len(others) == 0 {
				continue
			}
			name = device(string(others[len(others)-1]))
		}
		c["interrupts."+name] += sum
	}
}

// device of an interrupt, without the number of its queue: nvme0q12 is nvme0q, mlx5_comp3@pci:0000:17:00.0 is
// mlx5_comp.
func device(name string) string {
	name, _, _ = strings.Cut(name, "@")
	return strings.TrimRight(strings.TrimRight(name, "0123456789"), "-._")
}

// sumOf the columns of so many CPUs, and what follows behind them.
func sumOf(fields [][]byte, cpus int) (sum float64, others [][]byte) {
	for i, field := range fields {
		n, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil || i >= cpus {
			return sum, fields[i:]
		}
		sum += float64(n)
	}
	return sum, nil
}

// addSoftIRQs reads /proc/softirqs, a column for each possible CPU.
//
//	              CPU0       CPU1
//	TIMER:    1217210    1195420
//	  RCU:     917120     922210
func (c Kernel) addSoftIRQs(data []byte) {
	for line := range bytes.Lines(data) {
		if label, columns, ok := bytes.Cut(line, []byte(":")); ok {
			fields := bytes.Fields(columns)
			c["softirqs."+string(bytes.TrimSpace(label))], _ = sumOf(fields, len(fields))
		}
	}
}

// addVMStat reads the counters of /proc/vmstat. It skips present amounts, whose names begin with nr_. Source:
// mm/vmstat.c of the kernel.
//
//	nr_free_pages 1029431
//	pgfault 93826421
//	numa_hit 51240712
func (c Kernel) addVMStat(data []byte) {
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) != 2 || bytes.HasPrefix(fields[0], []byte("nr_")) {
			continue
		}
		if n, err := strconv.ParseUint(string(fields[1]), 10, 64); err == nil {
			c["vmstat."+string(fields[0])] = float64(n)
		}
	}
}

// addStat reads two lines of /proc/stat: context switches, and how many processes and threads were made.
//
//	ctxt 115315314
//	btime 1795350000
//	processes 815432
func (c Kernel) addStat(data []byte) {
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) != 2 || string(fields[0]) != "ctxt" && string(fields[0]) != "processes" {
			continue
		}
		if n, err := strconv.ParseUint(string(fields[1]), 10, 64); err == nil {
			c["stat."+string(fields[0])] = float64(n)
		}
	}
}
