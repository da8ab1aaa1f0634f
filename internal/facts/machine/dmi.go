package machine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// dmiTable is the firmware's table as the kernel hands it on; only root may read it.
const dmiTable = "/sys/firmware/dmi/tables/DMI"

// maxStructures bounds the structures looked at; large servers have 1,500.
const maxStructures = 20000

// memorySlot is one place for a memory module.
type memorySlot struct {
	locator, bank string
	// size is in bytes, 0 for an empty slot, -1 where firmware does not know; speeds are in MT/s, 0 unknown.
	size              int64
	configured, rated int64
	kind              string
	array             uint16
	// numbered is set if the letter in the slots' names can't mean a channel.
	numbered bool
}

// CollectDIMMs reads the memory modules out of the firmware's table.
func CollectDIMMs(r collect.Reader, _ collect.Scope) []lab.Fact {
	data, err := r.Bytes(dmiTable)
	slots := memorySlots(data)
	if longRows(slots) {
		for i := range slots {
			slots[i].numbered = true
		}
	}
	reason := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		reason = "no such file here: firmware hands on no table"
	case err != nil:
		reason = collect.Why(err)
	case len(slots) == 0:
		reason = "the table names no memory slots"
	}
	if reason != "" {
		return []lab.Fact{collect.Unknown("memory.channels", dmiTable, reason),
			collect.Unknown("memory.channels.used", dmiTable, reason)}
	}
	facts := memoryChannels(slots)
	names := slotNames(slots)
	for i, s := range slots {
		facts = append(facts, collect.About(names[i], s.facts()...)...)
	}
	return facts
}

// slotNames are the locators; where those repeat (DIMM 0 of each channel), with the bank in front.
func slotNames(slots []memorySlot) []string {
	times := map[string]int{}
	for _, s := range slots {
		times[s.locator]++
	}
	names, seen := make([]string, len(slots)), map[string]int{}
	for i, s := range slots {
		name := s.locator
		if times[name] > 1 && s.bank != "" {
			name = s.bank + " " + name
		}
		if name == "" {
			name = "slot"
		}
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s #%d", name, seen[name])
		}
		names[i] = name
	}
	return names
}

func (s memorySlot) facts() []lab.Fact {
	number := func(key string, n int64, ok bool) lab.Fact {
		switch {
		case s.size == 0:
			return collect.Unknown(key, dmiTable, "the slot is empty")
		case !ok:
			return collect.Unknown(key, dmiTable, "firmware does not say")
		}
		return collect.Whole(key, n, dmiTable)
	}
	size := collect.Unknown("dimm.size", dmiTable, "firmware does not say")
	if s.size >= 0 {
		size = collect.Whole("dimm.size", s.size, dmiTable)
	}
	kind := collect.Unknown("dimm.type", dmiTable, "firmware does not say")
	if s.size == 0 {
		kind.Unknown = "the slot is empty"
	} else if s.kind != "" {
		kind = collect.Known("dimm.type", s.kind, dmiTable)
	}
	channel := collect.Unknown("dimm.channel", dmiTable, "firmware does not say")
	if name, ok := s.channel(); ok {
		channel = collect.Known("dimm.channel", name, dmiTable)
	} else if s.bank != "" {
		channel = collect.Known("dimm.channel", s.bank, dmiTable)
	}
	return []lab.Fact{size, number("dimm.speed", s.configured, s.configured > 0),
		number("dimm.max_speed", s.rated, s.rated > 0), kind, channel}
}

// channelName finds a channel in a locator. Makers write, in the bank or in the slot's name:
//
//	P0_Node0_Channel1_Dimm0   P0 CHANNEL A   ChannelA-DIMM0   Controller0-ChannelB-DIMM1
var channelName = prose.Pattern(`(?i)^(.*?channel[ _-]?[0-9a-z]+?)(?:[ _-]|$)`)

// channelLetter finds one in a slot's name that ends in a letter and a number: DIMM_A1, P1-DIMMA1, CPU2_DIMM_C1,
// DIMM_P0_A0. The letter is the channel. A name without DIMM (A1, of Dell's) is not taken: there the number counts the
// channels.
var channelLetter = prose.Pattern(`(?i)^(.*dimm(?:[ _-]p[0-9])?[ _-]?[a-z])[ _-]?([0-9]+)$`)

// maxPerChannel is how many modules one channel of any processor takes.
const maxPerChannel = 3

// longRows reports whether a letter has more slots than a channel can have: DIMM_A1 to DIMM_A12 of Dell's PowerEdge 11G
// and 12G, whose letters are sockets.
func longRows(slots []memorySlot) bool {
	for _, s := range slots {
		if found := channelLetter().FindStringSubmatch(s.locator); found != nil {
			if n, err := strconv.Atoi(found[2]); err != nil || n > maxPerChannel {
				return true
			}
		}
	}
	return false
}

// channel is what the slot's names say about its channel, with the socket and the controller in front.
func (s memorySlot) channel() (string, bool) {
	for _, name := range []string{s.bank, s.locator} {
		if found := channelName().FindStringSubmatch(name); found != nil {
			return found[1], true
		}
	}
	if found := channelLetter().FindStringSubmatch(s.locator); found != nil && !s.numbered {
		return found[1], true
	}
	return "", false
}

// memoryChannels counts the channels that have a slot, and those that have a module.
func memoryChannels(slots []memorySlot) []lab.Fact {
	all, used := map[string]bool{}, map[string]bool{}
	for _, s := range slots {
		name, ok := s.channel()
		if !ok {
			const reason = "the slots' names do not tell their channels: "
			return []lab.Fact{collect.Unknown("memory.channels", dmiTable, reason+s.locator),
				collect.Unknown("memory.channels.used", dmiTable, reason+s.locator)}
		}
		all[name] = true
		if s.size != 0 {
			used[name] = true
		}
	}
	return []lab.Fact{collect.Whole("memory.channels", int64(len(all)), dmiTable),
		collect.Whole("memory.channels.used", int64(len(used)), dmiTable)}
}

// Structures of the table that are read here, and the use of an array that holds the system's memory.
const (
	structureArray  = 16
	structureDevice = 17
	structureEnd    = 127
	arrayOfSystem   = 3
)

// memorySlots reads the structures Memory Device of the table. Source: DMTF DSP0134 (SMBIOS), "Physical Memory Array
// (Type 16)" and "Memory Device (Type 17)". Each structure is a type, the length of its fields, a handle of two bytes,
// the fields, and then its strings, each ended by a zero and all of them by one more. Numbers are little-endian.
//
//	11 5c 2e 00 2c 00 fe ff 48 00 40 00 ff 7f 09 00 01 02 1a 80 20 80 0c 03 04 05 06 02 00 00 01 00 80 0c …
//	P1-DIMMA1\0P0_Node0_Channel0_Dimm0\0Samsung\0…\0\0
//
// is a module of 64 GB (its size stands further behind), DDR4, rated for 3200 MT/s and running at that.
func memorySlots(data []byte) []memorySlot {
	var slots []memorySlot
	uses := map[uint16]byte{}
	for n := 0; n < maxStructures && len(data) >= 4; n++ {
		length := int(data[1])
		if length < 4 || length > len(data) {
			break
		}
		kind, handle, fields := data[0], binary.LittleEndian.Uint16(data[2:]), data[:length]
		words, rest, ok := structureStrings(data[length:])
		switch kind {
		case structureArray:
			if length > 5 {
				uses[handle] = fields[5]
			}
		case structureDevice:
			if s, ok := memoryDevice(fields, words); ok {
				slots = append(slots, s)
			}
		}
		if data = rest; kind == structureEnd || !ok {
			break
		}
	}
	// An array may come after its devices, so its use is looked up now: flash of the firmware is not memory.
	ours := slots[:0]
	for _, s := range slots {
		if use, ok := uses[s.array]; !ok || use == arrayOfSystem {
			ours = append(ours, s)
		}
	}
	return ours
}

// structureStrings splits the strings behind a structure from what follows; false when the table ends within them.
func structureStrings(data []byte) (words []string, rest []byte, ok bool) {
	start := 0
	for i, c := range data {
		if c != 0 {
			continue
		}
		if i == start && (len(words) > 0 || i == 1) {
			return words, data[i+1:], true
		}
		if i > start {
			words = append(words, string(data[start:i]))
		}
		start = i + 1
	}
	return words, nil, false
}

// memoryDevice reads one structure; fields that firmware of an older version of the standard does not have are unknown.
func memoryDevice(fields []byte, words []string) (memorySlot, bool) {
	word := func(at int) (uint16, bool) {
		if at+2 > len(fields) {
			return 0, false
		}
		return binary.LittleEndian.Uint16(fields[at:]), true
	}
	long := func(at int) int64 {
		if at+4 > len(fields) {
			return 0
		}
		return int64(binary.LittleEndian.Uint32(fields[at:]) & 0x7fffffff)
	}
	text := func(at int) string {
		if at >= len(fields) || fields[at] == 0 || int(fields[at]) > len(words) {
			return ""
		}
		name := collect.OneLine(words[fields[at]-1])
		if strings.EqualFold(name, "Not Specified") || strings.EqualFold(name, "Unknown") {
			return ""
		}
		return name
	}
	speed := func(at, extended int) int64 {
		switch v, ok := word(at); {
		case !ok:
			return 0
		case v == 0xffff:
			return long(extended)
		default:
			return int64(v)
		}
	}
	size, ok := word(0x0c)
	if !ok || len(fields) < 0x15 {
		return memorySlot{}, false
	}
	s := memorySlot{locator: text(0x10), bank: text(0x11), kind: memoryType(fields[0x12]),
		rated: speed(0x15, 0x54), configured: speed(0x20, 0x58)}
	s.array, _ = word(0x04)
	switch {
	case size == 0xffff:
		s.size = -1
	case size == 0x7fff && len(fields) >= 0x20:
		s.size = long(0x1c) << 20
	case size&0x8000 != 0:
		s.size = int64(size&0x7fff) << 10
	default:
		s.size = int64(size) << 20
	}
	return s, true
}

// memoryType names the types of present machines; the standard's table 7.18.2 begins with types of the 1980s.
func memoryType(code byte) string {
	switch code {
	case 0x12:
		return "DDR"
	case 0x13:
		return "DDR2"
	case 0x14:
		return "DDR2 FB-DIMM"
	case 0x18:
		return "DDR3"
	case 0x1a:
		return "DDR4"
	case 0x1b:
		return "LPDDR"
	case 0x1c:
		return "LPDDR2"
	case 0x1d:
		return "LPDDR3"
	case 0x1e:
		return "LPDDR4"
	case 0x1f:
		return "non-volatile"
	case 0x20:
		return "HBM"
	case 0x21:
		return "HBM2"
	case 0x22:
		return "DDR5"
	case 0x23:
		return "LPDDR5"
	case 0x24:
		return "HBM3"
	}
	return ""
}
