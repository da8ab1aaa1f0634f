// Package layer groups functions into the layers that an I/O passes. The groups are data, in the folder layers.
//
// A file has a list of layers. Each has an id, a title, and a reason for its existence; then its members:
//
//	functions: [submit_bio, blk_*, "*_notify"]   names, in which one * stands for anything
//	modules: [nvme, mpt*]                        all functions of kernel modules
//	events: [block]                              static tracepoints, by their system
//	programs: [fio]                              what programs execute themselves
//	passing: [unwind_*]                          functions, too, but in a stack their time counts for who called them
//	called: ["free_*>memset"]                    a function as it is called by another, in a stack
//	varying: [nvme_irq]                          how often these run for an I/O follows from how many are ready together,
//	                                             or from the time that passes: from boot to boot, too
//	chance: [lock_timer_base]                    how often these run is chance, by an order of magnitude
//	telling: [qi_submit_sync]                    those by which engineers know what the layer does
//	spinning: ["*_spin_lock_slowpath"]           where a CPU waits for another's lock
//	passes: true                                 all functions of the layer are so
//	follows: true                                what changes here mostly follows from a change in another layer
//
// For a function the exact name is looked up first, then the module, then the longest pattern. Leading underscores and
// suffixes of compilers (.isra.0, .part.0, .constprop.0, .cold) are not part of a name, unless an exact name has them.
//
// Operations are functions of which a load calls one for each I/O. The functions of one interface are never nested.
package layer
