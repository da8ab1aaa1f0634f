// Package kernel reads what there is to know of the running system's software: the distribution and its boot loader,
// the kernel with its build options, arguments, modules and their parameters, and sysctls.
package kernel
