// Package machine reads facts about a machine that are neither of its storage nor of its network: the distribution and
// its boot loader, the kernel with its build options, arguments, modules and sysctls; processors, memory and its nodes,
// interrupts, PCI functions and their links, the IOMMU, RAID controllers, firmware and emulation; busy processes, QEMU
// guests with their drives, load generators, and limits of control groups.
package machine
