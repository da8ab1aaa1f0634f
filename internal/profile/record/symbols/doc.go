// Package symbols finds the names of addresses: in the kernel and its modules from /proc/kallsyms, in programs from the
// symbol tables of their files.
package symbols
