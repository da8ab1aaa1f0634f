package designtest

import "syscall"

// WaitForForks waits until processes that other tests are starting have executed their programs. Until then they have
// copies of the files of this process, so that a lock on a file that was just closed is still held.
func WaitForForks() {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
}
