// Package nfs reads NFS mounts, exports, the counters of both ends, and by which connections, cards and ports a
// mount reaches its server.
package nfs
