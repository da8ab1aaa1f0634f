// Package ingest reads other tools' results into runs: fio's JSON and terminal output, bench-fio trees, ClusterBuster
// reports, CrystalDiskMark and KDiskMark text, kubestr, dbench and iperf3.
//
// What a file does not say stays absent: an import never assumes a machine, an order or a zero. Files are read one
// after the other into buffers that are used again, and what was read goes straight to a Sink, so an import of ten
// thousand files needs no more memory than one of ten.
package ingest
