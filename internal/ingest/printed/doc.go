// Package printed reads tools' output for people: kubestr, kbench, dbench, YABS, sysbench, elbencho, pgbench, ioping,
// hdparm and dd. A tool's format is data: the meaningful lines, the load's parameters in them, and the figures. Each
// format names the source code that prints it.
package printed
