package qemu

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/headroom/headroom/internal/lab"
)

// version of QEMU.
type version struct{ major, minor int }

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// The first versions with the required features. Source: the release notes of QEMU (wiki.qemu.org/ChangeLog/9.0 and
// /10.0); devices in JSON came with 6.2.
const (
	oldest          = 7 // the oldest that was tested
	linksFrom       = 2 // of 7: -netdev dgram
	mapsQueues      = 9
	mapsQueuesSCSI  = 10
	threadsEmulated = 9 // observed, not from the release notes: see emulationThreads
	backportsAdvice = "Debian 12 has QEMU 10 in its backports: apt install -t bookworm-backports qemu-system-x86, or " +
		"unpack it and name it with qemu: and firmware:"
)

// parseVersion parses the output of --version:
//
//	QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)
//	QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1~bpo12+1)
//	QEMU emulator version 8.2.2 (qemu-8.2.2-1.fc40)
func parseVersion(out []byte) (version, error) {
	m := regexp.MustCompile(`version (\d{1,3})\.(\d{1,3})`).FindSubmatch(out)
	if m == nil {
		return version{}, fmt.Errorf("no version in %q", bytes.TrimSpace(out))
	}
	var v version
	v.major, _ = strconv.Atoi(string(m[1])) // three digits at most, by the pattern
	v.minor, _ = strconv.Atoi(string(m[2]))
	return v, nil
}

func readVersion(ctx context.Context, program string) (version, error) {
	argv := []string{program, "--version"}
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	if err == nil {
		var v version
		if v, err = parseVersion(out); err == nil {
			return v, nil
		}
	}
	return version{}, &lab.Error{What: "can't start QEMU", Command: argv, Err: err}
}

// refuses returns an error for the first part of a description that a version of QEMU does not support.
func (v version) refuses(f File) error {
	if v.major < oldest {
		return &lab.Error{What: "QEMU " + v.String() + " is too old; 7.0 is the first that headroom starts guests with",
			Hints: []string{backportsAdvice}}
	}
	if len(f.Networks) > 0 && v.major == 7 && v.minor < linksFrom {
		return &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("networks between guests need QEMU 7.%d, and this is %s",
			linksFrom, v), Hints: []string{backportsAdvice}}
	}
	for _, d := range f.Disks {
		first := mapsQueues
		if d.Kind == virtioSCSI {
			first = mapsQueuesSCSI
		}
		if d.IOThreads > 1 && v.major < first {
			return &lab.Error{Kind: lab.Usage,
				What: fmt.Sprintf("disk %s: %d IOThreads need a mapping of queues to threads (iothread-vq-mapping), "+
					"which %s has from QEMU %d on, and this is %s",
					d.Name, d.IOThreads, d.Kind, first, v),
				Hints: []string{"take one IOThread, or none", backportsAdvice}}
		}
	}
	return nil
}

// emulationThreads returns "multi" if each emulated CPU gets its own thread, else "single". With a thread per CPU, QEMU
// 7.2 hung or broke three of five guests whose kernel was changing its own code, as it does where functions are traced,
// and one of two hundred at their boot; with a single thread none of six. QEMU 10 did that to none of eight that had
// booted.
func (v version) emulationThreads() string {
	if v.major < threadsEmulated {
		return "single"
	}
	return "multi"
}
