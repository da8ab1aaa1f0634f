package machine

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

// InterruptsPath has a line for each interrupt with a count for each CPU: tens of megabytes on a machine with a
// thousand CPUs and as many interrupts. It is read once for all collectors.
const InterruptsPath = "/proc/interrupts"

const (
	// MaxInterrupts bounds how many files of one interrupt each are read for one class of devices: more than 128
	// controllers with 128 queues have.
	MaxInterrupts = 1 << 14
	// maxInterruptNames bounds the lines that are kept of a damaged file, maxInterruptText what is read of it.
	maxInterruptNames = 1 << 17
	maxInterruptText  = 256 << 20
)

// Interrupts is what /proc/interrupts tells.
type Interrupts struct {
	// Names are the texts at the end of the lines, by the interrupt's number. Interrupts without a number (NMI, LOC)
	// are left out.
	Names map[int]string
	// Taken are the counts since boot for each online CPU, added up by owner; nil for an owner whose interrupts have no
	// line.
	Taken [][]uint64
	// Failed is why the file, or a part of it, could not be read.
	Failed error
}

// ReadInterrupts reads the file. owners maps an interrupt to the owners, of n, that get its counts.
func ReadInterrupts(r collect.Reader, owners map[int][]int, n int) Interrupts {
	file, err := r.Open(InterruptsPath)
	if err != nil {
		return Interrupts{Taken: make([][]uint64, n), Failed: err}
	}
	defer file.Close()
	return parseInterrupts(io.LimitReader(file, maxInterruptText), owners, n)
}

// parseInterrupts reads lines of an interrupt's number, its count on each online thread, and its description. It keeps
// at most one line of the text. Shared interrupts have several names with commas between them. Source:
// proc_interrupts(5).
//
//	           CPU0       CPU1
//	 24:          1          0  IO-APIC   5-edge      ACPI:Ged
//	 36:          0     146740  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
//	110:    4821734          0  PCI-MSIX-0000:41:00.0   1-edge      mlx5_comp0@pci:0000:41:00.0
//	NMI:          0          0   Non-maskable interrupts
func parseInterrupts(in io.Reader, owners map[int][]int, n int) Interrupts {
	t := Interrupts{Names: map[int]string{}, Taken: make([][]uint64, n)}
	buffered := bufio.NewReaderSize(in, 1<<18)
	columns := -1
	for {
		line, err := buffered.ReadSlice('\n')
		if columns < 0 {
			columns = min(bytes.Count(line, []byte("CPU")), MaxCPUs)
		} else {
			t.add(line, owners, columns)
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a line that is longer than any real one
			_, err = buffered.ReadSlice('\n')
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Failed = err
			}
			return t
		}
	}
}

func (t *Interrupts) add(line []byte, owners map[int][]int, columns int) {
	number, rest, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return
	}
	irq, err := strconv.Atoi(string(bytes.TrimSpace(number)))
	if err != nil || irq < 0 {
		return
	}
	rest = bytes.TrimSpace(rest)
	if i := bytes.LastIndex(rest, []byte("  ")); i >= 0 && len(t.Names) < maxInterruptNames {
		t.Names[irq] = string(bytes.TrimSpace(rest[i:]))
	}
	if len(owners[irq]) == 0 {
		return
	}
	for _, i := range owners[irq] {
		if t.Taken[i] == nil {
			t.Taken[i] = make([]uint64, columns)
		}
	}
	column := 0
	for field := range bytes.FieldsSeq(rest) {
		if column == columns {
			break
		}
		count, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			break
		}
		for _, i := range owners[irq] {
			t.Taken[i][column] += count
		}
		column++
	}
}

// FunctionInterrupts returns the numbers of a PCI function's interrupts: the MSI interrupts, or the interrupt of its
// pin.
//
//	/sys/bus/pci/devices/0000:41:00.0/msi_irqs:  110  111  112
//	/sys/bus/pci/devices/0000:41:00.0/irq:       110
//
// Source: the kernel's Documentation/ABI/testing/sysfs-bus-pci.
func FunctionInterrupts(r collect.Reader, address string) []int {
	dir := "/sys/bus/pci/devices/" + address
	var found []int
	for _, name := range r.Names(dir + "/msi_irqs") {
		if irq, err := strconv.Atoi(name); err == nil && irq > 0 {
			found = append(found, irq)
		}
	}
	if irq, err := r.Number(dir + "/irq"); len(found) == 0 && err == nil && irq > 0 && irq < 1<<31 {
		found = []int{int(irq)}
	}
	slices.Sort(found)
	return found
}

const AffinitySource = "/proc/irq/*/smp_affinity_list"

// Affinities are the CPUs that each of some interrupts may go to, without those that are unknown: an interrupt can be
// gone by now. There is an error only when none is known.
func Affinities(r collect.Reader, irqs []int) ([]CPUSet, error) {
	var found []CPUSet
	var failed error
	seen := map[string]CPUSet{} // often all interrupts may go anywhere
	for _, irq := range irqs {
		text, err := r.Text("/proc/irq/" + strconv.Itoa(irq) + "/smp_affinity_list")
		if err != nil {
			failed = err
			continue
		}
		set, ok := seen[text]
		if !ok {
			if set, err = ParseCPUList(text); err != nil {
				failed = err
				continue
			}
			seen[text] = set
		}
		found = append(found, set)
	}
	if len(found) > 0 {
		return found, nil
	}
	return nil, failed
}

// InterruptCPUs counts the CPUs that any of some interrupts may go to.
func InterruptCPUs(key string, sets []CPUSet, online CPUSet) lab.Fact {
	var all CPUSet
	for _, set := range sets {
		all = all.with(set)
	}
	if len(online) > 0 {
		all = all.And(online)
	}
	return collect.Whole(key, int64(all.Count()), AffinitySource)
}
