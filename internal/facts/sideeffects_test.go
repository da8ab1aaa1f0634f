package facts

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"headroom/internal/facts/collect"
	"headroom/internal/facts/factstest"
)

// The boot partitions of eMMC lie in the folder of the disk but are no part of it.
func TestBootPartitionsAreNotMisaligned(t *testing.T) {
	const dir = "/sys/devices/platform/mmc/mmc_host/mmc0/mmc0:0001/block/mmcblk0"
	f := factstest.TextFiles(map[string]string{dir + "/size": "61071360\n",
		dir + "/queue/physical_block_size": "4096\n",
		dir + "/mmcblk0p1/start":           "8191\n", dir + "/mmcblk0p1/partition": "1\n",
		dir + "/mmcblk0boot0/size": "8192\n"})
	for _, name := range []string{"", "/mmcblk0p1", "/mmcblk0boot0"} {
		full := dir + name
		link := class(full[strings.LastIndexByte(full, '/')+1:])
		f[collect.PathInFS(link)] = &fstest.MapFile{Data: []byte("../.." + strings.TrimPrefix(full, "/sys")),
			Mode: fs.ModeSymlink}
	}
	all := collectAllDisks(f, collect.Scope{})
	if got := factstest.Said(all, "disk.partitions.misaligned", "mmcblk0"); got != "mmcblk0p1" {
		t.Errorf("misaligned: %q", got)
	}
}

// Disks need the names of interrupts, which are read together with those of network adapters: they must not wait for
// the lock that the kernel takes before it tells about a link.
func TestDisksDoNotWaitForTheNetwork(t *testing.T) {
	l := factstest.Looked{MapFS: factstest.TextFiles(map[string]string{"/sys/class/net/eth0/device/vendor": "0x8086",
		"/sys/class/net/eth0/carrier": "1",
		"/sys/class/net/eth0/speed":   "1000", "/proc/interrupts": "           CPU0\n"}), At: map[string]bool{}}
	if found := readNICInterrupts(collect.Reader{FS: l}); len(found.nics) != 1 {
		t.Fatalf("%+v", found)
	}
	for name := range l.At {
		if strings.HasSuffix(name, "/carrier") || strings.HasSuffix(name, "/speed") {
			t.Errorf("%s was read", name)
		}
	}
}
