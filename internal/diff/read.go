package diff

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/kconfig"
	"github.com/headroom/headroom/internal/lab"
)

// FactsSchema is the schema of a snapshot, as `headroom facts --json` prints it.
const FactsSchema = "headroom/facts/v1"

// maxFile is the size limit of an input file, after unpacking. A snapshot of 4,000 disks is some 60 MiB.
const maxFile = 256 << 20

// Decode recognises the kind of a file and returns its facts: a snapshot of headroom, a kernel's configuration (plain
// or compressed, like /proc/config.gz), or the output of `sysctl -a`. name is the user's name for the file.
func Decode(name string, data []byte) (Side, error) {
	data, err := Unpack(name, data)
	if err != nil {
		return Side{}, err
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if bytes.HasPrefix(text, []byte("{")) {
		return decodeSnapshot(name, text)
	}
	if config, err := kconfig.Parse(bytes.NewReader(text)); err == nil {
		return Side{Name: name, Facts: ConfigFacts(name, text, config)}, nil
	}
	if found := ParseSysctlDump(name, text); len(found) > 0 {
		return Side{Name: name, Facts: found}, nil
	}
	return Side{}, unrecognised(name)
}

// Unpack decompresses the content of a file if it is compressed, as /proc/config.gz is.
func Unpack(name string, data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	unpacked, err := gunzip(data)
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: name + " is compressed, and can't be unpacked: " + err.Error(),
			Hints: []string{"fetch it again; it is cut off or damaged"}}
	}
	return unpacked, nil
}

func unrecognised(name string) error {
	return &lab.Error{Kind: lab.Usage, What: name + " holds no facts that can be read", Hints: []string{
		"what does is a snapshot: headroom facts --json > FILE",
		"a kernel's configuration: /boot/config-$(uname -r) or /proc/config.gz",
		"or what sysctl -a printed",
	}}
}

func gunzip(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	unpacked, err := io.ReadAll(io.LimitReader(z, maxFile+1))
	if err == nil && len(unpacked) > maxFile {
		err = fmt.Errorf("it holds more than %d MiB", maxFile>>20)
	}
	return unpacked, err
}

func decodeSnapshot(name string, text []byte) (Side, error) {
	var s struct {
		Schema string     `json:"schema"`
		Target string     `json:"target"`
		Facts  []lab.Fact `json:"facts"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return Side{}, &lab.Error{Kind: lab.Usage, What: name + " begins like JSON but is not: " + err.Error(),
			Hints: []string{"make it again: headroom facts --json > FILE"}}
	}
	if s.Schema != FactsSchema {
		e := &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%s has schema %q; a snapshot has %q", name,
			s.Schema, FactsSchema)}
		e.Hints = []string{"make one: headroom facts --json > FILE", "a saved run is named by its id, not by its file"}
		return Side{}, e
	}
	if len(s.Facts) == 0 {
		return Side{}, &lab.Error{Kind: lab.Usage, What: name + " is a snapshot without facts",
			Hints: []string{"make it again: headroom facts --json > FILE"}}
	}
	return Side{Name: name, Facts: s.Facts}, nil
}

// ConfigFacts turns a kernel's configuration into facts: one for each option, the kernel's release if the comment at
// the top of the file has it, and that the configuration is complete, so that an option that it does not mention is
// off.
func ConfigFacts(name string, text []byte, config kconfig.Config) []lab.Fact {
	var found []lab.Fact
	if _, release := kconfig.Header(text); release != "" {
		found = append(found, lab.Fact{Key: "kernel.release", Value: release, Source: name})
	}
	if config.Whole() {
		found = append(found, lab.Fact{Key: "kernel.config", Value: name, Source: name})
	}
	for _, option := range slices.Sorted(maps.Keys(config)) {
		found = append(found, lab.Fact{Key: configPrefix + option, Value: config[option], Source: name})
	}
	return found
}

// ParseSysctlDump reads the output of `sysctl -a`. Lists are separated by tabs, and some keys occur several times, with
// one line of the value each. Complaints about unreadable keys are skipped.
//
//	net.ipv4.tcp_rmem = 4096	131072	6291456
//	vm.swappiness = 60
//	kernel.core_pattern = |/lib/systemd/systemd-coredump %P %u %g %s %t %c %h
//	sysctl: permission denied on key 'fs.protected_fifos'
//
// Source: procps' sysctl(8); keys with a slash keep it, as sysctl prints them.
func ParseSysctlDump(name string, text []byte) []lab.Fact {
	var found []lab.Fact
	at := map[string]int{}
	for line := range bytes.Lines(text) {
		key, value, err := sysctlLine(string(line))
		if err != nil {
			continue
		}
		if i, seen := at[key]; seen {
			if len(found[i].Value) < maxSysctl {
				found[i].Value += "\n" + value
			}
			continue
		}
		at[key] = len(found)
		if value == "" {
			value = "none" // as in a snapshot
		}
		found = append(found, lab.Fact{Key: sysctlPrefix + key, Value: value, Source: name})
	}
	return found
}

// maxSysctl bounds a value that has several lines.
const maxSysctl = 64 << 10

var errNoSysctl = errors.New("no line of sysctl -a")

func sysctlLine(line string) (key, value string, err error) {
	key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
	key = strings.TrimSpace(key)
	first, _, dotted := strings.Cut(key, ".")
	if !ok || !dotted || strings.ContainsAny(key, " \t\"'") || !slices.Contains(sysctlRoots(), first) {
		return "", "", errNoSysctl
	}
	// The kernel separates numbers by tabs; a snapshot has spaces or tabs, so both are normalised.
	return key, strings.Join(strings.Fields(value), " "), nil
}

// sysctlRoots are the folders of /proc/sys.
func sysctlRoots() []string {
	return []string{"abi", "crypto", "debug", "dev", "fs", "kernel", "net", "sunrpc", "user", "vm", "xen"}
}
