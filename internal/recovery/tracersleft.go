package recovery

import (
	"context"
	"path"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner/recorder"
)

// removeTracers removes what recorders of loads that were killed have made in the kernel of a target: all that belongs
// to one of some owners. The recorder does it that was brought there. Where it is gone, so is what it had made: both
// end with the machine's boot.
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

// recorderOn is the recorder on a target: this program, or the one that was copied there; empty where that is gone.
func recorderOn(ctx context.Context, p *app.App, t host.Target, brought string) (string, error) {
	r, receives := t.(host.Receiver)
	if host.IsLocal(t) || !receives {
		if p.Executable == nil {
			return "", nil
		}
		return p.Executable()
	}
	// where its folder is only the target knows
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
