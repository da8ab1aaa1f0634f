package qemu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/linux"
)

// ownArguments make the guest observable, and end it when it fails. quiet is not among them, so that it can be left
// out. An emulated guest on a busy machine gets its first timer interrupts late, which the kernel mistakes for a broken
// board, so it panics; no_timer_check prevents that. The kernel skips the check under KVM. Source:
// Documentation/admin-guide/kernel-parameters.txt, no_timer_check; arch/x86/kernel/kvm.c.
const ownArguments = "console=ttyS0 panic=-1 no_timer_check"

// maxCommandLine is COMMAND_LINE_SIZE of x86: the kernel truncates a longer line.
const maxCommandLine = 2047

// panicGrace is how long a kernel that panics can take to print its report and to end QEMU (panic=-1), which takes a
// second.
const panicGrace = 20 * time.Second

var errLimit = errors.New("have passed (limit: in the guest's file)")

// errHung means that the kernel hung in the emulator while it started. With several CPUs, QEMU 7.2 occasionally
// executes the same piece of the kernel forever: in Debian's 6.1 it was key_set_index_key, with registers that no
// longer changed. A second attempt at the same start succeeds.
var errHung = errors.New("its kernel hung in the emulator")

// lockup is printed by a kernel that finds one of its CPUs in an endless loop, even if it is quiet. Source:
// kernel/watchdog.c.
//
//	[   84.698007] watchdog: BUG: soft lockup - CPU#1 stuck for 78s! [swapper/0:1]
const lockup = "watchdog: BUG: soft lockup"

// portsTried is how many ports are tried if other programs take them first.
const portsTried = 5

// Boot boots the guest with the settings of the spec. A running guest is ended first, as by a loss of power, but its
// disks keep the data written to them. When Boot returns, /proc/cmdline of the guest has shown that it has the
// requested arguments.
func (g *Guest) Boot(ctx context.Context, spec host.BootSpec) error {
	s, err := g.plan(ctx, spec)
	if err != nil {
		return err
	}
	if err := g.stop(ctx); err != nil {
		return err
	}
	if err := s.bootable.adapt(s.arguments); err != nil {
		return err
	}
	s.hangs = g.accelerator == Emulation && s.file.Image == ""
	err = g.startOnFreePort(ctx, s)
	if errors.Is(err, errHung) {
		g.say(g.Name() + " hung in the emulator while its kernel started; starting it once more")
		s.hangs = false
		err = g.startOnFreePort(ctx, s)
	}
	if err != nil {
		return err
	}
	g.running = s.file
	if s.kernel == "" {
		return nil
	}
	if err := g.checkArguments(ctx, s, spec.Without); err != nil {
		g.end()
		return err
	}
	return nil
}

// startOnFreePort starts QEMU within the limit of the guest's file. After an error nothing of it is left.
func (g *Guest) startOnFreePort(ctx context.Context, s start) error {
	ctx, cancel := context.WithTimeoutCause(ctx, g.file.Limit, fmt.Errorf("%s %w", g.file.Limit, errLimit))
	defer cancel()
	for try := 1; ; try++ {
		taken, err := g.start(ctx, s)
		if err == nil {
			return nil
		}
		if !taken || try == portsTried {
			g.end()
			return err
		}
	}
}

// plan determines how to start QEMU. It fails before it changes anything of the running guest.
func (g *Guest) plan(ctx context.Context, spec host.BootSpec) (start, error) {
	f, err := g.file.with(spec.Machine)
	if err != nil {
		return start{}, err
	}
	if err := g.version.refuses(f); err != nil {
		return start{}, err
	}
	s := start{file: f, program: g.program, version: g.version, accelerator: g.accelerator, imageFormat: g.imageFormat,
		paths: g.paths}
	for i := range g.linkEnds {
		s.links = append(s.links, 3+len(g.blank)+i)
	}
	if spec.Kernel != "" {
		f.Kernel = spec.Kernel
	}
	if f.Kernel == "" {
		if len(spec.Arguments) > 0 || len(spec.Without) > 0 {
			return s, &lab.Error{Kind: lab.Usage, What: "the guest's image starts its own kernel, whose arguments " +
				"can't be set from outside", Target: g.Name(),
				Hints: []string{"name a kernel and an initrd in the guest's file"}}
		}
		return s, nil
	}
	if s.arguments, err = arguments(f, spec); err != nil {
		return s, err
	}
	s.bootable, err = g.bootable(ctx, f)
	return s, err
}

// adapt appends to the initrd the files that depend on the command line. The kernel treats several concatenated
// archives as one.
func (b bootable) adapt(cmdline string) error {
	if b.size == 0 {
		return nil
	}
	a := NewArchive()
	a.File(loadFile, 0o644, []byte(loadScript(b.modules, cmdline)))
	f, err := os.OpenFile(b.initrd, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(b.size); err != nil {
		return err
	}
	_, err = f.WriteAt(a.Bytes(), b.size)
	return errors.Join(err, f.Close())
}

// arguments returns the kernel's command line. An argument in Without is removed whatever its value.
func arguments(f File, spec host.BootSpec) (string, error) {
	for _, a := range spec.Arguments {
		if fault := argumentFault(a); fault != "" {
			return "", &lab.Error{Kind: lab.Usage, What: fault}
		}
	}
	own := strings.Fields(ownArguments)
	all := append([]string{"quiet"}, f.Arguments...)
	name := func(argument string) string { before, _, _ := strings.Cut(argument, "="); return before }
	if f.Machine.IOMMU == "intel" && !slices.ContainsFunc(append(all, spec.Arguments...), func(a string) bool {
		return name(a) == "intel_iommu"
	}) {
		all = append(all, "intel_iommu=on") // the kernels of most distributions leave it off
	}
	for _, w := range spec.Without {
		if slices.ContainsFunc(own, func(a string) bool { return name(a) == w }) {
			return "", &lab.Error{Kind: lab.Usage, What: w + " is headroom's own argument, by which a guest is watched"}
		}
		all = slices.DeleteFunc(all, func(a string) bool { return a == w || name(a) == w })
	}
	all = append(all, spec.Arguments...)
	line := strings.Join(append(own, all...), " ")
	if len(line) > maxCommandLine {
		return "", &lab.Error{Kind: lab.Usage,
			What: fmt.Sprintf("the kernel's command line would be %d bytes long, and the kernel reads %d",
				len(line), maxCommandLine)}
	}
	return line, nil
}

// bootable creates the files of a kernel, once.
func (g *Guest) bootable(ctx context.Context, f File) (bootable, error) {
	if b, ok := g.ready[f.Kernel]; ok {
		return b, nil
	}
	k, err := findKernel(ctx, f.Kernel, g.dir)
	if err != nil {
		return bootable{}, err
	}
	b := bootable{kernel: k.image, initrd: f.Initrd}
	number := strconv.Itoa(len(g.ready))
	if f.Image == "" {
		files, modules, err := content(ctx, f, k)
		if err != nil {
			return b, err
		}
		files = append(files, g.keys...)
		b.initrd, b.modules, b.size = filepath.Join(g.dir, "initrd-"+number), modules, int64(len(files))
		if err := os.WriteFile(b.initrd, files, 0o600); err != nil {
			return b, err
		}
	}
	if g.accelerator == Emulation {
		packed, err := os.ReadFile(k.image)
		if err != nil {
			return b, err
		}
		// A kernel that can't be started unpacked unpacks itself, which takes longer but works.
		if elf, err := Unpacked(ctx, packed); err == nil {
			b.kernel = filepath.Join(g.dir, "vmlinux-"+number)
			if err := os.WriteFile(b.kernel, elf, 0o600); err != nil {
				return b, err
			}
		}
	}
	g.ready[f.Kernel] = b
	return b, nil
}

// stop ends the running guest. If the guest still answers, it first writes its cached data to its disks.
func (g *Guest) stop(ctx context.Context) error {
	if g.process == nil {
		return nil
	}
	if !g.process.ended() {
		sync, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, _ = g.Run(sync, "sync")
		cancel()
	}
	g.end()
	return ctx.Err()
}

func (g *Guest) end() {
	if g.process != nil {
		g.process.stop(stopGrace)
		g.process = nil
	}
}

// start starts QEMU and waits until the guest accepts commands. taken is true if another program had the port.
func (g *Guest) start(ctx context.Context, s start) (taken bool, err error) {
	if s.port, err = freePort(); err != nil {
		return false, err
	}
	g.port = s.port
	if err := g.writeSSHConfig(); err != nil {
		return false, err
	}
	if err := os.WriteFile(filepath.Join(g.dir, consoleFile), nil, 0o600); err != nil {
		return false, err
	}
	log, err := os.Create(filepath.Join(g.dir, logFile))
	if err != nil {
		return false, err
	}
	defer log.Close()
	argv := s.argv()
	if g.process, err = startProcess(argv, g.dir, log, slices.Concat(g.blank, g.linkEnds)); err != nil {
		g.process = nil
		return false, &lab.Error{What: "can't start QEMU", Command: argv, Err: err}
	}
	if err := g.await(ctx, s); err != nil {
		printed, _ := os.ReadFile(log.Name())
		taken = g.process.ended() && bytes.Contains(printed, []byte("Could not set up host forwarding rule"))
		return taken, &lab.Error{What: "the guest did not start", Target: g.Name(), Command: argv, Err: err,
			Output: g.outputTail(printed)}
	}
	return false, nil
}

// await waits until the guest accepts commands, has failed, or ctx is done.
func (g *Guest) await(ctx context.Context, s start) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var refusal error
	own := s.file.Image == ""
	var panicSeen time.Time
	begun := time.Now()
	for {
		ended := g.process.ended() // checked before the console is read, which is complete when QEMU has ended
		console, err := os.ReadFile(filepath.Join(g.dir, consoleFile))
		if err != nil {
			return err
		}
		_, reason, panicked := strings.Cut(string(console), "Kernel panic - not syncing: ")
		_, unloaded, _ := strings.Cut(string(console), refusedArguments)
		unloaded, _, refused := strings.Cut(unloaded, "\n")
		if panicked && panicSeen.IsZero() {
			panicSeen = time.Now()
		}
		switch {
		case panicked && !ended && time.Since(panicSeen) < panicGrace:
			// The console is written character by character: the reason may be incomplete, and the trace is still to
			// follow.
		case panicked:
			reason, _, _ = strings.Cut(reason, "\n")
			return &host.NotStarted{Err: fmt.Errorf("its kernel panicked: %s", strings.TrimSpace(reason))}
		case own && refused:
			return &host.NotStarted{Err: fmt.Errorf("a module can't be loaded with the arguments that the kernel's "+
				"command line has for it: %s", strings.TrimSpace(unloaded))}
		case bytes.Contains(console, []byte(setupFailed)):
			return errors.New("the commands of setup: failed")
		case s.hangs && (bytes.Contains(console, []byte(lockup)) ||
			len(console) == 0 && time.Since(begun) > g.file.Limit/2):
			return errHung
		case ended:
			return fmt.Errorf("QEMU ended (%s)", g.process.cmd.ProcessState)
		case own && bytes.Contains(console, []byte(ready)), !own && answersSSH(ctx, g.port):
			// ssh and sshd give up a slow greeting, which an emulated guest on a busy machine can cause.
			if refusal = g.Connect(ctx); refusal == nil {
				return nil
			}
		}
		select {
		case <-g.process.done:
		case <-ctx.Done():
			return g.timeoutError(ctx, refusal)
		case <-tick.C:
		}
	}
}

// timeoutError returns why the wait for a guest ended: it did not answer in time, or ctx was cancelled.
func (g *Guest) timeoutError(ctx context.Context, refusal error) error {
	err := errors.Join(context.Cause(ctx), refusal)
	if errors.Is(context.Cause(ctx), errLimit) {
		return &host.NotStarted{Err: err}
	}
	return err
}

// answersSSH reports whether an SSH server answers. QEMU accepts connections to the port at any time, so only received
// data counts.
func answersSSH(ctx context.Context, port int) bool {
	dialer := net.Dialer{Timeout: time.Second}
	c, err := dialer.DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	defer c.Close()
	if err := c.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return false
	}
	var greeting [4]byte
	n, _ := c.Read(greeting[:])
	return string(greeting[:n]) == "SSH-"
}

// outputTail returns the end of the output of the guest's console and of QEMU.
func (g *Guest) outputTail(qemu []byte) string {
	console, _ := os.ReadFile(filepath.Join(g.dir, consoleFile))
	text := strings.Map(func(c rune) rune {
		if c < ' ' && c != '\n' || c == 0x7f {
			return -1
		}
		return c
	}, string(console)+string(qemu))
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// checkArguments verifies the kernel's arguments against /proc/cmdline.
func (g *Guest) checkArguments(ctx context.Context, s start, without []string) error {
	out, err := g.Run(ctx, "cat", "/proc/cmdline")
	if err != nil {
		return err
	}
	line := " " + strings.TrimSpace(string(out.Stdout)) + " "
	for _, a := range strings.Fields(s.arguments) {
		if !strings.Contains(line, " "+a+" ") {
			return &lab.Error{What: "the guest runs without " + a, Target: g.Name(), Output: "/proc/cmdline:" + line}
		}
	}
	for _, w := range without {
		if strings.Contains(line, " "+w+" ") && !slices.Contains(strings.Fields(s.arguments), w) ||
			strings.Contains(line, " "+w+"=") && !strings.Contains(s.arguments, w+"=") {
			return &lab.Error{What: "the guest runs with " + w + ", which was left out", Target: g.Name(),
				Output: "/proc/cmdline:" + line}
		}
	}
	return nil
}

// process is a QEMU process that runs, or has run.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// startProcess starts QEMU so that it ends with headroom, even if headroom is killed: the kernel kills it when the
// thread that started it ends. A thread of the Go runtime can end before headroom does, so the goroutine that starts
// QEMU is locked to its thread for as long as QEMU runs. Source: prctl(2), PR_SET_PDEATHSIG; go.dev/issue/27505.
//
// Its working directory is the guest's folder, by which a later headroom would find a leftover process. files become
// the file descriptors from 3 on.
func startProcess(argv []string, dir string, log *os.File, files []*os.File) (*process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = files
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	linux.DieWithParent(cmd.SysProcAttr)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the process state has all information of the error
			close(p.done)
		}
	}()
	return p, <-started
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop ends QEMU: SIGTERM, after which it writes back the cached data of its disks, and SIGKILL after the grace period.
func (p *process) stop(grace time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(grace):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}
