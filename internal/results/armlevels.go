package results

// The levels by which the arms of a storage ladder record the measured rung: its number from 1 at the bottom, its kind,
// and the rung below it.
const (
	RungLevel  = "rung"
	KindLevel  = "kind"
	BelowLevel = "below"
	// levels of a guest's disk: its interface to the guest, and what QEMU keeps its data in
	InterfaceLevel = "interface"
	QueuesLevel    = "queues"
	BackingLevel   = "backing"
)

// The levels by which the arms of layers record the measured layer: its number from 1 at the bottom, and its name.
const (
	LayerLevel = "layer"
	NameLevel  = "name"
)

// NetworkKind is the kind of concurrent design that measures from the loopback of a machine up to all its ports, in
// both directions.
const NetworkKind = "ladder"

// BothDirections is the direction of a network measured both ways, seen from the clients.
const BothDirections = "both"

// NodeOf begins the role of a pod in its node's network. The rest is the role of the end to which it belongs.
const NodeOf = "node-of-"

// NullDevice exists if the module null_blk is loaded: it takes the kernel's whole path through the block layer and
// answers immediately.
const NullDevice = "/dev/nullb0"
