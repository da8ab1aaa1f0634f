package factor

import (
	"headroom/internal/factor/adapter"
	"headroom/internal/factor/boot"
	"headroom/internal/factor/cpu"
	"headroom/internal/factor/kernelfile"
	"headroom/internal/factor/load"
	"headroom/internal/factor/mount"
	"headroom/internal/factor/scheme"
)

// Schemes are all kinds of factors.
func Schemes() []scheme.Scheme {
	return []scheme.Scheme{
		kernelfile.Sysctl(),
		kernelfile.Sysfs(),
		kernelfile.Module(),
		mount.Option(),
		kernelfile.Queue(),
		adapter.NIC(),
		adapter.Qdisc(),
		kernelfile.Bundle(),
		cpu.CPU(),
		cpu.IRQ(),
		load.Env(),
		load.Job(),
		load.Pin(),
		execScheme(),
		boot.Cmdline(),
		boot.Kernel(),
		boot.Guest(),
		boot.Pod(),
		load.Commit(),
		boot.Option(),
	}
}
