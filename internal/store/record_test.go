package store

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-faster/jx"

	"github.com/headroom/headroom/internal/lab"
)

// A record must read back as what it was, and a field that is added to lab.Repetition must not be forgotten here.
// unset returns the fields of a value, at any depth, that are zero. A field of the elements of a list is set if it is
// set in any of them.
func unset(name string, values ...reflect.Value) []string {
	values = slices.DeleteFunc(slices.Clone(values), reflect.Value.IsZero)
	if len(values) == 0 {
		return []string{name}
	}
	var all []string
	var inside []reflect.Value
	for _, v := range values {
		switch v.Kind() {
		case reflect.Pointer:
			inside = append(inside, v.Elem())
		case reflect.Slice:
			for i := range v.Len() {
				inside = append(inside, v.Index(i))
			}
		case reflect.Map:
			for _, key := range v.MapKeys() {
				inside = append(inside, v.MapIndex(key))
			}
		}
	}
	if len(inside) > 0 && inside[0].Kind() >= reflect.Array {
		return unset(name, inside...)
	}
	if t := values[0].Type(); t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]() {
		for i := range t.NumField() {
			var fields []reflect.Value
			for _, v := range values {
				fields = append(fields, v.Field(i))
			}
			all = append(all, unset(name+"."+t.Field(i).Name, fields...)...)
		}
	}
	return all
}

func TestRecordsReadBack(t *testing.T) {
	full := lab.Repetition{
		Cell: "a \"quoted\" cell", Number: 3, Boot: "b", Block: 2, Position: 4, Confirms: true, Did: []string{"set"},
		After: "other",
		Layout: lab.LayoutState{Kind: "file", ID: "1", Written: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
			Bytes: 1 << 40},
		Start:   time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC),
		Seconds: 1.5,
		Took:    2.25,
		Command: []string{"fio", "--name=<ü>\n"},
		Ports: []lab.PortTraffic{{End: "client", Port: "eth0", Expected: true, Received: lab.PortFlow{Bytes: 1 << 40,
			Packets: 5, Errors: 1, Dropped: 2, Paused: 3}, Sent: lab.PortFlow{Bytes: 7, Packets: 6,
			Errors: 4, Dropped: 3, Paused: 2}}, {End: "server", Port: "lo"}},
		Transports: []lab.TransportCalls{{End: "client", Kind: "tcp", Calls: 1 << 40}, {}},
		Values:     map[string]float64{"read.iops": 1e21, "read.latency.mean": 1.25e-7, "cpu.user": 0},
		Samples: map[string]lab.Samples{"read.bandwidth": {Min: 1, Max: 2.5, Count: 3, Jobs: 4},
			"read.iops": {Max: 1, Jobs: 1}},
		KernelCounters: map[string]float64{"seconds": 5.5, "interrupts.TLB": 812},
		Latency: map[string]lab.Histogram{"read": {Nanoseconds: []int64{1, 1 << 50},
			Counts: []uint64{1 << 60, 2}}},
		Series: []lab.Series{{Metric: "read.iops", Interval: 1, Values: []float64{1, 0, 2.5}}},
		Events: &lab.EventResult{Rate: lab.Series{Metric: "iops", Interval: 0.1, Values: []float64{1, 0}},
			Each: []lab.Occurrence{{At: 20.5, Took: 0.25, Undone: 40, UndoTook: 0.5, Uncertainty: 0.0625},
				{Failed: "no such link"}}},
		Warnings: []lab.Warning{{Code: "c", Text: "t", Taints: []string{"*"}, MostError: 0.25}},
		Raw:      []string{"x/1/fio.json"},
	}
	for _, field := range unset("", reflect.ValueOf(full)) {
		t.Errorf("the field %s is not set in this test, which would not see if it is lost", field)
	}
	for name, rep := range map[string]lab.Repetition{"full": full,
		"empty": {Cell: "c", Number: 1, Values: map[string]float64{}}} {
		var e jx.Encoder
		encodeRepetition(&e, rep)
		var back lab.Repetition
		if err := json.Unmarshal(e.Bytes(), &back); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, e.Bytes())
		}
		if !reflect.DeepEqual(rep, back) {
			t.Errorf("%s:\n%+v\nread back as\n%+v", name, rep, back)
		}
		var ours, theirs any
		plain, err := json.Marshal(rep)
		if err != nil {
			t.Fatal(err)
		}
		if json.Unmarshal(e.Bytes(), &ours) != nil || json.Unmarshal(plain, &theirs) != nil ||
			!reflect.DeepEqual(ours, theirs) {
			t.Errorf("%s:\n%s\nencoding/json has\n%s", name, e.Bytes(), plain)
		}
	}
}
