package counters

import (
	"maps"
	"testing"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

func TestKernelCounters(t *testing.T) {
	counters := Kernel{}
	counters.addInterrupts([]byte(`            CPU0       CPU1       
  1:          9          0   IO-APIC   1-edge      i8042
 36:         10          5 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 37:          2          1 PCI-MSIX-0000:00:02.0   2-edge      virtio1-req.1
 99:          7          7
130:          0       4211 IR-PCI-MSIX-0000:17:00.0    3-edge      mlx5_comp12@pci:0000:17:00.0
NMI:          0          0   Non-maskable interrupts
TLB:    4782002    4853885   TLB shootdowns
ERR:          3
`))
	counters.addSoftIRQs(
		[]byte("                    CPU0       CPU1       \n          HI:          1          0\n      " +
			"   RCU:     917120     922210\n"))
	counters.addVMStat([]byte("nr_free_pages 1029431\npgfault 93826421\nnuma_hit 51240712\nnonsense\n"))
	counters.addStat([]byte("cpu  4369 0 2498 191747 574 0 90 47 0 0\nintr 1 2 3\nctxt 115315314\nbtime 1795350000\n" +
		"processes 815432\n"))
	want := Kernel{
		"interrupts.i": 9, "interrupts.virtio1-req": 18, "interrupts.mlx5_comp": 4211, "interrupts.NMI": 0,
		"interrupts.TLB": 9635887, "interrupts.ERR": 3,
		"softirqs.HI": 1, "softirqs.RCU": 1839330, "vmstat.pgfault": 93826421, "vmstat.numa_hit": 51240712,
		"stat.ctxt": 115315314, "stat.processes": 815432,
	}
	if !maps.Equal(counters, want) {
		t.Errorf("%v\nwant %v", counters, want)
	}
	if moved := counters.Since(Kernel{"stat.ctxt": 115315300, "softirqs.HI": 1, "softirqs.RCU": 1839331,
		"vmstat.pgfault": 93826421}); moved["stat.ctxt"] != 14 ||
		moved["stat.processes"] != 815432 || moved["softirqs.RCU"] != 0 || len(moved) != 8 {
		t.Errorf("%v", moved)
	}
}

// What this kernel counts goes up while something is done.
func TestKernelCountersOfThisKernel(t *testing.T) {
	here := host.NewLocal(t.TempDir())
	before, err := ReadKernel(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	after, err := ReadKernel(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	moved := after.Since(before)
	if moved[lab.CounterSeconds] <= 0 || moved[lab.CounterSeconds] > 60 {
		t.Errorf("%v seconds", moved[lab.CounterSeconds])
	}
	if after["vmstat.pgfault"] == 0 || after["stat.ctxt"] == 0 || after[lab.CounterBusy] == 0 {
		t.Errorf("%v", after)
	}
}

func FuzzKernelCounters(f *testing.F) {
	f.Add("  CPU0\nTLB: 1 shootdowns\n 5: 1 a b\n")
	f.Add("CPU0 CPU1\n: \n1:\n")
	f.Fuzz(func(t *testing.T, text string) {
		counters := Kernel{}
		counters.addInterrupts([]byte(text))
		counters.addSoftIRQs([]byte(text))
		counters.addVMStat([]byte(text))
		counters.addStat([]byte(text))
		for name, n := range counters {
			if !(n >= 0) {
				t.Errorf("%s %v", name, n)
			}
		}
	})
}
