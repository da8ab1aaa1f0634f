package guard

// Evidence is everything that was found out about a path. It can be saved and judged again.
type Evidence struct {
	Path string `json:"path"` // as the user gave it
	// NotADevice describes the path if it is no block device: "a directory", "not there". All other fields are then
	// unset.
	NotADevice string   `json:"not_a_device,omitempty"`
	Identity   Identity `json:"identity,omitzero"`
	ReadOnly   bool     `json:"read_only,omitempty"`
	// Busy is why the device can't be opened exclusively; blank if it is held.
	Busy string `json:"busy,omitempty"`
	// Uses of the device and of related devices: mounts, swap, holders, programs.
	Uses []Use `json:"uses,omitempty"`
	// BuiltOn names the devices under a stacked device (LVM, md, dm-crypt, multipath).
	BuiltOn []string `json:"built_on,omitempty"`
	// Partitions that the kernel knows on the device.
	Partitions []string    `json:"partitions,omitempty"`
	Signatures []Signature `json:"signatures,omitempty"`
	Sample     Sample      `json:"sample,omitzero"`
	// ProgramsHidden is set if only the programs of this container are visible: another program of the machine may have
	// the device open. (Uses by the kernel still show in Busy.)
	ProgramsHidden bool `json:"programs_hidden,omitempty"`
	// ProgramsUnread is how many programs have open files that can't be examined, because they are other users'.
	// FilesUnseen is how many open files were not examined, because they are on network file systems, which might not
	// answer.
	ProgramsUnread int `json:"programs_unread,omitempty"`
	FilesUnseen    int `json:"files_unseen,omitempty"`
	// UseUnknown are questions about the use of the device that could not be answered, ContentUnknown about its
	// content.
	UseUnknown     []string `json:"use_unknown,omitempty"`
	ContentUnknown []string `json:"content_unknown,omitempty"`
	// Checks that were completed. Judge never finds a device empty unless all of Checks() are here.
	Checks []Check `json:"checks,omitempty"`
}

// Check is one kind of inspection.
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
