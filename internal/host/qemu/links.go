package qemu

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/lab"
)

// Links are the wires between guests of one process, each with two ends. A wire is a pair of unnamed sockets: nothing
// listens, no other process can connect, and nothing is left however headroom ends. The zero value has no wires.
type Links struct {
	mutex sync.Mutex
	// free are the ends that no guest has, by the name of the wire; it has no entry for a wire that does not exist.
	free map[string][]*os.File
	// held counts the ends that guests have.
	held map[string]int
}

// maxEnds is how many guests a wire connects.
const maxEnds = 2

// acquire gives a guest one end of a wire, which is created for the first guest.
func (l *Links) acquire(name string) (*os.File, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.free == nil {
		l.free, l.held = map[string][]*os.File{}, map[string]int{}
	}
	if l.held[name] == maxEnds {
		return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("the link %s connects two guests already", name),
			Hints: []string{"give this guest a separate link with each of them"}}
	}
	if l.held[name] == 0 {
		// Datagrams, so that a guest that reboots never begins in the middle of a frame.
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return nil, fmt.Errorf("the link %s: %w", name, err)
		}
		unix.CloseOnExec(pair[0])
		unix.CloseOnExec(pair[1])
		l.free[name] = []*os.File{os.NewFile(uintptr(pair[0]), name), os.NewFile(uintptr(pair[1]), name)}
	}
	last := len(l.free[name]) - 1
	end := l.free[name][last]
	l.free[name] = l.free[name][:last]
	l.held[name]++
	return end, nil
}

// release takes back the ends of a guest. A wire that no guest has is closed.
func (l *Links) release(networks []Network, ends []*os.File) {
	if len(ends) == 0 {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for i, end := range ends {
		name := networks[i].Link
		l.free[name] = append(l.free[name], end)
		if l.held[name]--; l.held[name] == 0 {
			closeAll(l.free[name])
			delete(l.free, name)
		}
	}
}

// takeAll acquires an end for each network of a guest.
func (l *Links) takeAll(networks []Network) ([]*os.File, error) {
	var ends []*os.File
	for _, n := range networks {
		end, err := l.acquire(n.Link)
		if err != nil {
			l.release(networks, ends)
			return nil, err
		}
		ends = append(ends, end)
	}
	return slices.Clip(ends), nil
}
