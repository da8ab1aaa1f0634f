package experiment

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/runner/recorder"
	"github.com/headroom/headroom/internal/runner/workspace"
)

// programs are those that a run needs on its target: a fio, and the recorder of profiles.
type programs struct {
	target host.Target
	run    string
	facts  []lab.Fact // of the target
	// fio and recorder are files on this machine that are copied to the target. They are empty for its own fio, and for
	// this program, whose file executable returns.
	fio, recorder string
	executable    func() (string, error)
}

func (m *Measurement) programs() programs {
	return programs{m.Target, m.Run.ID, m.Run.Targets[0].Facts, m.Options.BringFio, m.Options.Profile.Recorder,
		m.App.Executable}
}

// BringPrograms brings to the target what the run needs there.
func (m *Measurement) BringPrograms(ctx context.Context, saver runner.Saver) (err error) {
	m.fio, err = m.programs().bring(ctx, m.Run.Profile != nil, saver)
	return err
}

// requireFio makes sure that there is a fio on the target before anything is begun there.
func (p programs) requireFio(ctx context.Context) error {
	if p.fio != "" {
		return checkFio(p.fio)
	}
	out, err := p.target.Run(ctx, "fio", "--version")
	if err == nil && out.ExitCode == 0 {
		return nil
	}
	e := &lab.Error{What: "fio can't be used", Command: []string{"fio", "--version"}, Output: string(out.Stderr),
		Err: err,
		Hints: []string{"install it: apt install fio (Debian, Ubuntu), dnf install fio (Fedora, RHEL), zypper " +
			"install fio (SUSE), pacman -S fio (Arch), apk add fio (Alpine)"}}
	if name := host.RemoteName(p.target); name != "" {
		e.Target = name
		e.Hints = append(e.Hints, "or have a static binary copied there for the run: --bring-fio PATH")
	}
	if own, ok := errors.AsType[*lab.Error](err); ok {
		e.Err = own.Err // the command is named already
	}
	return e
}

// checkFio refuses a binary that would not start elsewhere, because it needs libraries.
func checkFio(name string) error {
	wrong := func(what string, err error) error {
		return &lab.Error{Kind: lab.Usage, What: "--bring-fio " + name + ": " + what, Err: err,
			Hints: []string{"fio is built so with: ./configure --build-static && make"}}
	}
	f, err := elf.Open(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return wrong("it can't be read", err)
	}
	if err != nil {
		return wrong("it is no program for Linux", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return wrong("it is not a static binary, so it needs libraries that need not be there", nil)
		}
	}
	return nil
}

// bring puts on disk which programs may be copied to the target, and only then copies the user's fio there. It
// returns the path of that; empty for the target's own fio. The recorder follows when it is needed first.
func (p programs) bring(ctx context.Context, profiles bool, saver runner.Saver) (string, error) {
	if p.fio == "" && !profiles {
		return "", nil
	}
	left := lab.Leftovers{Target: p.target.Name(), Jobs: p.run}
	if profiles {
		left.Tracers = []string{recorder.Owners(p.run)}
	}
	if err := saver.AnnounceLeftovers(left); err != nil || p.fio == "" {
		return "", err
	}
	return p.copyFio(ctx)
}

func (p programs) copyFio(ctx context.Context) (string, error) {
	r, ok := p.target.(host.Receiver)
	if !ok {
		return "", app.Usage("nothing needs to be copied to "+p.target.Name(),
			"without --bring-fio its own fio is used")
	}
	data, err := app.ReadProgram(p.fio)
	if err != nil {
		return "", &lab.Error{Kind: lab.Usage, What: "can't read --bring-fio", Err: err}
	}
	name, err := r.Receive(ctx, workspace.BroughtJob(p.run)+"/fio", data, 0o700)
	if err != nil {
		return "", err
	}
	out, err := p.target.Run(ctx, name, "--version")
	if err == nil && out.ExitCode != 0 {
		err = fmt.Errorf("exit status %d", out.ExitCode)
	}
	if err != nil {
		return "", &lab.Error{What: p.fio + " does not run", Target: p.target.Name(),
			Output: string(out.Stderr), Err: err,
			Hints: []string{"it must be built for that machine's processor: uname -m there tells"}}
	}
	return name, nil
}

// bringRecorder has the program that records on the target, and returns its path there: this one, which is copied to
// other machines.
func (p programs) bringRecorder(ctx context.Context) (string, error) {
	name, err := p.recorderHere()
	if err != nil {
		return "", err
	}
	if err := fitsProcessor(name, p.facts); err != nil {
		return "", err
	}
	r, ok := p.target.(host.Receiver)
	if host.IsLocal(p.target) || !ok {
		return name, nil
	}
	data, err := app.ReadProgram(name)
	if err != nil {
		return "", err
	}
	return r.Receive(ctx, workspace.BroughtJob(p.run)+"/"+recorder.File, data, 0o700)
}

// recorderHere is the recorder's file on this machine.
func (p programs) recorderHere() (string, error) {
	if p.recorder != "" {
		return p.recorder, nil
	}
	if p.executable == nil {
		return "", errors.New("this program's own file can't be found: name a headroom with --recorder PATH")
	}
	return p.executable()
}

// fitsProcessor refuses a recorder that is for another processor than the target's, as far as that is known.
func fitsProcessor(name string, known []lab.Fact) error {
	f, err := elf.Open(name)
	if os.IsNotExist(err) || os.IsPermission(err) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s is no program for Linux, and records nothing: name one with --recorder PATH", name)
	}
	defer f.Close()
	is := map[elf.Machine]string{elf.EM_X86_64: "x86_64", elf.EM_AARCH64: "aarch64", elf.EM_S390: "s390x",
		elf.EM_RISCV: "riscv64", elf.EM_PPC64: "ppc64le"}[f.Machine]
	for _, fact := range known {
		if fact.Key == "kernel.arch" && fact.Value != "" && fact.Value != is {
			return fmt.Errorf("the machine is %s, and %s is for %s: name a headroom for %s with --recorder PATH",
				fact.Value, name, cmp.Or(is, f.Machine.String()), fact.Value)
		}
	}
	return nil
}
