package results

// The levels by which the arms of a ladder of storage say which rung they measured, from 1 at the bottom, what it is,
// and which rung it lies on.
const (
	RungLevel  = "rung"
	KindLevel  = "kind"
	BelowLevel = "below"
	// of a guest's disk: what it is to the guest, and what QEMU keeps its data in
	InterfaceLevel = "interface"
	QueuesLevel    = "queues"
	BackingLevel   = "backing"
)

// The levels by which the arms of layers say which layer they measured, from 1 at the bottom, and what it was called.
const (
	LayerLevel = "layer"
	NameLevel  = "name"
)

// NetworkKind is the kind of concurrent design that goes up from the loopback of a machine to all its ports, both ways.
const NetworkKind = "ladder"

// BothDirections says that a network is measured in either direction, seen from the clients.
const BothDirections = "both"

// NodeOf begins the role of a pod in its node's network that is held beside the end of that name.
const NodeOf = "node-of-"

// NullDevice is there where the module null_blk is: it takes the kernel's whole way through the block layer and answers
// at once.
const NullDevice = "/dev/nullb0"
