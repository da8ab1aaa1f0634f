package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Signature is a magic number that a file system, a volume manager, a partition table or the like left on a device.
type Signature struct {
	// Who has it: "it", "partition 2".
	Who string `json:"who"`
	// What it belongs to, with an article: "an ext4 file system".
	What string `json:"what"`
	// Type is libblkid's name ("ext4"); empty for signatures that headroom itself searched for.
	Type   string `json:"type,omitempty"`
	Offset int64  `json:"offset"` // bytes from the start
}

func (s Signature) String() string {
	return fmt.Sprintf("%s (signature at %#x)", s.What, s.Offset)
}

// wipefs lists every signature that libblkid finds on a device, through the program wipefs in its mode that changes
// nothing. blkid itself would stop at the first, or print nothing at all if two contradict each other (its exit status
// 8).
func wipefs(ctx context.Context, t host.Target, who, node string) ([]Signature, error) {
	argv := []string{"wipefs", "--no-act", "--json", node}
	out, err := t.Run(ctx, argv...)
	if err != nil {
		return nil, err
	}
	if out.ExitCode != 0 {
		return nil, &lab.Error{What: fmt.Sprintf("wipefs ended with exit status %d", out.ExitCode), Command: argv,
			Output: string(out.Stderr)}
	}
	signatures, err := parseWipefs(out.Stdout)
	for i := range signatures {
		signatures[i].Who = who
	}
	return signatures, err
}

// parseWipefs parses the output of `wipefs --no-act --json`; before util-linux 2.39 it printed nothing at all for some
// blank devices.
//
//	{"signatures": [
//	   {"device":"sdb", "offset":"0x438", "type":"ext4", "uuid":"5b33ee60-…", "label":null},
//	   {"device":"sdb", "offset":"0x1fe", "type":"PMBR", "uuid":null, "label":null}
//	]}
func parseWipefs(data []byte) ([]Signature, error) {
	if strings.TrimSpace(string(data)) == "" {
		return nil, nil
	}
	var document struct {
		Signatures *[]struct {
			Offset string `json:"offset"`
			Type   string `json:"type"`
		} `json:"signatures"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("can't read what wipefs printed: %w", err)
	}
	if document.Signatures == nil {
		return nil, fmt.Errorf("what wipefs printed has no list of signatures")
	}
	var found []Signature
	for _, s := range *document.Signatures {
		offset, err := strconv.ParseInt(s.Offset, 0, 64)
		if err != nil || s.Type == "" {
			return nil, fmt.Errorf("can't read the signature %q at %q that wipefs printed", s.Type, s.Offset)
		}
		found = append(found, Signature{What: inWords(s.Type), Type: s.Type, Offset: offset})
	}
	return found, nil
}

// inWords describes a type of libblkid. The names are from util-linux, libblkid/src/{superblocks,partitions}.
func inWords(kind string) string {
	switch kind {
	case "LVM1_member", "LVM2_member":
		return "an LVM physical volume"
	case "linux_raid_member":
		return "a member of a Linux RAID array"
	case "zfs_member":
		return "a member of a ZFS pool"
	case "crypto_LUKS":
		return "a LUKS encrypted volume"
	case "BitLocker":
		return "a BitLocker encrypted volume"
	case "bcache":
		return "a bcache device"
	case "mpath_member":
		return "a multipath member"
	case "drbd", "drbdproxy_datalog", "drbdmanage_control_volume":
		return "a DRBD device"
	case "ceph_bluestore":
		return "a Ceph OSD"
	case "swap":
		return "swap space"
	case "jbd":
		return "the journal of an ext4 file system"
	case "VMFS_volume_member", "VMFS":
		return "a VMFS volume"
	case "DM_integrity":
		return "dm-integrity metadata"
	case "DM_verity_hash":
		return "dm-verity hashes"
	case "DM_snapshot_cow":
		return "a device-mapper snapshot"
	case "swsuspend":
		return "the memory of a hibernated system"
	case "dos":
		return "an MBR partition table"
	case "PMBR":
		return "the protective MBR of a GPT"
	case "gpt":
		return "a GPT partition table"
	case "atari", "bsd", "mac", "minix-pt", "sgi", "sun", "ultrix", "unixware", "solaris", "aix":
		return "a partition table (" + kind + ")"
	}
	if strings.HasSuffix(kind, "_member") {
		return "a member of an array (" + kind + ")"
	}
	return article(kind) + " " + kind + " file system"
}

// article returns "an" before a vowel as it is spoken: an xfs, but a udf.
func article(name string) string {
	spelt := strings.ToLower(name)
	for _, vowel := range []string{"a", "e", "i", "o", "f2", "hf", "nt", "xf"} {
		if strings.HasPrefix(spelt, vowel) {
			return "an"
		}
	}
	return "a"
}
