package store

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-faster/jx"

	"github.com/headroom/headroom/internal/lab"
)

// encodeRepetition writes a repetition as encoding/json would (a test holds the two together), in a third of the time:
// most of a record are latency bins, some thousand numbers, and imports write ten thousands of records.
func encodeRepetition(e *jx.Encoder, r lab.Repetition) {
	e.ObjStart()
	text(e, "cell", r.Cell)
	number(e, "number", r.Number)
	optionalText(e, "boot", r.Boot)
	optionalNumber(e, "block", r.Block)
	optionalNumber(e, "position", r.Position)
	if r.Confirms {
		e.FieldStart("confirms")
		e.Bool(true)
	}
	optionalTexts(e, "did", r.Did)
	optionalText(e, "after", r.After)
	if r.Layout != (lab.LayoutState{}) {
		e.FieldStart("layout")
		encodeLayout(e, r.Layout)
	}
	optionalTime(e, "start", r.Start)
	if r.Seconds != 0 {
		e.FieldStart("seconds")
		e.Float64(r.Seconds)
	}
	if r.Took != 0 {
		e.FieldStart("took")
		e.Float64(r.Took)
	}
	optionalTexts(e, "command", r.Command)
	if len(r.Ports) > 0 {
		encodePorts(e, r.Ports)
	}
	if len(r.Transports) > 0 {
		encodeTransports(e, r.Transports)
	}
	encodeByName(e, "values", r.Values)
	if len(r.Samples) > 0 {
		encodeSamples(e, r.Samples)
	}
	if len(r.KernelCounters) > 0 {
		encodeByName(e, "tally", r.KernelCounters)
	}
	if len(r.Latency) > 0 {
		e.FieldStart("latency")
		e.ObjStart()
		for _, direction := range slices.Sorted(maps.Keys(r.Latency)) {
			e.FieldStart(direction)
			encodeHistogram(e, r.Latency[direction])
		}
		e.ObjEnd()
	}
	if len(r.Series) > 0 {
		e.FieldStart("series")
		e.ArrStart()
		for _, s := range r.Series {
			encodeSeries(e, s)
		}
		e.ArrEnd()
	}
	if r.Events != nil {
		e.FieldStart("events")
		encodeUpsets(e, *r.Events)
	}
	if len(r.Warnings) > 0 {
		e.FieldStart("warnings")
		e.ArrStart()
		for _, w := range r.Warnings {
			encodeWarning(e, w)
		}
		e.ArrEnd()
	}
	optionalTexts(e, "raw", r.Raw)
	e.ObjEnd()
}

func encodeByName(e *jx.Encoder, field string, values map[string]float64) {
	e.FieldStart(field)
	e.ObjStart()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		e.FieldStart(name)
		e.Float64(values[name])
	}
	e.ObjEnd()
}

func encodePorts(e *jx.Encoder, ports []lab.PortTraffic) {
	e.FieldStart("ports")
	e.ArrStart()
	for _, p := range ports {
		e.ObjStart()
		text(e, "end", p.End)
		text(e, "port", p.Port)
		if p.Expected {
			e.FieldStart("meant")
			e.Bool(true)
		}
		for _, f := range []struct {
			name string
			lab.PortFlow
		}{{"received", p.Received}, {"sent", p.Sent}} {
			e.FieldStart(f.name)
			e.ObjStart()
			number(e, "bytes", int(f.Bytes))
			number(e, "packets", int(f.Packets))
			optionalNumber(e, "errors", int(f.Errors))
			optionalNumber(e, "dropped", int(f.Dropped))
			optionalNumber(e, "paused", int(f.Paused))
			e.ObjEnd()
		}
		e.ObjEnd()
	}
	e.ArrEnd()
}

func encodeTransports(e *jx.Encoder, transports []lab.TransportCalls) {
	e.FieldStart("transports")
	e.ArrStart()
	for _, t := range transports {
		e.ObjStart()
		text(e, "end", t.End)
		text(e, "kind", t.Kind)
		number(e, "calls", int(t.Calls))
		e.ObjEnd()
	}
	e.ArrEnd()
}

func encodeSamples(e *jx.Encoder, samples map[string]lab.Samples) {
	e.FieldStart("samples")
	e.ObjStart()
	for _, metric := range slices.Sorted(maps.Keys(samples)) {
		s := samples[metric]
		e.FieldStart(metric)
		e.ObjStart()
		e.FieldStart("min")
		e.Float64(s.Min)
		e.FieldStart("max")
		e.Float64(s.Max)
		optionalNumber(e, "count", s.Count)
		number(e, "jobs", s.Jobs)
		e.ObjEnd()
	}
	e.ObjEnd()
}

func encodeLayout(e *jx.Encoder, l lab.LayoutState) {
	e.ObjStart()
	optionalText(e, "kind", l.Kind)
	optionalText(e, "id", l.ID)
	optionalTime(e, "written", l.Written)
	if l.Bytes != 0 {
		e.FieldStart("bytes")
		e.Int64(l.Bytes)
	}
	e.ObjEnd()
}

func encodeHistogram(e *jx.Encoder, h lab.Histogram) {
	// Appending to a plain slice is twice as fast as asking the encoder for each number.
	text := make([]byte, 0, 16*len(h.Counts)+32)
	text = append(text, `{"ns":[`...)
	for i, ns := range h.Nanoseconds {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, ns, 10)
	}
	text = append(text, `],"counts":[`...)
	for i, n := range h.Counts {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendUint(text, n, 10)
	}
	e.Raw(append(text, "]}"...))
}

func encodeSeries(e *jx.Encoder, s lab.Series) {
	e.ObjStart()
	text(e, "metric", s.Metric)
	e.FieldStart("interval")
	e.Float64(s.Interval)
	e.FieldStart("values")
	e.ArrStart()
	for _, v := range s.Values {
		e.Float64(v)
	}
	e.ArrEnd()
	e.ObjEnd()
}

func encodeUpsets(e *jx.Encoder, u lab.EventResult) {
	e.ObjStart()
	e.FieldStart("rate")
	encodeSeries(e, u.Rate)
	e.FieldStart("each")
	e.ArrStart()
	for _, h := range u.Each {
		e.ObjStart()
		for _, f := range []struct {
			name     string
			value    float64
			optional bool
		}{{"at", h.At, false}, {"took", h.Took, false}, {"undone", h.Undone, true}, {"undo_took", h.UndoTook, true},
			{"unsure", h.Uncertainty, false}} {
			if f.value != 0 || !f.optional {
				e.FieldStart(f.name)
				e.Float64(f.value)
			}
		}
		optionalText(e, "failed", h.Failed)
		e.ObjEnd()
	}
	e.ArrEnd()
	e.ObjEnd()
}

func encodeWarning(e *jx.Encoder, w lab.Warning) {
	e.ObjStart()
	text(e, "code", w.Code)
	text(e, "text", w.Text)
	e.FieldStart("taints")
	e.ArrStart()
	for _, t := range w.Taints {
		e.Str(t)
	}
	e.ArrEnd()
	if w.MostError != 0 {
		e.FieldStart("most_error")
		e.Float64(w.MostError)
	}
	e.ObjEnd()
}

func text(e *jx.Encoder, name, value string) {
	e.FieldStart(name)
	e.Str(value)
}

func optionalText(e *jx.Encoder, name, value string) {
	if value != "" {
		text(e, name, value)
	}
}

func optionalTexts(e *jx.Encoder, name string, values []string) {
	if len(values) == 0 {
		return
	}
	e.FieldStart(name)
	e.ArrStart()
	for _, v := range values {
		e.Str(v)
	}
	e.ArrEnd()
}

func number(e *jx.Encoder, name string, value int) {
	e.FieldStart(name)
	e.Int(value)
}

func optionalNumber(e *jx.Encoder, name string, value int) {
	if value != 0 {
		number(e, name, value)
	}
}

func optionalTime(e *jx.Encoder, name string, value time.Time) {
	if !value.IsZero() {
		text(e, name, value.Format(time.RFC3339Nano))
	}
}
