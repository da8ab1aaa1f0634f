// Package symbols finds the names of addresses: in the kernel and its modules by /proc/kallsyms, in programs by the
// symbol tables of their files.
package symbols
