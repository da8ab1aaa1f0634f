package lab

// Fact is one observed property of a target: a key, a value and where it was read, or the reason why it is unknown. A
// blank value without a reason is a value that really is blank.
type Fact struct {
	Key string `json:"fact"`
	// About names which of several things of a class the fact is about, as the kernel names it: "nvme0n1" for
	// disk.queue.scheduler, "eth0.100" for nic.mtu, "/srv" for mount.options. Empty for the machine as a whole.
	About   string `json:"about,omitempty"`
	Value   string `json:"value,omitempty"`
	Source  string `json:"source,omitempty"`
	Unknown string `json:"unknown,omitempty"`
}
