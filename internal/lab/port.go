package lab

// PortTraffic is what went through a port of one end during a test of a network, or of the client of a file server
// during a load, as the kernel counted it there.
type PortTraffic struct {
	// End is the role of the machine, "client" or "server".
	End  string `json:"end"`
	Port string `json:"port"`
	// Expected says that the address under test, or the way to it, is this port's, or one of the ways of a route with
	// several next hops.
	Expected bool     `json:"meant,omitempty"`
	Received PortFlow `json:"received"`
	Sent     PortFlow `json:"sent"`
}

// TransportCalls is how many calls of a mount's client went over one of its connections to the server during a load, as
// the kernel counted them there.
type TransportCalls struct {
	// End is the role of the machine that has the mount.
	End string `json:"end"`
	// Kind is tcp, rdma, udp, local.
	Kind  string `json:"kind"`
	Calls int64  `json:"calls"`
}

// PortFlow is one direction of a port. Bytes have the headers of Ethernet in them.
type PortFlow struct {
	Bytes   int64 `json:"bytes"`
	Packets int64 `json:"packets"`
	Errors  int64 `json:"errors,omitempty"`
	Dropped int64 `json:"dropped,omitempty"`
	// Paused are pause frames, where the driver counts them.
	Paused int64 `json:"paused,omitempty"`
}

// Plus is what was counted in two places.
func (f PortFlow) Plus(o PortFlow) PortFlow {
	return PortFlow{Bytes: f.Bytes + o.Bytes, Packets: f.Packets + o.Packets, Errors: f.Errors + o.Errors,
		Dropped: f.Dropped + o.Dropped, Paused: f.Paused + o.Paused}
}

// Less is what was counted since an earlier reading.
func (f PortFlow) Less(before PortFlow) PortFlow {
	return PortFlow{Bytes: f.Bytes - before.Bytes, Packets: f.Packets - before.Packets,
		Errors:  f.Errors - before.Errors,
		Dropped: f.Dropped - before.Dropped, Paused: f.Paused - before.Paused}
}
