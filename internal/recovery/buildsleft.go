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

// BuildTerms returns the terms by which processes of a build are found and ended.
func BuildTerms(t host.Target, owner string) commits.Terms {
	mark := workspace.MarkFor(owner)
	return commits.Terms{Mark: mark, Trust: store.Trust, End: func(ctx context.Context, folder string) error {
		return workspace.EndProcesses(ctx, t, host.Started{Mark: mark, Folder: folder})
	}}
}

// RecoverBuilds removes unfinished builds of commits by killed searches, and finished ones of searches that will not be
// resumed. It returns how many searches had left any.
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

// endKernelBuild ends a killed search's build of a kernel. The next build removes partly written objects.
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
	// Processes that make started work in the source's folder, which others may use as well, so only the mark
	// identifies them.
	return len(jobs) > 0, BuildTerms(local, run).End(ctx, filepath.Join(app.JobsFolder(), run))
}
