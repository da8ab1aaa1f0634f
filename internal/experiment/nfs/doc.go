// Package nfs measures the ways to the storage of an NFS server, one after the other: on the server itself, over TCP
// and RDMA, by one path and by several.
package nfs
