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

// How a guest's instructions are executed: by the processor, or by QEMU's emulation of one.
const (
	KVM       = "kvm"
	Emulation = "emulation"
)

// The limits of the probe. With KVM a kernel prints its version within a second, and within two has found that it has
// nothing to start. On some hosts that run under another hypervisor, /dev/kvm exists and a guest hangs before it prints
// anything.
const (
	probeTimeout         = 5 * time.Second
	probeTimeoutEmulated = 15 * time.Second
)

// chooseAccelerator returns KVM if the kernel boots with it, else emulation; or the accelerator of the description.
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

// probe starts the guest's kernel with KVM and nothing else. KVM works if the kernel ends in a panic because it has no
// file system.
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
