package record

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// nominalHz returns the base frequency of the first CPU, else its maximum, else its current frequency; 0 if unknown.
func nominalHz(sys, proc string) uint64 {
	for _, name := range []string{"base_frequency", "cpuinfo_max_freq"} {
		text, err := os.ReadFile(filepath.Join(sys, "devices/system/cpu/cpu0/cpufreq", name))
		if err != nil {
			continue
		}
		if khz, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && khz < 1<<40 {
			return khz * 1000
		}
	}
	text, err := os.ReadFile(filepath.Join(proc, "cpuinfo"))
	if err != nil {
		return 0
	}
	return presentHz(text)
}

// presentHz parses the frequency in /proc/cpuinfo, which only some architectures have.
//
//	cpu MHz		: 2899.998
func presentHz(cpuinfo []byte) uint64 {
	lines := bufio.NewScanner(bytes.NewReader(cpuinfo))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), ":")
		if !ok || strings.TrimSpace(name) != "cpu MHz" {
			continue
		}
		if mhz, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && mhz >= 1 && mhz < 1e6 {
			return uint64(mhz * 1e6)
		}
	}
	return 0
}
