package record_test

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/record"
)

// formats returns the formats of Linux 6.18, with the archive that contains them.
func formats(t *testing.T) (record.EventFormats, *zip.ReadCloser) {
	t.Helper()
	archive, err := zip.OpenReader("testdata/linux-6.18-block.zip")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = archive.Close() })
	f, err := record.ReadEventFormats(archive, record.StageEvents()...)
	if err != nil {
		t.Fatal(err)
	}
	return f, archive
}

// written parses events, a line each, in the style of the kernel's text: time in ns, event, device, flags, sectors.
//
//	10 bio_queue 7,0 R 100 + 8
//	12 split 7,0 R 100 / 104
//	15 bio_remap 8,0 R 1100 + 8 <- (8,1) 100
//
// A line "lost N" means that N events were lost before the next one, "gap" that the next one is in a gap of another
// CPU.
var writtenLine = regexp.MustCompile(`^(\d+) (\w+) (\d+),(\d+) (\w+) (\d+) ([+/]) (\d+)(?: <- \((\d+),(\d+)\) (\d+))?$`)

func written(t *testing.T, formats record.EventFormats, text string) []record.TracedEvent {
	t.Helper()
	var events []record.TracedEvent
	next := record.TracedEvent{}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if line == "gap" {
			next.Gap = true
			continue
		}
		if _, err := fmt.Sscanf(line, "lost %d", &next.Lost); err == nil {
			next.Gap = true
			continue
		}
		m := writtenLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("not an event: %q", line)
		}
		number := func(i int) uint64 { n, _ := strconv.ParseUint(m[i], 10, 64); return n }
		format, ok := formats.Event("block:block_" + m[2])
		if !ok {
			t.Fatalf("no event %s", m[2])
		}
		next.Time, next.Type, next.Data = number(1), format.ID, make([]byte, 64)
		put := func(field string, value uint64) {
			f, ok := format.Field(field)
			if !ok {
				return
			}
			all := binary.LittleEndian.AppendUint64(nil, value)
			copy(next.Data[f.Offset:f.Offset+f.Size], all)
		}
		put("dev", number(3)<<20|number(4))
		put("sector", number(6))
		put("nr_sector", number(8))
		put("new_sector", number(8))
		put("old_dev", number(9)<<20|number(10))
		put("old_sector", number(11))
		flags, _ := format.Field("rwbs")
		copy(next.Data[flags.Offset:], m[5])
		events = append(events, next)
		next = record.TracedEvent{}
	}
	return events
}

func accumulate(t *testing.T, formats record.EventFormats, text string, devices ...string) profile.Stages {
	t.Helper()
	a, err := record.NewStageAccumulator(formats, devices)
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range written(t, formats, text) {
		a.Add(event)
	}
	return a.Result(1)
}

// printedStages returns a line for each group, with each time that was counted and how often if more than once.
func printedStages(s profile.Stages) string {
	var b strings.Builder
	for _, g := range s.Groups {
		fmt.Fprintf(&b, "%s %s %d n=%d", g.Device, g.Direction, g.Bytes, g.Count)
		for i, h := range []struct {
			ns     []int64
			counts []uint64
		}{{g.Above.Nanoseconds, g.Above.Counts}, {g.Scheduler.Nanoseconds, g.Scheduler.Counts},
			{g.InDevice.Nanoseconds, g.InDevice.Counts}} {
			var times []string
			for j, ns := range h.ns {
				times = append(times, fmt.Sprint(ns))
				if h.counts[j] > 1 {
					times[j] += fmt.Sprintf("x%d", h.counts[j])
				}
			}
			fmt.Fprintf(&b, " %s=%s", [...]string{"above", "scheduler", "device"}[i], strings.Join(times, ","))
		}
		b.WriteByte('\n')
	}
	for name, counts := range map[string]map[string]uint64{"merged": s.Merged, "split": s.Split,
		"requeued": s.Requeued} {
		if n := counts["7:0"]; n > 0 {
			fmt.Fprintf(&b, "%s %d\n", name, n)
		}
	}
	return b.String()
}
