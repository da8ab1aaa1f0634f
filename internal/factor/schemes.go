package factor

import (
	"github.com/headroom/headroom/internal/factor/adapter"
	"github.com/headroom/headroom/internal/factor/boot"
	"github.com/headroom/headroom/internal/factor/cpu"
	"github.com/headroom/headroom/internal/factor/kernelfile"
	"github.com/headroom/headroom/internal/factor/load"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/factor/scheme"
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
