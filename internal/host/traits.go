package host

import "github.com/headroom/headroom/internal/lab"

// Traits are the properties that follow from the name of a target, before it is opened and after it is gone. The zero
// value is a permanent machine that others also use.
type Traits struct {
	// Noun is the word for such a target: "guest".
	Noun string
	// Local is set for this machine.
	Local bool
	// HostedHere is set for a process of this machine that headroom starts from files of this machine, and that ends
	// with headroom.
	HostedHere bool
	// Scheduled is set if a cluster creates the target each time it is opened, on a node that others also use. The same
	// name given twice means two targets, and opening one is mostly waiting.
	Scheduled bool
	// OwnBoot is set if headroom chooses the kernel and its arguments, and boots the target without asking permission.
	OwnBoot bool
	// Ephemeral is set if files left on the target are removed with it.
	Ephemeral bool
	// LosesSettings is set if its kernel ends with it, and so all changed settings are lost.
	LosesSettings bool
	// BootOnly is set if the target can be booted, but can't run commands.
	BootOnly bool
	// Node is the node that the name requires; empty for any.
	Node string
	// Several is set if the name means several targets, which are opened together.
	Several bool
	// Set is the name of the group of targets that this one belongs to, and Member identifies it within the group.
	Set, Member string
	// MemberPrefix is the prefix of the names of members that have no other names.
	MemberPrefix string
}

// Made reports whether headroom creates the target: opening the name creates it, and closing it removes it.
func (t Traits) Made() bool { return t.HostedHere || t.Scheduled }

// LocalName is the name of this machine.
const LocalName = lab.LocalTarget

// IsLocal reports whether a target is this machine, by its name.
func IsLocal(t Target) bool { return t.Name() == LocalName }

// RemoteName is the name of a target for errors and headings; empty for this machine, which needs none.
func RemoteName(t Target) string {
	if IsLocal(t) {
		return ""
	}
	return t.Name()
}
