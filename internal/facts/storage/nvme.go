package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/lab"
)

// maxAsked is how many drives are asked themselves: each question is a command that the drive answers beside its work.
const maxAsked = 64

// nvmeDisks returns the namespaces whose drives can be queried safely: they are behind a local controller that is
// alive. A controller across a network may not answer, and a controller that is being reset makes the caller wait.
func nvmeDisks(s Stack) (asked []blockDevice, refused map[string]string) {
	refused = map[string]string{}
	for _, d := range s.known.wholeDisks() {
		if !strings.HasPrefix(d.Name, "nvme") {
			continue
		}
		controllers := d.controllers(s.Reader)
		if len(controllers) == 0 {
			refused[d.Name] = "/sys shows no controller that leads to it"
			continue
		}
		transport, err := s.Text(controllers[0] + "/transport")
		state, stateErr := s.Text(controllers[0] + "/state")
		switch {
		case err == nil && transport != "pcie":
			refused[d.Name] = "drives across a network (" + transport + ") are not asked; they might not answer"
		case stateErr == nil && state != "live":
			refused[d.Name] = "its controller is " + state
		case len(asked) == maxAsked:
			refused[d.Name] = fmt.Sprintf("only the first %d drives are asked", maxAsked)
		default:
			asked = append(asked, d)
		}
	}
	return asked, refused
}

// NVMeCommands asks each drive for its formats and its health. Both answers come from commands alone, which only root
// may send.
func NVMeCommands(in collect.Scope) [][]string {
	r := collect.Reader{FS: in.Files}
	if cannotRun(r, "nvme", "nvme-cli") != "" {
		return nil
	}
	asked, _ := nvmeDisks(inventoryOf(collect.Reader{FS: in.Files}, in))
	var commands [][]string
	for _, d := range asked {
		commands = append(commands, formatsCommand(d.Name), healthCommand(d.Name))
	}
	return commands
}

func formatsCommand(disk string) []string {
	return []string{"nvme", "id-ns", "--output-format=json", "/dev/" + disk}
}

func healthCommand(disk string) []string { return wearCommands(disk, "/dev/"+disk)[0].argv }

// cannotRun says why a tool that needs root can't be used; empty when it can.
func cannotRun(r collect.Reader, program, pack string) string {
	if machine.Privileged(r).Value != "yes" {
		return "permission denied; root may read it"
	}
	for _, dir := range machine.SearchPath(r) {
		if r.Exists(path.Join(dir, program)) {
			return ""
		}
	}
	return pack + " is not installed"
}

// CollectNVMe collects what drives report when queried: temperature through the kernel's sensor, formats and health
// through nvme-cli.
func CollectNVMe(r collect.Reader, in collect.Scope) []lab.Fact {
	s := inventoryOf(r, in)
	_, refused := nvmeDisks(s)
	cannot := cannotRun(s.Reader, "nvme", "nvme-cli")
	disks := slices.DeleteFunc(s.known.wholeDisks(), func(d blockDevice) bool {
		return !strings.HasPrefix(d.Name, "nvme")
	})
	return collect.Spread(len(disks), func(i int) []lab.Fact {
		name, reason := disks[i].Name, refused[disks[i].Name]
		facts := temperatures(s.Reader, name, reason)
		if reason == "" {
			reason = cannot
		}
		facts = append(facts, formats(s.Reader, name, reason, in)...)
		return collect.About(name, append(facts, health(name, reason, in)...)...)
	})
}

// temperatures are the drive's own and the one at which it warns (WCTEMP, or the threshold that was set). The kernel
// asks the drive for both. Sources: the kernel's drivers/nvme/host/hwmon.c and Documentation/hwmon/sysfs-interface.rst.
//
//	/sys/class/nvme/nvme0/hwmon1/temp1_input:  38850
//	/sys/class/nvme/nvme0/hwmon1/temp1_max:    81850
func temperatures(r collect.Reader, disk, refused string) []lab.Fact {
	const now, warning = "disk.nvme.temperature", "disk.nvme.temperature.warning"
	dev := Class(disk) + "/device"
	if refused != "" {
		return []lab.Fact{collect.Unknown(now, dev, refused), collect.Unknown(warning, dev, refused)}
	}
	file, ok := SensorOf(r, disk)
	if !ok {
		const reason = "the kernel shows no sensor; CONFIG_NVME_HWMON makes it"
		return []lab.Fact{collect.Unknown(now, dev, reason), collect.Unknown(warning, dev, reason)}
	}
	return []lab.Fact{
		degrees(r.Fact(now, file)),
		degrees(r.Fact(warning, strings.TrimSuffix(file, "input")+"max")),
	}
}

// degrees turns thousandths into degrees.
func degrees(f lab.Fact) lab.Fact {
	if n, err := strconv.ParseInt(f.Value, 10, 64); err == nil {
		f.Value = strconv.FormatFloat(float64(n)/1000, 'f', -1, 64)
	}
	return f
}

// The facts about the formats of a namespace.
const (
	formatInUse    = "disk.nvme.format"
	formatsOnOffer = "disk.nvme.formats"
	betterOnOffer  = "disk.nvme.better_format"
)

// formats of a namespace: in use, on offer, and a faster one. Kernels since 6.8 tell the one in use themselves.
func formats(r collect.Reader, disk, reason string, in collect.Scope) []lab.Fact {
	command := formatsCommand(disk)
	source := lab.ShellQuote(command)
	if reason == "" {
		p := in.Lookup(command)
		facts, err := FormatFacts([]byte(p.Stdout), source)
		if reason = p.Failed; reason == "" && err == nil {
			return facts
		}
		if reason == "" {
			reason = "nvme: " + err.Error()
		}
	}
	facts := []lab.Fact{collect.Unknown(formatInUse, source, reason),
		collect.Unknown(formatsOnOffer, source, reason), collect.Unknown(betterOnOffer, source, reason)}
	size, err := r.Number(Class(disk) + "/queue/logical_block_size")
	metadata, err2 := r.Number(Class(disk) + "/metadata_bytes")
	if err == nil && err2 == nil {
		facts[0] = collect.Known(formatInUse, fmt.Sprintf("%d+%d", size, metadata), Class(disk)+"/metadata_bytes")
	}
	return facts
}

// FormatFacts are the facts that follow from what parseFormats reads, the format in use first.
func FormatFacts(data []byte, source string) ([]lab.Fact, error) {
	formats, current, err := parseFormats(data)
	if err != nil {
		return nil, err
	}
	list := make([]string, len(formats))
	for i, f := range formats {
		list[i] = fmt.Sprintf("%s rp%d", f, f.performance)
	}
	best := catalogue.None
	if f, ok := betterFormat(formats, current); ok {
		best = f.String()
	}
	return []lab.Fact{collect.Known(formatInUse, formats[current].String(), source),
		collect.ListOf(formatsOnOffer, list, source), collect.Known(betterOnOffer, best, source)}, nil
}

// lbaFormat is a way to format a namespace, in bytes a block. Source: NVM Command Set Specification, Identify
// Namespace, "LBA Format Data Structure"; performance 0 is the best of a drive's formats, 3 the worst.
type lbaFormat struct {
	data, metadata int64
	performance    int64
}

func (f lbaFormat) String() string { return fmt.Sprintf("%d+%d", f.data, f.metadata) }

// parseFormats reads "nvme id-ns --output-format=json": the formats on offer and which of them is in use. "ds" is the
// power of two of the block's size, 0 for a format that can't be had. "flbas" holds the number of the format in use,
// its low four bits and, for drives with more than sixteen, two more in bits 5 and 6.
//
//	"nlbaf" : 1,
//	"flbas" : 0,
//	"lbafs" : [ { "ms" : 0, "ds" : 9, "rp" : 2 }, { "ms" : 0, "ds" : 12, "rp" : 0 } ]
func parseFormats(data []byte) (formats []lbaFormat, current int, err error) {
	var doc struct {
		InUse   amount `json:"flbas"`
		Last    amount `json:"nlbaf"`
		Formats []struct {
			Metadata    amount `json:"ms"`
			Power       amount `json:"ds"`
			Performance amount `json:"rp"`
		} `json:"lbafs"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, 0, errors.New("its output is not the JSON that was asked for")
	}
	bits := int(min(doc.InUse.value, 255))
	use := bits & 0xf
	if doc.Last.value >= 16 {
		use |= bits >> 5 & 3 << 4
	}
	current = -1
	for i, f := range doc.Formats {
		// Blocks of 512 bytes to 64 MiB; the specification knows no smaller ones, and larger ones make no sense.
		if f.Power.value < 9 || f.Power.value > 26 || f.Metadata.value > 1<<16 {
			continue
		}
		if i == use {
			current = len(formats)
		}
		formats = append(formats, lbaFormat{1 << int(f.Power.value), int64(f.Metadata.value),
			int64(min(f.Performance.value, 3))})
	}
	if current < 0 || !doc.InUse.known {
		return nil, 0, errors.New("it does not say which format is in use")
	}
	return formats, current, nil
}

// betterFormat is the format that performs best among those with the metadata of the one in use, when it performs
// better.
func betterFormat(formats []lbaFormat, current int) (lbaFormat, bool) {
	same := slices.DeleteFunc(slices.Clone(formats), func(f lbaFormat) bool {
		return f.metadata != formats[current].metadata
	})
	best := slices.MinFunc(same, func(a, b lbaFormat) int { return int(a.performance - b.performance) })
	return best, best.performance < formats[current].performance
}

// health of a drive: how worn it is and whether it was too hot.
func health(disk, reason string, in collect.Scope) []lab.Fact {
	command := healthCommand(disk)
	source := lab.ShellQuote(command)
	var log smartLog
	if reason == "" {
		p := in.Lookup(command)
		if reason = p.Failed; reason == "" && json.Unmarshal([]byte(p.Stdout), &log) != nil {
			reason = "nvme: its output is not the JSON that was asked for"
		}
	}
	var facts []lab.Fact
	for _, f := range []struct {
		key   string
		value amount
	}{
		{"disk.nvme.wear", log.Used}, {"disk.nvme.spare", log.Spare},
		{"disk.nvme.media_errors", log.MediaErrors}, {"disk.nvme.throttled", log.TooHot},
	} {
		switch {
		case reason != "":
			facts = append(facts, collect.Unknown(f.key, source, reason))
		case !f.value.known || f.value.value >= 1<<63:
			facts = append(facts, collect.Unknown(f.key, source, "the drive does not say"))
		default:
			facts = append(facts, collect.Whole(f.key, int64(f.value.value), source))
		}
	}
	return facts
}

// smartLog is what "nvme smart-log --output-format=json" prints, the parts that facts are made of.
//
//	"avail_spare" : 100,
//	"percent_used" : 15,
//	"media_errors" : 0,
//	"warning_temp_time" : 0
type smartLog struct {
	Used        amount `json:"percent_used"`
	Spare       amount `json:"avail_spare"`
	MediaErrors amount `json:"media_errors"`
	// TooHot is minutes above the warning temperature.
	TooHot amount `json:"warning_temp_time"`
}

// SensorOf finds a disk's own temperature. The nvme driver hangs its sensor on the controller, older kernels one folder
// higher; drivetemp hangs one on a SATA or SAS disk. The first input is the composite temperature. The nvme driver
// keeps a reading for a second, so that asking often costs the drive nothing.
func SensorOf(r collect.Reader, disk string) (string, bool) {
	dev := Class(disk) + "/device"
	for _, pattern := range []string{
		"/hwmon[0-9]*", "/hwmon/hwmon[0-9]*", "/device/hwmon/hwmon[0-9]*", "/nvme[0-9]*/hwmon[0-9]*",
	} {
		if found := r.Glob(dev + pattern + "/temp1_input"); len(found) > 0 {
			return found[0], true
		}
	}
	return "", false
}
