package ringbuffer

import "container/heap"

// Merger yields the events of several CPUs as one sequence, by their times. Clocks of the buffer that count on each CPU
// alone ("local") can be some microseconds apart; "global" and "mono" are not.
type Merger struct {
	layout  Layout
	streams streams
	// gaps is how many CPUs lost events between their last one and their next.
	gaps int
	// Damaged is how many pages could not be read to their ends. The events that are missing count as lost with the
	// next of their CPU.
	Damaged int
}

// Merge takes the pages of CPUs, by CPU: pages that were read of a CPU one behind the other, each of the layout's Size.
// The buffer must be one that overwrites its oldest events (options/overwrite, which is the default): where the newest
// are refused, pages don't say so.
func (l Layout) Merge(pages map[int][]byte) *Merger {
	m := &Merger{layout: l}
	for cpu, raw := range pages {
		s := &stream{cpu: int32(cpu), raw: raw}
		if m.advance(s) {
			m.streams = append(m.streams, s)
		}
	}
	heap.Init(&m.streams)
	return m
}

// Events yields the events. It can be asked for once.
func (m *Merger) Events(yield func(Event) bool) {
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

// stream are the events of one CPU.
type stream struct {
	cursor
	cpu int32
	raw []byte // pages that are still to be read
	// damaged pages came before.
	damaged bool
}

// advance goes to the stream's next event, and to its next page where there is none.
func (m *Merger) advance(s *stream) bool {
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

// streams are a heap by the time of the next event, and of CPUs where two have the same.
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
