// Package workspace has what a run makes on a target beside its jobs: the scratch file, the folder of its commands,
// and the processes that they start; how they are named, made where other users can't interfere, and removed.
package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

// Owner is what the names of all that a run makes on a target contain: its ID, and the target's role where there are
// several.
func Owner(runID, role string) string {
	if role == "" {
		return runID
	}
	return runID + "-" + role
}

// BroughtJob is the folder of a run's among those of jobs that holds what was copied to a target.
func BroughtJob(runID string) string { return runID + "-brought" }

// ScratchFile is the path of a run's scratch file in a directory. The run's id is in the name, so that no other file is
// taken for it.
func ScratchFile(dir, runID string) string {
	return filepath.Join(dir, "headroom-"+runID+".scratch")
}

// RemoveScratch deletes a scratch file and reports whether there was one. On a file system that doesn't answer it
// leaves the file and returns an error.
func RemoveScratch(ctx context.Context, t host.Target, path string) (bool, error) {
	if err := Answers(ctx, t, path); err != nil {
		return false, err
	}
	if _, here := t.(host.LocalFiles); here {
		removed := false
		err := inFolder(filepath.Dir(path), func(f *safepath.Folder) (err error) {
			removed, err = f.Remove(filepath.Base(path))
			return err
		})
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			err = &lab.Error{What: "can't remove the scratch file " + path, Err: err,
				Hints: []string{"inspect it, and remove it by hand"}}
		}
		return removed, err
	}
	argv := []string{"rm", "-fv", "--", path}
	out, err := t.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't remove the scratch file " + path, Target: t.Name(), Command: argv,
			Output: string(out.Stderr),
			Hints:  []string{"headroom restore tries it again; or remove it by hand"}}
	}
	return len(out.Stdout) > 0, err
}

// Answers returns an error when the file system of a file or folder of a run doesn't respond, so that it can't be
// removed now.
func Answers(ctx context.Context, t host.Target, path string) error {
	err := collect.FileSystemAnswers(ctx, t, path, collect.AnswerWithin)
	if e, ok := errors.AsType[*lab.Error](err); ok {
		e.Hints = append(e.Hints, path+" is left; headroom restore removes it once the file system responds")
	}
	return err
}
