// Package outage computes what an event, caused on purpose while a load was running, did to the load's rate: how deep
// it fell, for how long nothing came through, when it was back, and what was left of it meanwhile. Floats in, findings
// out; it knows nothing of who did what.
package outage

import (
	"fmt"
	"math"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// Rate is the rate of a load, in even steps.
type Rate struct {
	// Step is the seconds that a value is the mean of. The first step began at zero.
	Step   float64
	Values []float64
}

// Event is an event during the load, in seconds from the start of its rate.
type Event struct {
	At float64
	// Took is how long the event's command ran: its effect can begin at any time during it.
	Took float64
	// Undone is when the event was undone; not above At if it was not.
	Undone float64
	// Unsure is the possible error of both times.
	Unsure float64
}

// Level is the median of a stretch with an interval, both as shares of the level before the event.
type Level struct {
	Center     float64 `json:"center"`
	Lo         float64 `json:"lo"`
	Hi         float64 `json:"hi"`
	Confidence float64 `json:"confidence"`
}

// Finding is what an event did. Shares are relative to the rate before it; times are in seconds.
type Finding struct {
	// Unknown is why nothing is known; empty if the effect is known.
	Unknown string `json:"unknown,omitempty"`
	// Before is the rate before the event, in the unit of the rate.
	Before Level `json:"before"`
	// LowestBefore is the lowest step before the event, and StallBefore the longest time without any transfer: the
	// load's usual variation.
	LowestBefore float64 `json:"lowest_before"`
	StallBefore  float64 `json:"stall_before"`
	// Limit is the share that half a second must fall below to be called a dip; the noise before the event decides it.
	// LongLimit is the limit of three seconds, which are less noisy; 0 where too little came before to know it.
	Limit     float64 `json:"limit"`
	LongLimit float64 `json:"long_limit,omitempty"`
	// Event is the time until the event was undone, or the end; Undo is the time from then on, nil if nothing was
	// undone.
	Event Phase  `json:"event"`
	Undo  *Phase `json:"undo,omitempty"`
	// Recovery is the time from the event until the rate was back to RecoveredShare of the rate before the event, and
	// stayed there until the event was undone, or for good. Nil says that it was not back within the load, and 0 that
	// it never fell.
	Recovery *float64 `json:"recovery"`
	// Stall is the longest time without any transfer from the event on.
	Stall float64 `json:"stall"`
	// Lowest is the lowest step from the event on.
	Lowest float64 `json:"lowest"`
	// Resolution is the resolution of all these times.
	Resolution float64 `json:"resolution"`
}

// Phase is the time from one moment to the next.
type Phase struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Dip is set if the rate was lower than its usual variation. Fell is how long after From it fell; nil if it did not
	// fall, or was low already.
	Dip  bool     `json:"dip"`
	Fell *float64 `json:"fell,omitempty"`
	// Lowest is the lowest step; Stall is the longest time without any transfer that began in this phase.
	Lowest float64 `json:"lowest"`
	Stall  float64 `json:"stall"`
	// Back is how long after From the rate was back to RecoveredShare of the rate before the event, for the rest of the
	// phase. It is absent where it was not, or never fell.
	Back *float64 `json:"back,omitempty"`
	// Level is the final level of the rate; nil if the phase is too short.
	Level *Level `json:"level,omitempty"`
}

const (
	// RecoveredShare is the share of the rate before that counts as being back.
	RecoveredShare = 0.95
	// StalledShare is the share below which a step counts as one in which nothing came through.
	StalledShare = 0.01
	// MinBefore is how many seconds a load must have run before an event, and between two, to know what is usual.
	MinBefore = 5.0
	// recoveredSeconds are those for which a rate must be back to be called so.
	recoveredSeconds = 1.0
	// minDip is the least that a dip must be deep, and moreThanNoise how many times as deep as the deepest of
	// before.
	minDip        = 0.1
	moreThanNoise = 3.0
	// promptDelay is how many seconds after the event a dip begins that is called its own. One that comes later must be
	// deep: late is the share that it must fall below.
	promptDelay  = 3.0
	lateDipShare = 0.5
	// warmUpSeconds is the part of the first steps that is left out of what is usual: a load that has just begun.
	warmUpSeconds = 1.0
	confidence    = 0.95
)

// Analyze says of each event what it did. They are in the order of time.
func Analyze(r Rate, events []Event) []Finding {
	var all []Finding
	from := 0.0
	for i, e := range events {
		to := float64(len(r.Values)) * r.Step
		if i+1 < len(events) {
			to = min(to, events[i+1].At-events[i+1].Unsure)
		}
		f := analyze(r, e, from, to)
		all = append(all, f)
		from = max(e.At, e.Undone)
		if f.Unknown == "" && f.Recovery != nil {
			from = max(from, e.At+*f.Recovery)
		}
		if f.Undo != nil && f.Undo.Back != nil {
			from = max(from, f.Undo.From+*f.Undo.Back)
		}
	}
	return all
}

// segment is a part of a rate as shares of a level.
type segment struct {
	step   float64
	first  int // of the whole
	values []float64
}

// at is when a value of the stretch begins.
func (s segment) at(i int) float64 { return float64(s.first+i) * s.step }

// between are the steps that begin no earlier than from and end no later than to.
func (r Rate) between(from, to, level float64) segment {
	const slack = 1e-6 // of a step
	first := min(max(0, int(math.Ceil(from/r.Step-slack))), len(r.Values))
	end := max(first, min(len(r.Values), int(math.Floor(to/r.Step+slack))))
	s := segment{step: r.Step, first: first}
	for _, v := range r.Values[first:end] {
		s.values = append(s.values, v/level)
	}
	return s
}

func analyze(r Rate, e Event, from, to float64) Finding {
	unknown := func(why string, args ...any) Finding {
		return Finding{Unknown: fmt.Sprintf(why, args...), Event: Phase{From: e.At, To: to}, Resolution: r.Step}
	}
	if !(r.Step > 0) || len(r.Values) == 0 {
		return unknown("the load has no rate over time")
	}
	until := e.At - e.Unsure
	if from == 0 && until-warmUpSeconds >= MinBefore {
		from = warmUpSeconds
	}
	before := r.between(from, until, 1)
	if seconds := float64(len(before.values)) * r.Step; seconds < MinBefore-r.Step/2 {
		return unknown("%.1f s of the load came before it, and it takes %.0f to know what is usual", max(0, seconds),
			MinBefore)
	}
	level := stat.Median(before.values)
	if !(level > 0) {
		return unknown("nothing came through before it")
	}
	f := Finding{Before: levelOf(before), LowestBefore: lowest(before.values) / level, Resolution: r.Step}
	before = r.between(from, until, level)
	f.StallBefore = longest(stallsOf(before, before.values))
	f.Limit = limitOf(before, shortWindow)
	if float64(len(before.values))*r.Step >= 2*MinBefore {
		f.LongLimit = limitOf(before, longWindow)
	}

	end := to
	if e.Undone > e.At {
		end = min(to, e.Undone)
	}
	whole := r.between(math.Floor((e.At-e.Unsure)/r.Step)*r.Step, to, level)
	if float64(len(whole.values))*r.Step < recoveredSeconds {
		return unknown("the load ended %.1f s after it", float64(len(whole.values))*r.Step)
	}
	stalls := stallsOf(r.between(0, to, level), whole.values)
	usual := baseline{Finding: f, stalls: stalls, quiet: recoveredRate(before.values), unsure: e.Unsure, level: level}
	f.Event = usual.phase(r, e.At, end, e.Took, nil)
	f.Stall, f.Lowest = longest(stalls), lowest(whole.values)
	if end < to && to-end >= recoveredSeconds {
		p := usual.phase(r, end, to, 0, &f.Event)
		f.Undo = &p
	}
	f.Recovery = f.recovery()
	return f
}

// recovery is how long after the event all was well again.
func (f Finding) recovery() *float64 {
	none := 0.0
	switch {
	case !f.Event.Dip && (f.Undo == nil || !f.Undo.Dip):
		return &none
	case f.Event.Dip && f.Event.Back != nil:
		return f.Event.Back
	case f.Undo != nil && f.Undo.Back != nil:
		back := f.Undo.From - f.Event.From + *f.Undo.Back
		return &back
	}
	return nil
}

// after is the step of a stretch in which the fall began: before it nothing can have come back.
func (p Phase) after(s segment) int {
	if p.Fell == nil {
		return 0
	}
	return min(len(s.values), max(0, int((p.From+*p.Fell)/s.step)-s.first))
}

// Of says of each event of a load what it did.
func Of(u lab.EventResult) []Finding {
	var events []Event
	for _, h := range u.Each {
		events = append(events, Event{At: h.At, Took: h.Took, Undone: h.Undone, Unsure: h.Uncertainty})
	}
	return Analyze(Rate{Step: u.Rate.Interval, Values: u.Rate.Values}, events)
}

// levelOf is the median of a stretch. Neighbouring steps resemble each other, so the interval comes from means over as
// many steps as it takes until they do not.
func levelOf(s segment) Level {
	batches, _ := stat.BatchMeans(s.values)
	i := stat.MedianInterval(batches, confidence)
	l := Level{Center: stat.Median(s.values), Lo: i.Lo, Hi: i.Hi, Confidence: i.Confidence}
	if !i.Known() {
		l.Lo, l.Hi, l.Confidence = l.Center, l.Center, 0
	}
	l.Lo, l.Hi = min(l.Lo, l.Center), max(l.Hi, l.Center)
	return l
}

// stall is a time without anything.
type stall struct{ from, length float64 }

// stallsOf are the runs of steps in which nothing came through, among the last of a stretch, as many as there are of
// them. The steps at both ends count for the part of them that is missing. A load that makes up for what it missed, as
// one with a rate to keep does, has more than usual in the last of them, which does not show when it continued: it
// counts for half.
func stallsOf(s segment, last []float64) []stall {
	missing := func(i int) float64 {
		if i < 0 || i >= len(s.values) {
			return 0
		}
		return s.step * min(1, max(0, 1-s.values[i]))
	}
	after := func(i int) float64 {
		if i < len(s.values) && s.values[i] > 1 {
			return s.step / 2
		}
		return missing(i)
	}
	var all []stall
	for i := len(s.values) - len(last); i < len(s.values); i++ {
		begin := i
		for i < len(s.values) && s.values[i] < StalledShare {
			i++
		}
		if i > begin {
			all = append(all, stall{from: s.at(begin) - missing(begin-1), length: float64(i-begin)*s.step +
				missing(begin-1) + after(i)})
		}
	}
	return all
}

func longest(stalls []stall) float64 {
	most := 0.0
	for _, s := range stalls {
		most = max(most, s.length)
	}
	return most
}

func lowest(values []float64) float64 {
	low := math.Inf(1)
	for _, v := range values {
		low = min(low, v)
	}
	return low
}
