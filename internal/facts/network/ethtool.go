package network

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// ethtool is run for each adapter and in the text form, which every version prints alike. --json does not exist before
// 5.10, and of the options used here version 6.1 supports it only for -a and -k. The "*" for all adapters needs ethtool
// and kernel 5.6 or newer, covers every veth of a machine full of containers, and is refused by -i and -S. Go packages
// that ask the kernel (safchain/ethtool, vishvananda/netlink) need ioctls and sockets on the machine itself, so the
// same code could read neither a machine over SSH nor a saved one.
//
// Each of these only reads, and none needs root.
func ethtoolOptions() []string { return []string{"", "-i", "-g", "-l", "-c", "-k", "-a"} }

// maxEthtool is how many adapters are asked; each costs seven short processes.
const maxEthtool = 16

func ethtoolCommand(option, name string) []string {
	if option == "" {
		return []string{"ethtool", name}
	}
	return []string{"ethtool", option, name}
}

// ethtoolNICs picks the adapters to ask: those with hardware, with a link first.
func ethtoolNICs(r collect.Reader, nics []nic) []nic {
	nics = slices.DeleteFunc(slices.Clone(nics), func(n nic) bool { return !n.hardware() })
	up := make(map[string]bool, len(nics))
	for _, n := range nics {
		up[n.name] = n.up(r)
	}
	slices.SortStableFunc(nics, func(a, b nic) int {
		switch {
		case up[a.name] == up[b.name]:
			return 0
		case up[a.name]:
			return -1
		}
		return 1
	})
	return nics[:min(len(nics), maxEthtool)]
}

func EthtoolCommands(in collect.Scope) [][]string {
	if in.Files == nil {
		return nil
	}
	r := collect.Reader{FS: in.Files}
	nics, _ := findNICs(r)
	var commands [][]string
	for _, n := range ethtoolNICs(r, nics) {
		if strings.HasPrefix(n.name, "-") {
			continue // the kernel allows such a name, and ethtool would take it for an option
		}
		for _, option := range ethtoolOptions() {
			commands = append(commands, ethtoolCommand(option, n.name))
		}
		if n.driver == enaDriver {
			commands = append(commands, ethtoolCommand("-S", n.name))
		}
	}
	return commands
}

// enaDriver is the driver of Amazon's adapter. Only its counters are read: other drivers have thousands of lines.
const enaDriver = "ena"

func CollectEthtool(r collect.Reader, in collect.Scope) []lab.Fact {
	nics, _ := findNICs(r)
	chosen := map[string]bool{}
	for _, n := range ethtoolNICs(r, nics) {
		chosen[n.name] = true
	}
	var all []lab.Fact
	for _, n := range nics {
		if !n.hardware() {
			continue
		}
		e := ethtool{Thing: collect.Thing{Name: n.name}, in: in, asked: chosen[n.name]}
		e.settings()
		e.identity(r, n)
		e.numbers("-g", [][2]string{{"nic.ring.rx", "RX"}, {"nic.ring.rx.max", "max RX"}, {"nic.ring.tx", "TX"},
			{"nic.ring.tx.max", "max TX"}})
		e.channels()
		e.flags("-c", [][2]string{{"nic.coalesce.adaptive_rx", "Adaptive RX"}})
		e.numbers("-c", [][2]string{{"nic.coalesce.rx_usecs", "rx-usecs"}, {"nic.coalesce.tx_usecs", "tx-usecs"}})
		e.flags("-k", offloads())
		e.fixed()
		e.flags("-a", [][2]string{{"nic.pause.rx", "RX"}, {"nic.pause.tx", "TX"}})
		if n.driver == enaDriver {
			e.allowances()
		}
		all = append(all, e.Facts...)
	}
	return all
}

// offloads are the facts of ethtool -k with its names of them.
func offloads() [][2]string {
	return [][2]string{{"nic.offload.tso", "tcp-segmentation-offload"},
		{"nic.offload.gso", "generic-segmentation-offload"}, {"nic.offload.gro", "generic-receive-offload"},
		{"nic.offload.lro", "large-receive-offload"}, {"nic.offload.rx_checksum", "rx-checksumming"},
		{"nic.offload.tx_checksum", "tx-checksumming"}, {"nic.offload.scatter_gather", "scatter-gather"}}
}

// fixed are the offloads that the driver does not let change, which ethtool marks.
//
//	rx-checksumming: off [fixed]
//	tx-checksumming: on
//	tcp-segmentation-offload: off [fixed]
//
// Source: ethtool's netlink/features.c and ethtool.c (dump_one_feature).
func (e *ethtool) fixed() {
	const key = "nic.offload.fixed"
	var names []string
	for _, k := range offloads() {
		value, source, reason := e.value("-k", k[1])
		if reason != "" && reason != notReported {
			e.Add(collect.Unknown(key, source, reason))
			return
		}
		if strings.HasSuffix(value, "[fixed]") {
			names = append(names, strings.TrimPrefix(k[0], "nic.offload."))
		}
	}
	e.Add(collect.Sorted(key, names, lab.ShellQuote(ethtoolCommand("-k", e.Name))))
}

// ethtool gathers what the program says of one adapter.
type ethtool struct {
	collect.Thing
	in    collect.Scope
	asked bool
}

// output is what an option printed, or why there is nothing.
func (e *ethtool) output(option string) (text, source, reason string) {
	argv := ethtoolCommand(option, e.Name)
	source = lab.ShellQuote(argv)
	if !e.asked {
		return "", source, fmt.Sprintf("only %d adapters are asked, those with a link first", maxEthtool)
	}
	p := e.in.Lookup(argv)
	switch {
	case strings.Contains(p.Failed, "not supported"):
		return "", source, notReported
	case p.Failed != "":
		return "", source, toolFailed("ethtool", p.Failed)
	}
	return p.Stdout, source, ""
}

// notReported is for what a driver has no answer to: the kernel says "Operation not supported" or ethtool prints "n/a".
const notReported = "the driver does not tell"

// value is one value of an option's output.
func (e *ethtool) value(option, name string) (value, source, reason string) {
	text, source, reason := e.output(option)
	if reason != "" {
		return "", source, reason
	}
	value, ok := parseEthtool(text)[name]
	if !ok || value == "" || value == "n/a" {
		return "", source, notReported
	}
	return value, source, ""
}

func (e *ethtool) numbers(option string, keys [][2]string) {
	for _, k := range keys {
		value, source, reason := e.value(option, k[1])
		n, err := strconv.ParseInt(collect.FirstWord(value), 10, 64)
		if reason == "" && err != nil {
			reason = "not a number: " + strconv.Quote(collect.Shortened(value))
		}
		if reason != "" {
			e.Add(collect.Unknown(k[0], source, reason))
			continue
		}
		e.Add(collect.Whole(k[0], n, source))
	}
}

// flags are values like "on", "off [fixed]" and "on  TX: off". What was agreed on with the other end counts more than
// what was asked for ("RX negotiated").
func (e *ethtool) flags(option string, keys [][2]string) {
	for _, k := range keys {
		value, source, reason := e.value(option, k[1]+" negotiated")
		if reason != "" {
			value, source, reason = e.value(option, k[1])
		}
		on, ok := catalogue.ParseFlag(collect.FirstWord(value))
		if reason == "" && !ok {
			reason = notReported
		}
		if reason != "" {
			e.Add(collect.Unknown(k[0], source, reason))
			continue
		}
		e.Add(collect.OnOff(k[0], on, source))
	}
}

// channels are the queues: drivers have either combined ones or separate ones for each direction.
func (e *ethtool) channels() {
	for _, k := range [][2]string{{"nic.channels", ""}, {"nic.channels.max", "max "}} {
		combined, source, reason := e.value("-l", k[1]+"Combined")
		rx, _, _ := e.value("-l", k[1]+"RX")
		tx, _, _ := e.value("-l", k[1]+"TX")
		best := collect.Integer(combined)
		if best <= 0 {
			best = max(collect.Integer(rx), collect.Integer(tx))
		}
		switch {
		case best > 0:
			e.Add(collect.Whole(k[0], best, source))
		case reason != "":
			e.Add(collect.Unknown(k[0], source, reason))
		default:
			e.Add(collect.Unknown(k[0], source, notReported))
		}
	}
}

// identity is the driver's version and the firmware, which are only found out through the driver.
func (e *ethtool) identity(r collect.Reader, n nic) {
	for _, k := range [][2]string{{"nic.driver.version", "version"}, {"nic.firmware", "firmware-version"}} {
		value, source, reason := e.value("-i", k[1])
		if value = collect.Shortened(value); value == "N/A" {
			value = ""
		}
		if reason == "" && value == "" {
			reason = notReported
		}
		if reason == "" {
			e.Add(collect.Known(k[0], value, source))
			continue
		}
		// A module that carries a version shows it here, too.
		if file := "/sys/module/" + n.driver + "/version"; k[1] == "version" && n.driver != "" && r.Exists(file) {
			e.Add(r.Line(k[0], file))
			continue
		}
		e.Add(collect.Unknown(k[0], source, reason))
	}
}

func (e *ethtool) settings() {
	const key = "nic.speed.supported"
	text, source, reason := e.output("")
	if reason == "" {
		if mbits, reported := supportedSpeed(text); reported {
			e.Add(collect.Whole(key, mbits*1e6, source))
			return
		}
		reason = "ethtool prints no link modes"
	}
	e.Add(collect.Unknown(key, source, reason))
}

// allowances sums the packets that Amazon's network held back or dropped because the machine was over a limit: of
// bandwidth, packets, tracked connections or link-local services.
//
//	NIC statistics:
//	     bw_in_allowance_exceeded: 0
//	     bw_out_allowance_exceeded: 14368
//	     pps_allowance_exceeded: 142
//
// Source: the ENA driver's README and Amazon's documentation of it.
func (e *ethtool) allowances() {
	const key = "nic.allowance_exceeded"
	text, source, reason := e.output("-S")
	sum, found := int64(0), false
	for name, value := range parseEthtool(text) {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 &&
			strings.HasSuffix(name, "_allowance_exceeded") {
			sum, found = sum+n, true
		}
	}
	switch {
	case reason != "":
		e.Add(collect.Unknown(key, source, reason))
	case !found:
		e.Add(collect.Unknown(key, source, "this version of the driver does not count them"))
	default:
		e.Add(collect.Whole(key, sum, source))
	}
}

// maxEthtoolLines is more than any adapter prints for the options that are asked.
const maxEthtoolLines = 20000

// parseEthtool reads lines of "name: value" into a map. Names below "Pre-set maximums:" get "max " in front. A name
// that comes twice keeps its first value.
//
//	Ring parameters for eth0:          Coalesce parameters for eth0:        Features for eth0:
//	Pre-set maximums:                  Adaptive RX: on  TX: on              rx-checksumming: on [fixed]
//	RX:             8192               stats-block-usecs: n/a               tx-checksumming: on
//	RX Mini:        n/a                                                             tx-checksum-ipv4: off [fixed]
//	Current hardware settings:         rx-usecs: 8
//	RX:             1024               rx-frames: 128
//
// Source: ethtool's netlink/rings.c, channels.c, coalesce.c, features.c, pause.c and, for older versions, ethtool.c.
func parseEthtool(text string) map[string]string {
	values := map[string]string{}
	section := ""
	lines := 0
	for line := range strings.Lines(text) {
		if lines++; lines > maxEthtoolLines {
			break
		}
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch {
		case value == "" && name == "Pre-set maximums":
			section = "max "
			continue
		case value == "" && name == "Current hardware settings":
			section = ""
			continue
		}
		if _, twice := values[section+name]; !twice {
			values[section+name] = value
		}
	}
	return values
}

// linkMode is a mode like 25000baseCR/Full; the number is Mbit/s.
var linkMode = prose.Pattern(`^(\d{2,8})base`)

// supportedSpeed returns the fastest of the modes that an adapter supports, in Mbit/s, and whether ethtool knows it. A
// virtual adapter has no modes (Not reported), and its speed is 0.
//
//	Settings for enp65s0f0np0:
//		Supported ports: [ FIBRE ]
//		Supported link modes:   1000baseKX/Full
//		                        25000baseCR/Full
//		Supported pause frame use: Symmetric
func supportedSpeed(text string) (mbits int64, reported bool) {
	_, text, _ = strings.Cut(text, "Supported link modes:")
	if strings.HasPrefix(strings.TrimSpace(text), "Not reported") {
		return 0, true
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, ":") {
			break
		}
		for _, mode := range strings.Fields(line) {
			if m := linkMode().FindStringSubmatch(mode); m != nil {
				mode, _ := strconv.ParseInt(m[1], 10, 64)
				mbits = max(mbits, mode)
			}
		}
	}
	return mbits, mbits > 0
}
