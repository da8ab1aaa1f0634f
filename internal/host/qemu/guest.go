// Package qemu starts guests in QEMU from a description in a file. A guest is a process of this machine with an SSH
// server inside, so it is an SSH target that can also be booted.
//
// It also builds the file system that a kernel unpacks into memory and starts from: programs of this machine with their
// libraries, kernel modules in the order of their dependencies, and other files from the caller.
package qemu

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

// Guest is a virtual machine in QEMU. Calls of Boot and Close must not overlap; commands run between them.
type Guest struct {
	*host.SSH
	file File
	// dir is the guest's folder, private and in memory; lock is held while this headroom lives.
	dir  string
	lock *os.File
	// program is QEMU's path.
	program     string
	version     version
	accelerator string
	imageFormat string
	// keys is the archive appended to each initramfs.
	keys []byte
	// ready are the kernels whose files were already created, by the name that was requested.
	ready map[string]bootable
	// blank are the images that were created for the guest; paths are the paths of all disks, in order.
	blank []*os.File
	paths []string
	// companions are the guests that were started for this one.
	companions []*Guest
	// linkEnds are the ends of its networks, in their order, which are returned to links.
	linkEnds []*os.File
	links    *Links
	// process is the running QEMU; nil before the first boot.
	process *process
	port    int
	// running is the description that the running guest was started from.
	running File
	// say reports the progress of a start to the user.
	say func(text string)
}

// bootable has the files of a kernel for QEMU.
type bootable struct {
	kernel, initrd string
	// modules are the modules that the guest loads. Their options differ from start to start, and so does the end of
	// initrd, after size; size is 0 for an initrd that headroom did not make.
	modules []module
	size    int64
}

// Host is the part of this machine that a guest uses.
type Host struct {
	// Folder is where the guest's folder is created; it should be in memory.
	Folder string
	// Images is the folder that blank images are created in, where they have no name.
	Images string
	// Links connect the guest with other guests that have the same Links.
	Links *Links
	// Say reports the progress of a start to the user; nil reports nothing.
	Say func(text string)
	// starting are the descriptions of the guests for which this one is started.
	starting []string
}

// Open parses the description of a guest and starts it. name is the user's name for the guest: "qemu:FILE". The guest
// lives until Close, or until this process ends in any way.
func Open(ctx context.Context, name, file string, on Host) (*Guest, error) {
	g, err := prepare(ctx, name, file, on)
	if err != nil {
		return nil, err
	}
	if err := g.Boot(ctx, host.BootSpec{}); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// fits returns an error if a guest would run this machine's programs, and these are not for an x86 processor.
func (f File) fits(architecture string) error {
	if f.Image != "" || architecture == "amd64" {
		return nil
	}
	return &lab.Error{Kind: lab.Usage, What: "a guest without image: starts this machine's programs on an x86 PC, " +
		"and this machine is " + architecture,
		Hints: []string{"name an image: of an x86 system, or start the guest on an x86 machine"}}
}

// prepare creates everything that a guest needs before its first start.
func prepare(ctx context.Context, name, file string, on Host) (*Guest, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: "can't read the guest's description", Err: err}
	}
	f, err := Decode(file, text)
	if err != nil {
		return nil, err
	}
	if err := f.fits(runtime.GOARCH); err != nil {
		return nil, err
	}
	g := &Guest{file: f, program: f.QEMU, ready: map[string]bootable{}, links: cmp.Or(on.Links, &Links{}),
		say: on.Say}
	if g.say == nil {
		g.say = func(string) {}
	}
	if g.program == "" {
		if g.program, err = FindProgram("qemu-system-x86_64"); err != nil {
			return nil, &lab.Error{What: "QEMU is not installed", Hints: []string{"apt install qemu-system-x86"},
				Err: err}
		}
	}
	if g.version, err = readVersion(ctx, g.program); err != nil {
		return nil, err
	}
	if err := g.version.refuses(f); err != nil {
		return nil, err
	}
	if g.imageFormat, err = formatOf(f.Image); err != nil {
		return nil, err
	}
	if g.dir, g.lock, err = newFolder(on.Folder); err != nil {
		return nil, err
	}
	on.Links = g.links
	if err := g.startCompanion(ctx, file, on); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	g.SSH = host.NewSSH(host.SSHOptions{Name: name, Destination: hostAlias,
		Args: []string{"-F", filepath.Join(g.dir, sshConfigFile)}})
	if err := g.prepareFiles(ctx, on.Images); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// startCompanion starts the guests that this one needs, which are ready before it starts.
func (g *Guest) startCompanion(ctx context.Context, file string, on Host) error {
	own, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	on.starting = append(slices.Clone(on.starting), own)
	for _, other := range g.file.Beside {
		if slices.Contains(on.starting, other) {
			return &lab.Error{Kind: lab.Usage, What: "the guest of " + own + " needs that of " + other +
				" beside it, which needs this one"}
		}
		b, err := Open(ctx, Scheme+other, other, on)
		if err != nil {
			return err
		}
		g.companions = append(g.companions, b)
	}
	return nil
}

// prepareFiles creates the keys and the disks, and chooses the accelerator.
func (g *Guest) prepareFiles(ctx context.Context, images string) error {
	var err error
	if g.keys, err = newKeys(ctx, g.dir); err != nil {
		return err
	}
	if g.blank, g.paths, err = blankDisks(g.file.Disks, images); err != nil {
		return err
	}
	if g.linkEnds, err = g.links.takeAll(g.file.Networks); err != nil {
		return err
	}
	var k kernel
	if g.file.Kernel != "" {
		if k, err = findKernel(ctx, g.file.Kernel, g.dir); err != nil {
			return err
		}
	}
	g.accelerator, err = g.chooseAccelerator(ctx, k)
	return err
}

// Accelerator is KVM or Emulation. Rates of an emulated guest can only be compared with one another.
func (g *Guest) Accelerator() string { return g.accelerator }

// Port on 127.0.0.1 is forwarded to its SSH server.
func (g *Guest) Port() int { return g.port }

// Argv returns the command line of the running QEMU; nil if none runs.
func (g *Guest) Argv() []string {
	if g.Ended() {
		return nil
	}
	return g.process.cmd.Args
}

// Ended reports whether no QEMU runs for it any more.
func (g *Guest) Ended() bool { return g.process == nil || g.process.ended() }

// Caveats are warnings that apply to every measurement in the guest.
func (g *Guest) Caveats(ctx context.Context) []string {
	caveats := g.SSH.Caveats(ctx)
	if g.Emulated() {
		caveats = append(caveats, "this guest is emulated: its processor is a program, so that its rates are those "+
			"of no hardware; compare them with one another only")
	}
	return caveats
}

// Emulated reports whether its processor is emulated.
func (g *Guest) Emulated() bool { return g.accelerator == Emulation }

// BootArguments returns the kernel arguments of its description.
func (g *Guest) BootArguments() []string { return slices.Clone(g.file.Arguments) }

// LosesDataOnBoot is true: the guest's file system is in memory.
func (g *Guest) LosesDataOnBoot() bool { return true }

// Levels returns the levels of the machine's settings at the last start, by name.
func (g *Guest) Levels() map[string]string {
	levels := map[string]string{}
	for _, s := range Settings() {
		if level := s.get(g.running); level != "" {
			levels[s.Name] = level
		}
	}
	return levels
}

// stopGrace is how long QEMU can take to write back its cached data.
const stopGrace = 5 * time.Second

// Close ends the guest and removes everything of it.
func (g *Guest) Close() error {
	var err error
	if g.SSH != nil {
		err = g.SSH.Close()
	}
	if g.process != nil {
		g.process.stop(stopGrace)
	}
	closeAll(g.blank)
	g.links.release(g.file.Networks, g.linkEnds)
	g.blank, g.linkEnds = nil, nil
	err = errors.Join(err, host.RemoveFolder(g.dir))
	for _, b := range slices.Backward(g.companions) {
		err = errors.Join(err, b.Close())
	}
	return errors.Join(err, safepath.Unlock(g.lock))
}

// formatOf distinguishes a qcow2 image by its first bytes ("QFI\xfb") from a raw one. QEMU is given the format, because
// it would guess from data that a guest wrote.
func formatOf(image string) (string, error) {
	if image == "" {
		return "", nil
	}
	f, err := os.Open(image)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var magic [4]byte
	if _, err := f.Read(magic[:]); err != nil {
		return "", &lab.Error{Kind: lab.Usage, What: "can't read the image " + image, Err: err}
	}
	if magic == [4]byte{'Q', 'F', 'I', 0xfb} {
		return "qcow2", nil
	}
	return "raw", nil
}
