// Package hardware reads what the machine is made of: processors, memory and its nodes, interrupts, PCI functions
// and their links, the IOMMU, RAID controllers, firmware, and what emulates all that.
package hardware
