package record_test

import (
	"archive/zip"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/profile/record"
)

// In any order of events, nothing panics or loops, only completed requests are counted, and no stage is longer than the
// time of all events.
func FuzzEvents(f *testing.F) {
	archive, err := zip.OpenReader("testdata/linux-6.18-block.zip")
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	formats, err := record.ReadEventFormats(archive, record.StageEvents()...)
	if err != nil {
		f.Fatal(err)
	}
	names := record.StageEvents()
	completions := []string{"block:block_rq_complete", "block:block_bio_complete"}
	f.Add([]byte("\x04\x01\x08\x08\x0a\x01\x08\x08\x09\x01\x08\x08\x08\x01\x08\x08"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := record.NewStageAccumulator(formats, []string{"7:0", "7:1"})
		if err != nil {
			t.Fatal(err)
		}
		var completed, now uint64
		for step := range slices.Chunk(data, 4) {
			if len(step) < 4 {
				break
			}
			now += uint64(step[0] >> 4)
			name := names[int(step[0]&15)%len(names)]
			if slices.Contains(completions, name) {
				completed++
			}
			a.Add(made(formats, name, now, step[1], uint64(step[2]), uint64(step[3])))
		}
		var counted uint64
		for _, g := range a.Result(1).Groups {
			counted += g.Count
			for _, ns := range slices.Concat(g.Above.Nanoseconds, g.Scheduler.Nanoseconds, g.InDevice.Nanoseconds) {
				if float64(ns) > float64(now)*129/128 {
					t.Fatalf("%d ns of %d", ns, now)
				}
			}
		}
		if counted > completed {
			t.Fatalf("%d requests of %d that completed", counted, completed)
		}
	})
}

// made returns an event with few different field values, so that many of them match.
func made(formats record.EventFormats, name string, now uint64, what byte, sector, sectors uint64) record.TracedEvent {
	format, _ := formats.Event(name)
	event := record.TracedEvent{Time: now, Type: format.ID, Gap: what>>6 == 3, Data: make([]byte, 64)}
	put := func(field string, value []byte) {
		if f, ok := format.Field(field); ok {
			copy(event.Data[f.Offset:f.Offset+f.Size], value)
		}
	}
	number := func(value uint64) []byte { return binary.LittleEndian.AppendUint64(nil, value) }
	put("dev", number(7<<20|uint64(what>>3&3)))
	put("old_dev", number(7<<20|uint64(what>>5&1)))
	put("sector", number(sector&31))
	put("old_sector", number(sector>>5))
	put("nr_sector", number(sectors&7))
	put("new_sector", number(sectors>>3))
	put("rwbs", []byte([]string{"R", "W", "FWS", "FF", "D", "N", "FWFS", ""}[what&7]))
	return event
}
