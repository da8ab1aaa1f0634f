package mount

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// The transports of NFS, as its option proto names them.
const (
	OverTCP  = "tcp"
	OverRDMA = "rdma"
)

// OfStage is the mount of a stage of headroom nfs, which goes over a transport and to addresses of the server.
func OfStage(o lab.NFS, transport string, addresses []netip.Addr) NFS {
	options := []string{"vers=" + o.Version, "proto=" + transport}
	if transport == OverRDMA {
		options = append(options, "port="+strconv.Itoa(o.RDMAPort))
	}
	if len(addresses) > 1 {
		options = append(options, "max_connect="+strconv.Itoa(len(addresses)))
	}
	for _, typed := range o.Options {
		options = append(options, strings.Split(typed, ",")...)
	}
	return NFS{Addresses: addresses, Path: o.Path, Options: options}
}

// StageName is what a stage is called in every table, by what it goes over.
func StageName(transport string, paths int) string {
	if paths > 1 {
		return strings.ToUpper(transport) + " multipath"
	}
	return strings.ToUpper(transport) + " single path"
}
