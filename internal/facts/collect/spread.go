package collect

import (
	"slices"
	"sync"
	"sync/atomic"
)

// atOnce is how many things are read at the same time: over a network each waits for answers, and requests that go
// together take less of both machines' time.
const atOnce = 16

// Spread calls a function for each of n things, several at a time, and puts the answers in order. The reading of one
// file of /sys is a handful of system calls or requests, and a machine with thousands of disks has a hundred thousand
// such files.
func Spread[T any](n int, read func(i int) []T) []T {
	found := make([][]T, n)
	var next atomic.Int64
	var done sync.WaitGroup
	for range min(n, atOnce) {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				found[i] = read(i)
			}
		})
	}
	done.Wait()
	return slices.Concat(found...)
}
