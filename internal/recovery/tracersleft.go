package recovery

import (
	"context"
	"path"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner/recorder"
)

// removeTracers removes from the kernel of a target what killed recorders of loads created: everything that belongs to
// the given owners. The recorder that was copied to the target does it. If the recorder is gone, its objects are gone,
// too: both are lost in a reboot.
func removeTracers(ctx context.Context, p *app.App, t host.Target, brought string, owners []string) error {
	if len(owners) == 0 {
		return nil
	}
	program, err := recorderOn(ctx, p, t, brought)
	if program == "" || err != nil {
		return err
	}
	for _, of := range owners {
		argv := recorder.CleanUp(program, of)
		out, err := t.Run(ctx, argv...)
		if err == nil && out.ExitCode != 0 {
			err = &lab.Error{What: "what a recorder of loads has left in the kernel can't be removed",
				Target: host.RemoteName(t), Command: argv, Output: string(out.Stderr)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recorderOn returns the recorder on a target: this program, or the copy there; empty if the copy is gone.
func recorderOn(ctx context.Context, p *app.App, t host.Target, brought string) (string, error) {
	r, receives := t.(host.Receiver)
	if host.IsLocal(t) || !receives {
		if p.Executable == nil {
			return "", nil
		}
		return p.Executable()
	}
	// only the target knows the location of its folder
	mark, err := r.Receive(ctx, brought+"/recovery", nil, 0o600)
	if err != nil {
		return "", err
	}
	program := path.Join(path.Dir(mark), recorder.File)
	out, err := t.Run(ctx, "test", "-x", program)
	if err != nil || out.ExitCode != 0 {
		return "", err
	}
	return program, nil
}
