package qemu

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// What carries a guest out: the processor itself, or QEMU's own imitation of one.
const (
	KVM       = "kvm"
	Emulation = "emulation"
)

// The limits of the probe. With KVM a kernel says its version within a second, and within two has found that it has
// nothing to start. On hosts whose own hypervisor is in the way, /dev/kvm is there and a guest hangs before it has said
// anything.
const (
	probeTimeout         = 5 * time.Second
	probeTimeoutEmulated = 15 * time.Second
)

// accelerator is KVM when a kernel gets through its own start with it, emulation otherwise; or what the description
// asks for.
func (g *Guest) chooseAccelerator(ctx context.Context, k kernel) (string, error) {
	if g.file.Accelerator == Emulation || runtime.GOARCH != "amd64" {
		return Emulation, nil
	}
	device, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		if g.file.Accelerator == KVM {
			return "", &lab.Error{What: "the guest asks for KVM, which can't be used here", Err: err,
				Hints: []string{"delete accelerator: from its file to have it emulated"}}
		}
		return Emulation, nil
	}
	device.Close()
	// Without a kernel there is nothing short to try.
	if g.file.Accelerator == KVM {
		return KVM, nil
	}
	if k.image == "" || !g.probe(ctx, k) {
		return Emulation, ctx.Err()
	}
	return KVM, nil
}

// probe starts the guest's kernel with KVM and nothing else. It works when the kernel ends by itself, in a panic for
// want of a file system.
func (g *Guest) probe(ctx context.Context, k kernel) bool {
	dir, err := os.MkdirTemp(g.dir, "probe-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	log, err := os.Create(filepath.Join(dir, logFile))
	if err != nil {
		return false
	}
	defer log.Close()
	s := start{file: File{Type: g.file.Type, Firmware: g.file.Firmware, Machine: Machine{CPUs: 1, Memory: 256 << 20}},
		program: g.program, accelerator: KVM,
		bootable: bootable{kernel: k.image}, arguments: ownArguments + " earlyprintk=ttyS0,115200"}
	p, err := startProcess(s.argv(), dir, log, nil)
	if err != nil {
		return false
	}
	defer p.stop(0)
	first, last := time.NewTimer(probeTimeout), time.NewTimer(probeTimeoutEmulated)
	defer first.Stop()
	defer last.Stop()
	for {
		select {
		case <-p.done:
			return p.cmd.ProcessState.Success()
		case <-first.C:
			if printed, err := os.ReadFile(filepath.Join(dir, consoleFile)); err != nil ||
				!bytes.Contains(printed, []byte("Linux version")) {
				return false
			}
		case <-last.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
