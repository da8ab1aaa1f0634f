// Package printed reads what tools print for people: kubestr, kbench, dbench, YABS, sysbench, elbencho, pgbench,
// ioping, hdparm and dd. A tool's format is data: the lines that have a meaning, what they say of the load, and which
// figures they have. Each format names the source code that prints it.
package printed
