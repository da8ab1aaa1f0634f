package storage

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Wear is how much of a drive's life is used.
type Wear struct {
	// Used is the share of the rated life that is used, as the drive estimates it: 0.12. It goes above 1 on a drive
	// that outlives its rating.
	Used float64
	// Written is what hosts have written to the drive in its life, in bytes; 0 when it does not say.
	Written int64
	// Rated is an estimate of the bytes that the drive is rated for; 0 when there is none. See estimateRated.
	Rated int64
	// Source is the command that told.
	Source string
	// Unknown is why nothing is known; empty when Used is.
	Unknown string
}

// Endurance asks a drive for its wear: nvme-cli first, smartctl next. Both need root and a drive that answers. If
// neither reports it, Unknown has the message of each. smartctl gets the option to leave a sleeping disk asleep.
func Endurance(ctx context.Context, t host.Target, disk string) Wear {
	node := "/dev/" + strings.ReplaceAll(disk, "!", "/")
	var reasons []string
	for _, way := range wearCommands(disk, node) {
		p := collect.RunCommand(ctx, t, way.argv)
		w, err := way.parse([]byte(p.Stdout))
		if err == nil {
			w.Source = lab.ShellQuote(way.argv)
			return w
		}
		reason := p.Failed
		if reason == "" {
			reason = way.argv[0] + ": " + err.Error()
		}
		reasons = append(reasons, reason)
	}
	return Wear{Unknown: strings.Join(reasons, "; ")}
}

type wearCommand struct {
	argv  []string
	parse func([]byte) (Wear, error)
}

func wearCommands(disk, node string) []wearCommand {
	smartctl := wearCommand{[]string{"smartctl", "--json", "--xall", "--nocheck=standby", node}, parseSmartctl}
	if !strings.HasPrefix(disk, "nvme") {
		return []wearCommand{smartctl}
	}
	return []wearCommand{{[]string{"nvme", "smart-log", "--output-format=json", node}, parseSmartLog}, smartctl}
}

// dataUnit is the unit of "data units written": a thousand sectors of 512 bytes. Source: NVM Express Base
// Specification, Get Log Page, SMART / Health Information (log 02h).
const dataUnit = 1000 * 512

// parseSmartLog reads "nvme smart-log --output-format=json". Large counters are numbers, in some versions numbers with
// an exponent or strings.
//
//	"percent_used" : 15,
//	"data_units_read" : 499296134,
//	"data_units_written" : 1474968593,
func parseSmartLog(data []byte) (Wear, error) {
	var doc struct {
		Used    amount `json:"percent_used"`
		Written amount `json:"data_units_written"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return Wear{}, errors.New("its output is not the JSON that was asked for")
	}
	return wearOf(doc.Used, doc.Written, dataUnit)
}

// parseSmartctl reads "smartctl --json --xall" of 7.0 and newer, for NVMe and for SATA. Since 7.4 "endurance_used" says
// the same for both. A SATA drive has its figures in the device statistics: page 7 the share used, page 1 what was
// written.
//
//	"endurance_used": { "current_percent": 3 },
//	"nvme_smart_health_information_log": { "percentage_used": 3, "data_units_written": 47838912 },
//	{ "name": "Logical Sectors Written", "value": 98283747421 }
func parseSmartctl(data []byte) (Wear, error) {
	var doc struct {
		Endurance struct {
			Percent amount `json:"current_percent"`
		} `json:"endurance_used"`
		NVMe struct {
			Used    amount `json:"percentage_used"`
			Written amount `json:"data_units_written"`
		} `json:"nvme_smart_health_information_log"`
		LogicalBlock amount `json:"logical_block_size"`
		Statistics   struct {
			Pages []struct {
				Table []struct {
					Name  string `json:"name"`
					Value amount `json:"value"`
				} `json:"table"`
			} `json:"pages"`
		} `json:"ata_device_statistics"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return Wear{}, errors.New("its output is not the JSON that was asked for")
	}
	used, written, unit := doc.NVMe.Used, doc.NVMe.Written, float64(dataUnit)
	for _, page := range doc.Statistics.Pages {
		for _, row := range page.Table {
			switch row.Name {
			case "Logical Sectors Written":
				written, unit = row.Value, SectorSize
				if doc.LogicalBlock.known {
					unit = doc.LogicalBlock.value
				}
			case "Percentage Used Endurance Indicator":
				used = row.Value
			}
		}
	}
	if !used.known {
		used = doc.Endurance.Percent
	}
	return wearOf(used, written, unit)
}

func wearOf(percent, written amount, unit float64) (Wear, error) {
	if !percent.known {
		return Wear{}, errors.New("the drive does not say how worn it is")
	}
	w := Wear{Used: percent.value / 100}
	if total := written.value * unit; written.known && total < math.MaxInt64 {
		w.Written = int64(total)
	}
	w.Rated = estimateRated(percent.value, w.Written)
	return w, nil
}

// estimateRated guesses the bytes that a drive is rated for, which hardly any drive reports: the bytes written, divided
// by the share of life that they used up. The share is a whole percentage, rounded down, so the truth for p% lies
// between written/(p+1)% and written/p%. The lower end is taken, so that a plan to write never seems smaller than it
// is. Up to 1% the two ends are too far apart for an estimate to mean anything, and a drive at 255 has stopped
// counting; both give 0. The guess assumes that the kind of writes stays the same: small random writes wear a drive
// faster than the maker's figure assumes.
func estimateRated(percent float64, written int64) int64 {
	if percent < 2 || percent >= 255 || written <= 0 {
		return 0
	}
	return int64(float64(written) * 100 / (percent + 1))
}

// amount is a number of JSON that may be missing, written as an integer, with an exponent, or as a string.
type amount struct {
	value float64
	known bool
}

// UnmarshalJSON never fails: a form that is not understood leaves the amount unknown, and the rest of the document
// stands.
func (a *amount) UnmarshalJSON(data []byte) error {
	text := strings.ReplaceAll(strings.Trim(string(data), `"`), ",", "")
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && v >= 0 && !math.IsInf(v, 0) {
		a.value, a.known = v, true
	}
	return nil
}
