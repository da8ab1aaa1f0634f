// Package ingest reads other tools' results into runs: fio's JSON and terminal output, bench-fio trees, ClusterBuster
// reports, CrystalDiskMark and KDiskMark text, kubestr, dbench and iperf3.
//
// Information that is missing in a file stays absent: an import never assumes a machine, an order or a zero. Files are
// read one after the other into reused buffers, and results go straight to a Sink, so an import of ten thousand files
// needs no more memory than one of ten.
package ingest
