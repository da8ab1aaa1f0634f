package guard

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Parameters for reading a device whole. Eight reads of 2 MiB in flight keep an NVMe drive and the network of a SAN
// busy, and are in order for a rotating disk.
const (
	inFlight  = 8
	chunkSize = 2 << 20
	// shortestChunk is read where a file has data, so that a file in many small pieces does not take as many reads.
	shortestChunk = 64 << 10
	tellEvery     = 200 * time.Millisecond
)

// Progress is how much of a device was read.
type Progress struct {
	Done int64 // bytes of the device, from its start, that were read or skipped
	Read int64 // bytes that were read
	Size int64
}

// ReadAll reads everything on the device, until it finds data, and adds the result to the evidence. Only this proves a
// device empty. It takes as long as the drive needs to be read once, and calls tell several times a second. If the
// holes of the file under a loop device are known, they are not read.
//
// Other programs may have begun to use the device meanwhile, so its use is checked again.
func (c *Claim) ReadAll(ctx context.Context, e *Evidence, tell func(Progress)) error {
	r, err := c.toRead(ctx)
	if err != nil {
		return err
	}
	defer r.release()
	if err := c.readAll(ctx, r, e, tell); err != nil {
		return err
	}
	return c.checkUseAgain(e, false)
}

// readAll reads the unread extents, and records the result.
func (c *Claim) readAll(ctx context.Context, r *unreadRange, e *Evidence, tell func(Progress)) error {
	s := &scan{nextRange: r.next, stopped: make(chan struct{})}
	open := func() (*directReader, error) { return newDirectReader(c.file, chunkSize) }
	err := c.chooseFill(s)
	if err == nil {
		err = s.run(ctx, open, func() {
			tell(Progress{Done: s.done.Load(), Read: s.read.Load(), Size: c.identity.Size})
		})
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && s.data == nil {
		e.ContentUnknown = append(e.ContentUnknown, err.Error())
		return nil // a read error is evidence
	}
	e.Sample = Sample{Bytes: s.read.Load(), Places: 1, Fill: s.fill}
	if s.data != nil {
		e.Sample.Data, e.Sample.DataAt, e.Sample.Ones = true, s.data.at, s.data.ones
		return nil
	}
	e.Sample.Whole = true
	if r.holes != nil {
		e.Sample.File, e.Sample.Holes = r.holes.name, c.identity.Size-e.Sample.Bytes
	}
	return nil
}

// chooseFill uses the first byte as the value of blank blocks, if the device reports that this may be FF.
func (c *Claim) chooseFill(s *scan) error {
	if !c.erasedReadsOnes() {
		return nil
	}
	first := make([]byte, 1)
	if _, err := c.file.ReadAt(first, 0); err != nil {
		return err
	}
	if first[0] == 0xff {
		s.fill = 0xff
	}
	return nil
}

// checkUseAgain adds uses of the device that have begun since it was inspected. If sparesJobs is set, it ignores
// headroom's own jobs.
func (c *Claim) checkUseAgain(e *Evidence, sparesJobs bool) error {
	d, err := c.device(c.identity.Name)
	if err != nil {
		return err
	}
	now := Evidence{Identity: c.identity}
	f := c.familyOf(d)
	f.sparesJobs = sparesJobs
	f.describeUse(&now)
	e.Uses = union(e.Uses, now.Uses)
	e.UseUnknown = union(e.UseUnknown, now.UseUnknown)
	e.Partitions = union(e.Partitions, now.Partitions)
	e.ProgramsUnread, e.FilesUnseen = max(e.ProgramsUnread, now.ProgramsUnread), max(e.FilesUnseen, now.FilesUnseen)
	return nil
}

// union appends to a list the elements of another that it lacks.
func union[T comparable](list, more []T) []T {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// scan searches for the first byte that is not blank, with several reads in flight.
type scan struct {
	fill byte
	// mutex guards the extents, which are handed out in order, and the results.
	mutex     sync.Mutex
	nextRange func() (extent, bool, error)
	data      *firstData
	failed    error
	stopped   chan struct{}
	once      sync.Once

	read, done atomic.Int64
}

// firstData is the first byte that is not blank.
type firstData struct {
	at   int64
	ones bool
}

// run reads until everything is read, data are found, a read fails, or ctx ends. Then it returns at once: a read that a
// drive does not answer continues in the background, and releases its resources when it ends.
func (s *scan) run(ctx context.Context, open func() (*directReader, error), tell func()) error {
	var workers sync.WaitGroup
	for range inFlight {
		reader, err := open()
		if err != nil {
			s.fail(err)
			break
		}
		workers.Go(func() {
			defer reader.release()
			s.work(ctx, reader)
		})
	}
	ended := make(chan struct{})
	go func() { workers.Wait(); close(ended) }()
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			tell()
		case <-ctx.Done():
			s.next(ctx) // waits for a worker that is searching for an extent: the caller closes the file with the holes
			return ctx.Err()
		case <-ended:
			if s.failed != nil {
				return s.failed
			}
			return ctx.Err() // they may have ended because of ctx, before that was noticed here
		}
	}
}

func (s *scan) stop() { s.once.Do(func() { close(s.stopped) }) }

// fail ends the reading. The first failure is kept, which need not be at the lowest place.
func (s *scan) fail(err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.failed == nil {
		s.failed = err
	}
	s.stop()
}

// next returns the next extent to read. All extents before it have been handed out already, so the data found at the
// lowest place are the first of all.
func (s *scan) next(ctx context.Context) (extent, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	select {
	case <-s.stopped:
		return extent{}, false
	case <-ctx.Done():
		return extent{}, false
	default:
	}
	e, more, err := s.nextRange()
	if err != nil {
		s.failed = err
		s.stop()
		return e, false
	}
	return e, more
}

func (s *scan) work(ctx context.Context, reader *directReader) {
	for {
		e, more := s.next(ctx)
		if !more {
			return
		}
		first, second, err := reader.chunk(e)
		if err != nil {
			s.fail(err)
			return
		}
		s.check(first, e.at)
		s.check(second, e.at+int64(len(first)))
		s.read.Add(e.length)
		for end := e.at + e.length; ; { // the furthest of those that are in flight
			if was := s.done.Load(); was >= end || s.done.CompareAndSwap(was, end) {
				break
			}
		}
	}
}

// check compares a piece with the value of blank blocks, and ends the reading if they differ.
func (s *scan) check(p []byte, at int64) {
	first := firstNot(p, s.fill)
	if first < 0 {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if found := at + int64(first); s.data == nil || found < s.data.at {
		s.data = &firstData{found, ones(p[first:])}
	}
	s.stop()
}

// firstNot returns the position of the first byte that is not fill; -1 if all are.
func firstNot(p []byte, fill byte) int {
	if len(p) == 0 || p[0] == fill && same(p) {
		return -1
	}
	for i, b := range p {
		if b != fill {
			return i
		}
	}
	return -1
}

// unreadRange is what must be read to know all of a device: everything, or all but the holes.
type unreadRange struct {
	size, at int64
	holes    *holes // nil if they are not known
}

func (c *Claim) toRead(ctx context.Context) (*unreadRange, error) {
	h, err := c.holesBelow(ctx)
	return &unreadRange{size: c.identity.Size, holes: h}, err
}

func (r *unreadRange) release() {
	if r.holes != nil {
		_ = r.holes.file.Close() // it was only examined
	}
}

// isSmall reports whether the range is so small that no sample is needed beforehand.
func (r *unreadRange) isSmall() bool {
	return r.size <= wholeUpTo || r.holes != nil && r.holes.allocated <= wholeUpTo
}

// next returns the next extent to read, in order; false at the end.
func (r *unreadRange) next() (extent, bool, error) {
	e := extent{r.at, min(chunkSize, r.size-r.at)}
	if r.holes != nil {
		var err error
		if e, err = r.holes.next(r.at, r.size); err != nil {
			return e, false, err
		}
	}
	r.at = e.at + e.length
	return e, e.length > 0, nil
}
