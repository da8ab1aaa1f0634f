package experiment

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/runner/recorder"
	"github.com/headroom/headroom/internal/runner/workspace"
)

// requireFio makes sure that there is a fio on the target before anything is begun there.
func (m *Measurement) requireFio(ctx context.Context) error {
	if m.Options.BringFio != "" {
		return checkFio(m.Options.BringFio)
	}
	out, err := m.Target.Run(ctx, "fio", "--version")
	if err == nil && out.ExitCode == 0 {
		return nil
	}
	e := &lab.Error{What: "fio can't be used", Command: []string{"fio", "--version"}, Output: string(out.Stderr),
		Err: err,
		Hints: []string{"install it: apt install fio (Debian, Ubuntu), dnf install fio (Fedora, RHEL), zypper " +
			"install fio (SUSE), pacman -S fio (Arch), apk add fio (Alpine)"}}
	if name := host.RemoteName(m.Target); name != "" {
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

// BringPrograms puts on disk which programs may be copied to the target, and only then copies the user's fio there.
// The recorder follows when it is needed first.
func (m *Measurement) BringPrograms(ctx context.Context, saver runner.Saver) error {
	if m.Options.BringFio == "" && m.Run.Profile == nil {
		return nil
	}
	left := lab.Leftovers{Target: m.Target.Name(), Jobs: m.Run.ID}
	if m.Run.Profile != nil {
		left.Tracers = []string{recorder.Owners(m.Run.ID)}
	}
	if err := saver.AnnounceLeftovers(left); err != nil || m.Options.BringFio == "" {
		return err
	}
	return m.copyFio(ctx)
}

func (m *Measurement) copyFio(ctx context.Context) error {
	r, ok := m.Target.(host.Receiver)
	if !ok {
		return app.Usage("nothing needs to be copied to "+m.Target.Name(), "without --bring-fio its own fio is used")
	}
	data, err := app.ReadProgram(m.Options.BringFio)
	if err != nil {
		return &lab.Error{Kind: lab.Usage, What: "can't read --bring-fio", Err: err}
	}
	name, err := r.Receive(ctx, workspace.BroughtJob(m.Run.ID)+"/fio", data, 0o700)
	if err != nil {
		return err
	}
	out, err := m.Target.Run(ctx, name, "--version")
	if err == nil && out.ExitCode != 0 {
		err = fmt.Errorf("exit status %d", out.ExitCode)
	}
	if err != nil {
		return &lab.Error{What: m.Options.BringFio + " does not run", Target: m.Target.Name(),
			Output: string(out.Stderr), Err: err,
			Hints: []string{"it must be built for that machine's processor: uname -m there tells"}}
	}
	m.fio = name
	return nil
}
