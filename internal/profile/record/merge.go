package record

import "container/heap"

// EventMerger yields the events of several CPUs as one sequence, by their times. Buffer clocks that count on each CPU
// separately ("local") can differ by some microseconds; "global" and "mono" do not.
type EventMerger struct {
	layout  PageLayout
	streams streams
	// gaps is how many CPUs lost events between their last one and their next.
	gaps int
	// Damaged is how many pages could not be parsed to their ends. The missing events count as lost with the next event
	// of their CPU.
	Damaged int
}

// Merge takes the pages of CPUs, by CPU: consecutive pages of a CPU, each of the layout's Size. The buffer must be one
// that overwrites its oldest events (options/overwrite, which is the default): if the newest are refused, pages don't
// record that.
func (l PageLayout) Merge(pages map[int][]byte) *EventMerger {
	m := &EventMerger{layout: l}
	for cpu, raw := range pages {
		s := &stream{cpu: int32(cpu), raw: raw}
		if m.advance(s) {
			m.streams = append(m.streams, s)
		}
	}
	heap.Init(&m.streams)
	return m
}

// Events yields the events. It can be called once.
func (m *EventMerger) Events(yield func(TracedEvent) bool) {
	for len(m.streams) > 0 {
		first := m.streams[0]
		event := first.event
		event.Gap = m.gaps > 0
		if event.Lost > 0 {
			m.gaps--
		}
		if !yield(event) {
			return
		}
		if m.advance(first) {
			heap.Fix(&m.streams, 0)
		} else {
			heap.Pop(&m.streams)
		}
	}
}

// stream has the events of one CPU.
type stream struct {
	cursor
	cpu int32
	raw []byte // pages that are still to be parsed
	// damaged pages came before.
	damaged bool
}

// advance moves to the stream's next event, in its next page if needed.
func (m *EventMerger) advance(s *stream) bool {
	for !s.next() {
		if s.err != nil {
			s.err, s.damaged = nil, true
			m.Damaged++
		}
		if len(s.raw) == 0 {
			return false
		}
		size := min(m.layout.Size, len(s.raw))
		page, err := m.layout.Page(s.raw[:size])
		s.raw = s.raw[size:]
		if err != nil {
			s.damaged = true
			m.Damaged++
			continue
		}
		lost := page.Lost + s.cursor.lost // those before a page without events
		if s.damaged {
			lost, s.damaged = lost+1, false
		}
		s.cursor = cursor{time: page.Time, rest: page.data, lost: lost}
	}
	s.event.CPU = s.cpu
	if s.event.Lost > 0 {
		m.gaps++
	}
	return true
}

// streams is a heap ordered by the time of the next event, and by CPU for equal times.
type streams []*stream

func (s streams) Len() int      { return len(s) }
func (s streams) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s streams) Less(i, j int) bool {
	return s[i].event.Time < s[j].event.Time || s[i].event.Time == s[j].event.Time && s[i].cpu < s[j].cpu
}
func (s *streams) Push(x any) { *s = append(*s, x.(*stream)) }
func (s *streams) Pop() any {
	last := len(*s) - 1
	x := (*s)[last]
	*s = (*s)[:last]
	return x
}
