package factor

import (
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/factor/scheme"
)

// Schemes are all kinds of factors.
func Schemes() []scheme.Scheme {
	return []scheme.Scheme{
		sysctlScheme(),
		sysfsScheme(),
		moduleScheme(),
		mount.Option(),
		queueScheme(),
		nicScheme(),
		qdiscScheme(),
		bundleScheme(),
		cpuScheme(),
		irqScheme(),
		envScheme(),
		jobScheme(),
		pinScheme(),
		execScheme(),
		cmdlineScheme(),
		kernelScheme(),
		guestScheme(),
		podScheme(),
		commitScheme(),
		optionScheme(),
	}
}
