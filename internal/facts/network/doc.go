// Package network reads network interfaces and all that is set for them, RDMA ports, routes and the state of TCP,
// and finds the ports that lead from one machine to another. It reads NFS mounts, exports, the counters of both ends,
// and by which connections, cards and ports a mount reaches its server.
package network
