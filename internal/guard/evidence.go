package guard

// Evidence is all that was found out about a path. It can be written down and judged again.
type Evidence struct {
	Path string `json:"path"` // as the user gave it
	// NotADevice says what the path is when it is no block device: "a directory", "not there". Nothing else is set
	// then.
	NotADevice string   `json:"not_a_device,omitempty"`
	Identity   Identity `json:"identity,omitzero"`
	ReadOnly   bool     `json:"read_only,omitempty"`
	// Busy is why the device can't be opened exclusively; blank when it is held.
	Busy string `json:"busy,omitempty"`
	// Uses of the device and of those that hang together with it: mounts, swap, holders, programs.
	Uses []Use `json:"uses,omitempty"`
	// BuiltOn names what a stacked device (LVM, md, dm-crypt, multipath) lies on.
	BuiltOn []string `json:"built_on,omitempty"`
	// Partitions that the kernel knows on the device.
	Partitions []string    `json:"partitions,omitempty"`
	Signatures []Signature `json:"signatures,omitempty"`
	Sample     Sample      `json:"sample,omitzero"`
	// ProgramsHidden says that the programs of the machine can't be seen, only those of this container: one of them may
	// have the device open. (What the kernel itself has given away is Busy all the same.)
	ProgramsHidden bool `json:"programs_hidden,omitempty"`
	// ProgramsUnread is how many programs have files open that can't be read, because they are other users'.
	// FilesUnseen is how many open files were not looked at, because they are on network file systems, which might not
	// answer.
	ProgramsUnread int `json:"programs_unread,omitempty"`
	FilesUnseen    int `json:"files_unseen,omitempty"`
	// UseUnknown says what could not be found out about the use of the device, ContentUnknown about its content.
	UseUnknown     []string `json:"use_unknown,omitempty"`
	ContentUnknown []string `json:"content_unknown,omitempty"`
	// Checks that were carried out. Judge takes nothing for empty unless all of Checks() are here.
	Checks []Check `json:"checks,omitempty"`
}

// Check is one thing that is looked at.
type Check string

// The checks.
const (
	Exclusive     Check = "exclusive use"
	Mounts        Check = "mounts in all namespaces"
	Swap          Check = "swap"
	Layers        Check = "layers above and below"
	OtherPaths    Check = "other paths to the drive"
	Writers       Check = "programs that write to it"
	Signatures    Check = "signatures that libblkid knows"
	EndSignatures Check = "signatures at both ends"
	ContentRead   Check = "its content"
)

// Checks are all checks, in the order in which they are made.
func Checks() []Check {
	return []Check{Exclusive, Mounts, Swap, Layers, OtherPaths, Writers, Signatures, EndSignatures, ContentRead}
}
