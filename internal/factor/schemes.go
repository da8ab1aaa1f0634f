package factor

// Schemes are all kinds of factors.
func Schemes() []Scheme {
	return []Scheme{
		sysctlScheme(),
		sysfsScheme(),
		moduleScheme(),
		mountScheme(),
		queueScheme(),
		adapterScheme(),
		disciplineScheme(),
		bundleScheme(),
		cpuScheme(),
		interruptScheme(),
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
