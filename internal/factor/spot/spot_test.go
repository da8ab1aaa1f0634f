package spot

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts/collect"
)

func TestChosen(t *testing.T) {
	for text, want := range map[string]string{
		"none [mq-deadline] kyber bfq": "mq-deadline", "[none]": "none", "always [madvise] never\n": "madvise",
		"write back": "write back", "[a] [b]": "[a] [b]", "[]": "[]", "": "",
	} {
		if got, choices := Chosen(text); got != want && got != want+"\n" ||
			got != text && !slices.Contains(choices, got) {
			t.Errorf("%q: %q of %q", text, got, choices)
		}
	}
}

const mountsOfAMachine = `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
36 29 0:33 /@home /home rw,noatime shared:19 - btrfs /dev/mapper/crypt rw,compress=zstd:3,ssd,subvolid=257
52 27 7:0 / /mnt/a\040b rw,nosuid,noatime,nodiratime shared:3 - ext4 /dev/loop0 rw,lazytime,commit=30,nobarrier
53 27 0:50 / /mnt/t rw - tmpfs none rw,size=1024k,huge=always
`

func TestMountOptions(t *testing.T) {
	list := collect.ParseMounts([]byte(mountsOfAMachine))
	if len(list) != 4 || list[2].Point != "/mnt/a b" {
		t.Fatalf("%+v", list)
	}
	for i, want := range []map[string]string{
		{"atime": "relatime", "diratime": "1", "discard": "1", "barrier": "1", "commit": "5", "lazytime": "0"},
		{"atime": "noatime", "commit": "30"},
		{"atime": "noatime", "diratime": "0", "lazytime": "1", "commit": "30", "barrier": "0", "discard": "0"},
		{"atime": "strictatime", "huge": "always"},
	} {
		for name, level := range want {
			o, err := FindMountOption(name)
			if err != nil || o.value(list[i]) != level {
				t.Errorf("%s of %s: %q, not %q, %v", name, list[i].Point, o.value(list[i]), level, err)
			}
		}
	}
}

func FuzzMounts(f *testing.F) {
	f.Add([]byte(mountsOfAMachine))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, m := range collect.ParseMounts(data) {
			for _, o := range MountOptions() {
				if o.Levels != nil && !slices.Contains(o.Levels, o.value(m)) {
					t.Errorf("%s of %+v is %q", o.Name, m, o.value(m))
				}
			}
		}
	})
}

const adapterPage = `Ring parameters for eth0:
Pre-set maximums:
RX:		1024
RX Mini:	n/a
TX:		1024
Current hardware settings:
RX:		256
RX Mini:	n/a
TX:		512
Adaptive RX: off  TX: n/a
tcp-segmentation-offload: on
	tx-tcp-segmentation: on
large-receive-offload: off [fixed]
`

func TestAdapterPages(t *testing.T) {
	got := parseAdapterPage(adapterPage)
	for label, want := range map[string]string{"RX": "256", "TX": "512", "Adaptive RX": "off  TX: n/a",
		"tcp-segmentation-offload": "on",
		"large-receive-offload":    "off [fixed]", "RX Mini": "n/a"} {
		if got[label] != want {
			t.Errorf("%s: %q", label, got[label])
		}
	}
}

func TestSingleFeatures(t *testing.T) {
	page := "Features for eth0:\nrx-checksumming: on\ntx-checksumming: on\n\ttx-checksum-ipv4: off [fixed]\n" +
		"\ttx-checksum-sctp: on\ntcp-segmentation-offload: on\n\ttx-tcp-segmentation: on\n\ttx-tcp-ecn-segmentation: " +
		"on\ngeneric-receive-offload: on\nrx-gro-list: off\n"
	if got := SingleFeatures(page); !slices.Equal(got,
		[]string{"tx-checksum-sctp", "tx-tcp-ecn-segmentation", "rx-gro-list"}) {
		t.Errorf("%q", got)
	}
}

func FuzzAdapterPages(f *testing.F) {
	f.Add(adapterPage)
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range SingleFeatures(text) {
			if strings.ContainsAny(name, " \n") {
				t.Errorf("%q", name)
			}
		}
		for label, value := range parseAdapterPage(text) {
			if value == "" || strings.Contains(label, "\n") {
				t.Errorf("%q: %q", label, value)
			}
		}
	})
}

func TestSameIdentity(t *testing.T) {
	for _, c := range []struct {
		was, is string
		same    bool
	}{
		{"mount 27 of device 254:0", "mount 27 of device 254:0", true},
		// of an older version
		{"mount 27 of device 254:0", "mount 27 of device 254:0, file system 1f73 1795882938", true},
		{"mount 27 of device 254:0, file system 1f73 1795882938", "mount 27 of device 254:0", false},
		{"mount 27 of device 254:0", "mount 27 of device 254:01", false},
		{"dev 7:0, diskseq 9", "dev 7:0, diskseq 91", false},
		{"chip_name PCI-MSIX-0000:00:02.0, hwirq 1", "chip_name PCI-MSIX-0000:00:03.0, hwirq 1", false},
		{"dev 7:0", "", false},
	} {
		if SameIdentity(c.was, c.is) != c.same {
			t.Errorf("%q and %q: %v", c.was, c.is, !c.same)
		}
	}
}

func TestIdentityOfAnInterrupt(t *testing.T) {
	s := Spot{Kind: InFile, Path: "/proc/irq/36/smp_affinity_list"}
	if files := s.identityFiles(); !slices.Equal(files, []string{"/sys/kernel/irq/36/chip_name",
		"/sys/kernel/irq/36/hwirq"}) {
		t.Errorf("%q", files)
	}
}
