package scripted

import (
	"fmt"
	"strings"
)

// Adds adds to a machine, in the form of server.txtar: hardware, volumes, output of commands. Braces are filled in as
// there.
func (m *Machine) Adds(text string) {
	fill := strings.NewReplacer("{host}", m.Name, "{number}", fmt.Sprintf("%02d", m.Number), "{address}", m.Address)
	if err := m.load([]byte(text), fill); err != nil {
		panic(err) // the text is part of a test
	}
}

// AddDrive adds an NVMe drive of 1 TB like the two existing ones: "nvme2n1" for 2.
func (m *Machine) AddDrive(number int) {
	m.Adds(strings.NewReplacer("{drive}", fmt.Sprint(number), "{slot}", fmt.Sprintf("%02x", 6+number), "{letter}",
		string(rune('A'+number))).Replace(`
-- files --
/sys/devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/firmware_rev = 1.0
/sys/devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/model = Scripted NVMe 1 TB
/sys/devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/nvme{drive}n1/dev = 259:{drive}
/sys/devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/nvme{drive}n1/queue/logical_block_size = 512
/sys/devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/nvme{drive}n1/queue/nr_requests = 1023
/sys/devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/nvme{drive}n1/queue/physical_block_size = 4096
/sys/devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/nvme{drive}n1/queue/read_ahead_kb = 128
/sys/devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/nvme{drive}n1/queue/rotational = 0
/sys/devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/nvme{drive}n1/queue/scheduler = [none] mq-deadline kyber
/sys/devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/nvme{drive}n1/size = 1953525168
/sys/devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/serial = SCRIPTED{number}{letter}
-- links --
/sys/block/nvme{drive}n1 -> ../devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/nvme{drive}n1
/sys/class/block/nvme{drive}n1 -> ../../devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/nvme{drive}n1
/sys/dev/block/259:{drive} -> ../../devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/nvme{drive}n1
/sys/devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/device -> ../..
/sys/devices/pci0000:00/0000:00:{slot}.1/nvme/nvme{drive}/nvme{drive}n1/device -> ../../nvme{drive}
-- devices --
/dev/nvme{drive}n1 259:{drive}
`))
}
