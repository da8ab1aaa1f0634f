package record

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring is one event, and the memory that the kernel writes its records to.
type ring struct {
	fd     int
	cpu    int // -1 if it follows a thread on all CPUs
	memory []byte
	page   *unix.PerfEventMmapPage
	spare  []byte
	lost   uint64
	ended  bool // its thread has ended
}

// openRing opens an event of a thread, or of all (-1), on a CPU, or on all (-1). The ring is as large as the kernel
// allows, up to this many bytes.
func openRing(attr *unix.PerfEventAttr, thread, cpu, bytes int) (*ring, error) {
	attr.Size = uint32(unsafe.Sizeof(*attr))
	fd, err := unix.PerfEventOpen(attr, thread, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("perf_event_open", err)
	}
	page := os.Getpagesize()
	for ; ; bytes /= 2 {
		memory, err := unix.Mmap(fd, 0, page+bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			return &ring{fd: fd, cpu: cpu, memory: memory, page: (*unix.PerfEventMmapPage)(unsafe.Pointer(&memory[0]))},
				nil
		}
		if bytes <= page || !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOMEM) {
			return nil, errors.Join(fmt.Errorf("%w: %w", errRing, os.NewSyscallError("mmap", err)), unix.Close(fd))
		}
	}
}

// drain passes on the records that the kernel has written since the last time. Its head is read before the records, and
// our tail is written after them: both are atomic, which gives the order that the kernel requires.
func (r *ring) drain(each func(record)) {
	head := atomic.LoadUint64(&r.page.Data_head)
	tail := atomic.LoadUint64(&r.page.Data_tail)
	whole := walk(r.memory[os.Getpagesize():], tail, head, &r.spare, func(rec record) {
		r.lost += rec.lost()
		each(rec)
	})
	if !whole {
		r.lost++
	}
	atomic.StoreUint64(&r.page.Data_tail, head)
}

func (r *ring) enable() error {
	return os.NewSyscallError("ioctl", unix.IoctlSetInt(r.fd, unix.PERF_EVENT_IOC_ENABLE, 0))
}

func (r *ring) close() { // nothing needs to be flushed
	_ = unix.Munmap(r.memory)
	_ = unix.Close(r.fd)
}

// rings are the rings of one window.
type rings []*ring

func (rs rings) close() {
	for _, r := range rs {
		r.close()
	}
}

func (rs rings) enable() error {
	for _, r := range rs {
		if err := r.enable(); err != nil {
			return err
		}
	}
	return nil
}

func (rs rings) disable() {
	for _, r := range rs {
		_ = unix.IoctlSetInt(r.fd, unix.PERF_EVENT_IOC_DISABLE, 0) // closing does it as well
	}
}

func (rs rings) drain(each func(*ring, record)) {
	for _, r := range rs {
		r.drain(func(rec record) { each(r, rec) })
	}
}

func (rs rings) lost() (n uint64) {
	for _, r := range rs {
		n += r.lost
	}
	return n
}

// wait waits until a ring is half full, at most this long.
func (rs rings) wait(most time.Duration) error {
	fds := make([]unix.PollFd, 0, len(rs))
	of := make([]*ring, 0, len(rs))
	for _, r := range rs {
		if !r.ended {
			fds, of = append(fds, unix.PollFd{Fd: int32(r.fd), Events: unix.POLLIN}), append(of, r)
		}
	}
	_, err := unix.Poll(fds, int(most.Milliseconds())+1)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return os.NewSyscallError("poll", err)
	}
	for i, fd := range fds {
		of[i].ended = fd.Revents&(unix.POLLHUP|unix.POLLERR) != 0
	}
	return nil
}
