package recovery

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/commits"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner/workspace"
	"github.com/headroom/headroom/internal/store"
)

// BuildTerms say how what was started for a build is found and ended.
func BuildTerms(t host.Target, owner string) commits.Terms {
	mark := workspace.MarkFor(owner)
	return commits.Terms{Mark: mark, Trust: store.Trust, End: func(ctx context.Context, folder string) error {
		return workspace.EndProcesses(ctx, t, host.Started{Mark: mark, Folder: folder})
	}}
}

// RecoverBuilds removes the commits that a killed search was about to build, and those that were built for searches
// that will not go on. It returns how many searches had left any.
func RecoverBuilds(ctx context.Context, p *app.App, s *store.Store) (int, error) {
	pending, err := commits.Pending(s.Folder.Built(), store.Trust)
	errs := []error{err}
	n := 0
	for _, left := range pending {
		b, err := s.Find(left.Run)
		continues := err == nil && (b.Active() || b.Run.Status == lab.Interrupted || b.Run.Status == lab.Running)
		removed, err := left.Recover(ctx, p.Local(), continues, BuildTerms(p.Local(), left.Run))
		if errs = append(errs, err); len(removed) > 0 {
			n++
			fmt.Fprintf(p.Stderr, "run %s was cut off or deleted: removed %s that it had built or begun to build\n",
				s.ShortID(left.Run), prose.Count(len(removed), "commit"))
		}
	}
	return n, errors.Join(errs...)
}

// endKernelBuild ends what a killed search was building. Objects that are half made are removed before the next build.
func endKernelBuild(ctx context.Context, p *app.App, run string) (ended bool, err error) {
	local := p.Local()
	jobs, err := local.JobsBelow(ctx, run+"-kernel")
	if err != nil {
		return false, err
	}
	for _, job := range jobs {
		if err := local.ClearJob(ctx, job); err != nil {
			return false, err
		}
	}
	// Whatever make has started works in the source's folder, which may be somebody else's as well, so that only the
	// mark counts.
	return len(jobs) > 0, BuildTerms(local, run).End(ctx, filepath.Join(app.JobsFolder(), run))
}
