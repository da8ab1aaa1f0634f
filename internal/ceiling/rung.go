package ceiling

import (
	"bufio"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"headroom/internal/lab"
)

// Rung is a limit of the machine that is measured, not computed.
type Rung struct {
	// Name is "memcpy", "crc32c", "memory" (reads of a file in memory) or "loopback" (TCP to itself).
	Name string
	// Value in Unit; 0 before it is measured.
	Value float64
	Unit  lab.Unit
	// Core and Node where it was measured; -1 for wherever the kernel put it.
	Core, Node int
	// Command is the argument vector that measures it.
	Command []string
}

// memoryFile is where the rung of memory reads has its file: a file system in memory that every Linux has.
const memoryFile = "/dev/shm/headroom-rung"

// Rungs are the limits that can be measured on a core; -1 leaves the choice to the kernel. fio's memcpy and crc tests
// are built into it (HOWTO, "--memcpytest", "--crctest") and need no file. The memory file is one of 256 MiB, which is
// larger than most caches of a core. Loopback needs a server: iperf3 --server --one-off.
func Rungs(core int) []Rung {
	pinned := func(argv ...string) []string {
		if core < 0 {
			return argv
		}
		return append([]string{"taskset", "--cpu-list", strconv.Itoa(core)}, argv...)
	}
	rung := func(name string, argv ...string) Rung {
		return Rung{Name: name, Unit: lab.BytesPerSecond, Core: core, Node: -1, Command: pinned(argv...)}
	}
	return []Rung{
		rung("memcpy", "fio", "--memcpytest=memcpy"),
		rung("crc32c", "fio", "--crctest=crc32c"),
		rung("memory", "fio", "--name=memory", "--filename="+memoryFile, "--size=256m", "--rw=read",
			"--bs=1m", "--ioengine=psync",
			"--time_based", "--runtime=3", "--unlink=1", "--output-format=json+"),
		rung("loopback", "iperf3", "--client", "127.0.0.1", "--time", "3", "--json"),
	}
}

// CopySpeed is a line of fio's memcpy or crc test.
type CopySpeed struct {
	// Test is the function ("memcpy", "hybrid") or the checksum ("crc32c").
	Test string
	// Block is the size copied at a time, in bytes; 0 for a checksum, which fio makes over 128 KiB.
	Block float64
	// Speed in B/s.
	Speed float64
}

var (
	copyLine     = regexp.MustCompile(`^\s+(\d+) bytes:\s+([0-9.]+) MiB/sec$`)
	checksumLine = regexp.MustCompile(`^([a-z0-9-]+):\s+([0-9.]+) MiB/sec$`)
)

// ParseCopySpeeds reads what fio --memcpytest and --crctest print.
//
//	memcpy
//		8 bytes:	 2739.85 MiB/sec
//		524288 bytes:	13497.30 MiB/sec
//
//	md5:		  657.88 MiB/sec
//	crc32c:		 8930.44 MiB/sec
func ParseCopySpeeds(text string) []CopySpeed {
	var all []CopySpeed
	test := ""
	add := func(name, block, speed string) {
		size, _ := strconv.ParseFloat(block, 64)
		v, err := strconv.ParseFloat(speed, 64)
		if err == nil && v > 0 {
			all = append(all, CopySpeed{Test: name, Block: size, Speed: v * (1 << 20)})
		}
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r ")
		switch m := copyLine.FindStringSubmatch(line); {
		case m != nil && test != "":
			add(test, m[1], m[2])
		default:
			if m := checksumLine.FindStringSubmatch(line); m != nil {
				add(m[1], "", m[2])
			} else if name := strings.TrimSpace(line); name != "" && name == line && !strings.ContainsAny(name,
				" \t:") {
				test = name
			}
		}
	}
	return all
}

// Measured fills a rung with what its command printed. For memcpy it is the speed with the largest blocks, which no
// cache near the core holds.
func (r Rung) Measured(speeds []CopySpeed) (Rung, error) {
	var best CopySpeed
	for _, s := range speeds {
		if s.Test == r.Name && s.Block >= best.Block {
			best = s
		}
	}
	if best.Speed == 0 {
		return r, &lab.Error{What: "fio printed no speed of " + r.Name, Command: r.Command}
	}
	r.Value = best.Speed
	return r, nil
}

// memoryCeilings bound a load that memory answers: by what was read from a file in memory, and as a part, by what one
// core copies. Without rungs no ceiling is known. A load of several jobs is bounded by as many cores, if they don't
// share more.
func memoryCeilings(params map[string]string, rungs []Rung) []Ceiling {
	jobs, err := strconv.ParseFloat(params["numjobs"], 64)
	if err != nil || !(jobs >= 1) {
		jobs = 1
	}
	var all []Ceiling
	for _, r := range rungs {
		if !(r.Value > 0) || r.Name != "memcpy" && r.Name != "memory" {
			continue
		}
		where := ""
		if r.Core >= 0 {
			where = fmt.Sprintf(" on core %d", r.Core)
		}
		// Measured by one process, it is no hard bound: another core may be faster.
		c := Ceiling{Value: r.Value * jobs, Most: unbounded().most, Limiter: r.Name + where,
			Derivation: fmt.Sprintf("%s measured%s: %s", r.Name, where, figure(r.Value))}
		if jobs > 1 {
			c.Derivation += fmt.Sprintf(" for each of %g jobs", jobs)
			one := c
			one.Value, one.Part = r.Value, "one core"
			all = append(all, one)
		}
		all = append(all, c)
	}
	return all
}
