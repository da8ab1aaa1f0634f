package lab

// PortTraffic is the traffic of a network port during a load, as the kernel of its machine counted it. The machine is
// an end of a network test, or the client of a file server.
type PortTraffic struct {
	// End is the role of the machine, "client" or "server".
	End  string `json:"end"`
	Port string `json:"port"`
	// Expected is true if the traffic should use this port: it has the address under test or carries the route to it,
	// or one next hop of a route with several.
	Expected bool     `json:"meant,omitempty"`
	Received PortFlow `json:"received"`
	Sent     PortFlow `json:"sent"`
}

// TransportCalls is how many RPC calls of a mount went over one of its connections to the server during a load, as the
// client's kernel counted them.
type TransportCalls struct {
	// End is the role of the machine that has the mount.
	End string `json:"end"`
	// Kind is tcp, rdma, udp, local.
	Kind  string `json:"kind"`
	Calls int64  `json:"calls"`
}

// PortFlow is the traffic of one direction of a port. Bytes include Ethernet headers.
type PortFlow struct {
	Bytes   int64 `json:"bytes"`
	Packets int64 `json:"packets"`
	Errors  int64 `json:"errors,omitempty"`
	Dropped int64 `json:"dropped,omitempty"`
	// Paused are pause frames, where the driver counts them.
	Paused int64 `json:"paused,omitempty"`
}

// Plus returns the sum of two flows.
func (f PortFlow) Plus(o PortFlow) PortFlow {
	return PortFlow{Bytes: f.Bytes + o.Bytes, Packets: f.Packets + o.Packets, Errors: f.Errors + o.Errors,
		Dropped: f.Dropped + o.Dropped, Paused: f.Paused + o.Paused}
}

// Less returns the traffic since an earlier reading.
func (f PortFlow) Less(before PortFlow) PortFlow {
	return PortFlow{Bytes: f.Bytes - before.Bytes, Packets: f.Packets - before.Packets,
		Errors:  f.Errors - before.Errors,
		Dropped: f.Dropped - before.Dropped, Paused: f.Paused - before.Paused}
}
