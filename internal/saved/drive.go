package saved

import (
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/prose"
)

// driveValue is something that tools say of a drive, by the names that they have for it: a file of the disk's folder,
// or a fact.
type driveValue struct {
	names      []string
	read       func(string) string
	file, fact string
}

// driveValues returns what is read about drives. The names are from nvme id-ctrl and smart-log (text and JSON) and from
// smartctl (SATA, SAS, NVMe; text and JSON). Sources: nvme-cli, src/nvme-print-stdout.c and nvme-print-json.c;
// smartmontools, src/ataprint.cpp, scsiprint.cpp and nvmeprint.cpp.
func driveValues() []driveValue {
	const health = "nvme_smart_health_information_log."
	return []driveValue{
		{[]string{"mn", "model_number", "device_model", "product", "scsi_product", "model_name"}, collect.OneLine,
			"device/model", ""},
		{[]string{"fr", "firmware_version", "revision", "scsi_revision"}, collect.OneLine, "device/firmware_rev", ""},
		{[]string{"user_capacity", "namespace_size/capacity", "namespace_size", "user_capacity.bytes"}, sectorsOf,
			"size", ""},
		{[]string{"sector_size", "sector_sizes", "logical_block_size", "namespace_formatted_lba_size"}, digits,
			"queue/logical_block_size", ""},
		{[]string{"sector_size", "sector_sizes", "physical_block_size"}, physicalSize, "queue/physical_block_size", ""},
		{[]string{"rotation_rate"}, rotation, "queue/rotational", ""},
		{[]string{"write_cache_is", "writeback_cache_is", "write_cache.enabled", "vwc"}, cache, "queue/write_cache",
			""},
		{[]string{"sata_version_is", "interface_speed.current.string"}, currentLink, "", "disk.link"},
		{[]string{"transport_protocol", "scsi_transport_protocol.name"}, protocol, "", "disk.transport"},
		{[]string{"percentage_used", "percent_used", health + "percentage_used"}, digits, "", "disk.nvme.wear"},
		{[]string{"available_spare", "avail_spare", health + "available_spare"}, digits, "", "disk.nvme.spare"},
		{[]string{"media_errors", "media_and_data_integrity_errors", health + "media_errors"}, digits, "",
			"disk.nvme.media_errors"},
		{[]string{"warning_temperature_time", "warning_temp_time", "warning_comp._temperature_time",
			"warning_comp._temp._time", health + "warning_temp_time"}, digits, "", "disk.nvme.throttled"},
		{[]string{"temperature"}, degrees, "", "disk.nvme.temperature"},
		{[]string{health + "temperature"}, celsius, "", "disk.nvme.temperature"},
		{[]string{"wctemp", "warning_comp._temp._threshold"}, degrees, "", "disk.nvme.temperature.warning"},
		{[]string{"nvme_composite_temperature_threshold.warning"}, celsius, "", "disk.nvme.temperature.warning"},
	}
}

// drive reads what a tool says of a disk or a controller, by names, and reports whether there was anything.
func (d *blockDevices) drive(name, source string, said map[string]string) bool {
	read := false
	for _, v := range driveValues() {
		for _, n := range v.names {
			text, ok := said[n]
			if ok {
				text = v.read(text)
			}
			onlyNVMe := strings.HasPrefix(v.fact, "disk.nvme.")
			if text == "" || onlyNVMe && !strings.HasPrefix(name, "nvme") {
				continue
			}
			read = true
			d.about(name, said["mn"]+said["model_number"], func(disk string) {
				if v.file != "" {
					d.files.file(storage.Class(disk)+"/"+v.file, text+"\n")
				} else {
					d.told.add(disk, collect.Known(v.fact, text, source))
				}
			})
			break
		}
	}
	return read
}

// keyed are the lines "name: value" of a text, the names in small letters with underscores. Of a name that stands there
// several times the first counts.
func keyed(text string) map[string]string {
	said := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, ":")
		name = strings.ToLower(strings.ReplaceAll(collect.OneLine(name), " ", "_"))
		if value = strings.TrimSpace(value); !ok || value == "" {
			continue
		}
		if _, twice := said[name]; !twice {
			said[name] = value
		}
	}
	return said
}

var (
	grouped      = prose.Pattern(`^\d[\d,.' ]*`)
	kelvinText   = prose.Pattern(`(\d+) ?K`)
	celsiusText  = prose.Pattern(`^(-?\d+) ?[^\w\s]{0,3}C`)
	linkText     = prose.Pattern(`(?:current: |^)(\d\.\d) Gb/s\)?$`)
	physicalText = prose.Pattern(`(\d+) bytes physical`)
)

// digits is a whole number at the beginning of a text, which has the separators of some language or none: "1,234",
// "1.234", "1 234 bytes [1,23 KB]", "3%".
func digits(text string) string {
	text = strings.NewReplacer(",", "", ".", "", "'", "", " ", "").Replace(grouped().FindString(text))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return ""
}

// sectorsOf turns bytes into the unit of the file size.
func sectorsOf(text string) string {
	n, err := strconv.ParseInt(digits(text), 10, 64)
	if err != nil {
		return ""
	}
	return strconv.FormatInt(n/storage.SectorSize, 10)
}

// physicalSize reads "512 bytes logical, 4096 bytes physical", "512 bytes logical/physical" and "4096 bytes".
func physicalSize(text string) string {
	if f := physicalText().FindStringSubmatch(text); f != nil {
		return f[1]
	}
	return digits(text)
}

// rotation reads "7200 rpm" and "Solid State Device", of JSON 7200 and 0.
func rotation(text string) string {
	switch n := digits(text); {
	case n == "0" || strings.Contains(text, "Solid State"):
		return "0"
	case n != "" && n != "1":
		return "1"
	}
	return ""
}

// cache reads whether a drive has a write cache that loses what it holds: "Enabled", of JSON true, of NVMe bit 0 of the
// field VWC. The kernel flushes such a cache, and calls it write back. Sources: NVM Express Base Specification,
// Identify Controller; the kernel's drivers/scsi/sd.c (sd_set_flush_flag) and drivers/nvme/host/core.c.
func cache(text string) string {
	on := text == "Enabled" || text == "true"
	if n, err := strconv.ParseUint(text, 0, 8); err == nil {
		on = n&1 != 0
	} else if !on && text != "Disabled" && text != "false" {
		return ""
	}
	if on {
		return "write back"
	}
	return "write through"
}

// currentLink reads "SATA 3.2, 6.0 Gb/s (current: 3.0 Gb/s)" and, of JSON, "3.0 Gb/s".
func currentLink(text string) string {
	if f := linkText().FindStringSubmatch(text); f != nil {
		return f[1] + " Gbps"
	}
	return ""
}

func protocol(text string) string {
	for prefix, word := range map[string]string{"SAS": "sas", "Fibre channel": "fc", "iSCSI": "iscsi"} {
		if strings.HasPrefix(text, prefix) {
			return word
		}
	}
	return ""
}

// degrees reads a temperature, of which drives tell whole kelvins: "38 °C (311 K, 100 °F)", "38 C (311 Kelvin)",
// "38 Celsius", of JSON 311. Tools take 273 off, the kernel 273.15. A drive that has none says 0.
func degrees(text string) string {
	kelvin := text
	if f := kelvinText().FindStringSubmatch(text); f != nil {
		kelvin = f[1]
	} else if f := celsiusText().FindStringSubmatch(text); f != nil {
		return celsius(f[1])
	}
	n, err := strconv.Atoi(kelvin)
	if err != nil || n <= 0 || n > 1000 {
		return ""
	}
	return strconv.FormatFloat(float64(n*100-27315)/100, 'f', -1, 64)
}

func celsius(text string) string {
	n, err := strconv.Atoi(text)
	if err != nil {
		return ""
	}
	return degrees(strconv.Itoa(n + 273))
}
