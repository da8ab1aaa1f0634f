package host

import "github.com/headroom/headroom/internal/lab"

// Traits are what the name of a target says of it, before it is opened and after it is gone. The zero value is a
// machine that is there anyway, and that others use.
type Traits struct {
	// Noun is what such a target is called: "guest".
	Noun string
	// Local says that it is this machine.
	Local bool
	// HostedHere says that it is a process of this machine, which headroom starts from files of this machine and which
	// ends with headroom.
	HostedHere bool
	// Scheduled says that a cluster makes it each time it is opened, on a node that others use too. Two of the same
	// name are two targets, and opening one is mostly waiting.
	Scheduled bool
	// OwnBoot says that headroom chooses its kernel and the arguments of that, and boots it without permission.
	OwnBoot bool
	// Ephemeral says that what is left there goes with it.
	Ephemeral bool
	// LosesSettings says that its kernel ends with it, and so do all settings that were changed there.
	LosesSettings bool
	// BootOnly says that it can be booted, but that no command can be run there.
	BootOnly bool
	// Node is the one that the name says it must run on; empty for any.
	Node string
	// Several says that the name stands for several targets, which are opened together.
	Several bool
	// Set is the name of the several targets that this one is among, and Member tells it from the others.
	Set, Member string
	// MemberPrefix begins the names of members that have no names of their own.
	MemberPrefix string
}

// Made says that it is headroom's own: opening the name makes it, and closing it removes it.
func (t Traits) Made() bool { return t.HostedHere || t.Scheduled }

// LocalName is the name of this machine.
const LocalName = lab.LocalTarget

// IsLocal says whether a target has the name of this machine.
func IsLocal(t Target) bool { return t.Name() == LocalName }

// RemoteName is the name of a target for errors and headings; empty for this machine, which needs none.
func RemoteName(t Target) string {
	if IsLocal(t) {
		return ""
	}
	return t.Name()
}
