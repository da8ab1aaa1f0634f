package experiment

import (
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// What does not store the place may change: a guest's disk, a loop device of another program.
func TestChangesOfOtherDevices(t *testing.T) {
	under := []string{"dm-0", "nvme0n1"}
	for _, c := range []struct {
		key, about string
		under      []string
		shared     bool
		other      bool
	}{
		{"cpu.governor", "", under, false, false},
		{"disk.queue.scheduler", "nvme0n1", under, false, false},
		{"volume.queue.scheduler", "dm-0", under, false, false},
		{"disk.queue.scheduler", "sda", under, false, true},
		{"volume.holders", "loop4", under, false, true},
		{"nic.mtu", "eth0", under, false, false},
		// ZFS does not report which disks store it.
		{"disk.queue.scheduler", "sda", nil, false, false},
		{"disk.queue.scheduler", "sda", nil, true, true},
		{"volume.name", "loop4", nil, false, true},
	} {
		if got := ofOtherDevice(lab.Fact{Key: c.key, About: c.about}, c.under, c.shared); got != c.other {
			t.Errorf("%s of %q, with %v under the place: %v", c.key, c.about, c.under, got)
		}
	}
}
