package recovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/host/kube"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/store"
)

// clearClusters removes from clusters what killed headrooms created there for wanted targets. It needs no run: a pod is
// created before a run begins, and recorded before it is created.
func clearClusters(ctx context.Context, p *app.App, s *store.Store, wanted func(target string) bool) (int, error) {
	pending, err := kube.Pending(s.Folder.Pods(), store.Trust)
	errs := []error{err}
	for _, left := range pending {
		r := left.Record
		if !wanted(r.Target) {
			fmt.Fprintf(p.Stderr, "%s is still there, in namespace %s; to remove it: headroom restore\n",
				prose.Names(r.Names(), " and "), r.Namespace)
			errs = append(errs, left.Release())
			continue
		}
		removed, err := kube.Clear(ctx, r)
		if err != nil {
			errs = append(errs, &lab.Error{What: "what a killed headroom left in namespace " + r.Namespace +
				" can't be removed now", Target: r.Target,
				Hints: []string{"when the cluster can be reached: headroom restore"}}, err, left.Release())
			continue
		}
		if len(removed) > 0 {
			fmt.Fprintf(p.Stderr, "removed from namespace %s: %s\n", r.Namespace, prose.Names(removed, " and "))
		}
		errs = append(errs, left.Remove())
	}
	return len(pending), errors.Join(errs...)
}
