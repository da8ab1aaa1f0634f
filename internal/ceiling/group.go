package ceiling

import (
	"math"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// groupLimits returns the limits of the control group that the load runs in. The fact cgroup.io.max also lists the
// limits of its parent groups. A limit is for a device number, which the facts of a disk do not have: it is assumed to
// be for the disk under test if there is one such disk, all limits name one device, and its major number fits the
// disk's name. A limit only applies on average, so a number above it is not called impossible.
//
//	259:0 rbps=2097152 wbps=max riops=max wiops=120
//	blkio.throttle.read_bps_device 8:16 1048576
//
// Source: the kernel's Documentation/admin-guide/cgroup-v2.rst, io.max, and cgroup-v1/blkio-controller.rst.
func (m *Machine) groupLimits(direction string, params map[string]string) []Ceiling {
	if len(m.place.Disks) != 1 || m.inMemory(params) {
		return nil
	}
	limits := parseGroupLimits(m.machine("cgroup.io.max"))
	device, bytes, operations := "", math.Inf(1), math.Inf(1)
	for _, l := range limits {
		if device != "" && device != l.device {
			return nil
		}
		device = l.device
		if l.name == direction+" bytes" {
			bytes = min(bytes, l.value)
		}
		if l.name == direction+" operations" {
			operations = min(operations, l.value)
		}
	}
	if !fits(device, m.place.Disks[0]) {
		return nil
	}
	block := 0.0
	for i, d := range directions() {
		if d == direction {
			block, _ = blockSize(params, i)
		}
	}
	if block > 0 { // each limit bounds both metrics
		bytes = min(bytes, operations*block)
		operations = min(operations, bytes/block)
	}
	var all []Ceiling
	add := func(metric string, v float64, text string) {
		if !math.IsInf(v, 1) {
			all = append(all, Ceiling{Metric: metric, Value: v, Most: math.Inf(1), Limiter: "cgroup io.max",
				Derivation: "the control group allows " + direction + "s of " + text + " on " + device})
		}
	}
	add(lab.Bandwidth(direction), bytes, figure(bytes))
	add(lab.IOPS(direction), operations, unit.IOPS(operations)+" a second")
	return all
}

type groupLimit struct {
	device, name string
	value        float64
}

func parseGroupLimits(text string) []groupLimit {
	names := map[string]string{
		"rbps": "read bytes", "wbps": "write bytes", "riops": "read operations", "wiops": "write operations",
		"blkio.throttle.read_bps_device": "read bytes", "blkio.throttle.write_bps_device": "write bytes",
		"blkio.throttle.read_iops_device": "read operations", "blkio.throttle.write_iops_device": "write operations",
	}
	var all []groupLimit
	add := func(device, name, value string) {
		v, err := strconv.ParseFloat(value, 64)
		if err == nil && v > 0 && !math.IsInf(v, 1) && name != "" {
			all = append(all, groupLimit{device, name, v})
		}
	}
	attribute := ""
	for line := range strings.SplitSeq(text, "; ") {
		f := strings.Fields(line)
		if len(f) > 0 && names[f[0]] != "" {
			attribute, f = f[0], f[1:] // stated once for all lines of the file
		}
		if len(f) == 2 && attribute != "" && !strings.Contains(f[1], "=") {
			add(f[0], names[attribute], f[1])
			continue
		}
		for i := 1; i < len(f); i++ {
			key, value, _ := strings.Cut(f[i], "=")
			add(f[0], names[key], value)
		}
	}
	return all
}

// fits reports whether a device number can belong to the disk: 7 is a loop device, 8, 65 to 71 and 128 to 135 are SCSI
// disks, 259 is for NVMe disks; others are assigned dynamically, from 240 on. Source: the kernel's
// Documentation/admin-guide/devices.txt.
func fits(device, disk string) bool {
	number, _, _ := strings.Cut(device, ":")
	major, err := strconv.Atoi(number)
	if err != nil {
		return false
	}
	scsi := major == 8 || major >= 65 && major <= 71 || major >= 128 && major <= 135
	switch {
	case strings.HasPrefix(disk, "sd"):
		return scsi
	case strings.HasPrefix(disk, "nvme"):
		return major == 259
	case strings.HasPrefix(disk, "loop"):
		return major == 7
	default:
		return major >= 240
	}
}
