package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/headroom/headroom/internal/lab"
)

// deletionTimeout is how long an object may take to be gone: a pod ends its container, a volume is detached and
// removed.
const deletionTimeout = 90 * time.Second

// Clear removes from its cluster what a record names, and what carries its labels. It returns what it removed, and when
// it is gone.
func Clear(ctx context.Context, r Record) ([]string, error) {
	c, err := connect(Options{Name: r.Target, Context: r.Context, Kubeconfig: r.Kubeconfig,
		Namespace: r.Namespace})
	if err != nil {
		return nil, err
	}
	if c.config.Host != r.Server {
		return nil, &lab.Error{Kind: lab.Refused,
			What: fmt.Sprintf("what was left is in the cluster at %s, and the kubeconfig leads to %s now", r.Server,
				c.config.Host), Target: r.Target,
			Hints: []string{fmt.Sprintf("with a kubeconfig for it: kubectl delete %s -n %s -l %s=%s", r.kinds(),
				r.Namespace, sessionLabel, r.Session)}}
	}
	return c.clear(ctx, r)
}

// clearRecorded removes what is noted, and the notes with it. What could not be removed stays noted: headroom restore
// looks again.
func (c *cluster) clearRecorded(ctx context.Context, n *sessionRecord) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, err := c.clear(ctx, n.record); err != nil {
		return errors.Join(err, n.journal.release())
	}
	return n.journal.remove()
}

// clear removes what a record names and what carries its session's label: the name of an object is on disk before it is
// made, so nothing is missed, and what carries the label but not a name was made by Kubernetes for it.
func (c *cluster) clear(ctx context.Context, r Record) ([]string, error) {
	if r.Many {
		return c.clearMany(ctx, r)
	}
	var removed []string
	var errs []error
	for _, k := range []struct {
		kind  schema.GroupVersionResource
		word  string
		names []string
	}{{pods(), "pod", r.Pods}, {machines(), "vm", r.Machines}, {claims(), "pvc", r.Claims},
		{secrets(), "secret", r.Machines}} {
		for _, name := range k.names {
			was, err := c.remove(ctx, k.kind, name, r.Session)
			if was {
				removed = append(removed, k.word+" "+name)
			}
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return removed, err
	}
	for _, name := range r.Pods {
		errs = append(errs, c.awaitGone(ctx, pods(), "pod", name))
	}
	for _, name := range r.Machines {
		errs = append(errs, c.awaitGone(ctx, machines(), "vm", name), c.awaitGone(ctx, instances(), "vmi", name))
	}
	for _, name := range r.Claims {
		errs = append(errs, c.awaitGone(ctx, claims(), "pvc", name))
	}
	// The timer last: until all is gone, it ends everything if headroom does not come back.
	for _, name := range r.Machines {
		_, err := c.remove(ctx, timers(), name, r.Session)
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

// remove deletes an object that this session made; another object of the same name is left alone.
func (c *cluster) remove(ctx context.Context, kind schema.GroupVersionResource, name, session string) (bool, error) {
	is, err := c.get(ctx, kind, name)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, c.unreachable(err)
	}
	if is.GetLabels()[sessionLabel] != session {
		return false, nil
	}
	uid := is.GetUID()
	_, err = retried(ctx, c, func(ctx context.Context) (struct{}, error) {
		return struct{}{},
			c.of(kind).Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	})
	if err != nil && !absent(err) {
		return false, &lab.Error{What: "can't remove " + name + " from namespace " + c.namespace, Target: c.target,
			Err: err,
			Hints: []string{fmt.Sprintf("by hand: kubectl delete %s -n %s -l %s=%s", kind.GroupResource(), c.namespace,
				sessionLabel, session), "or later: headroom restore"}}
	}
	return true, nil
}

// awaitGone waits until an object is not there any more.
func (c *cluster) awaitGone(ctx context.Context, kind schema.GroupVersionResource, word, name string) error {
	for end := time.Now().Add(deletionTimeout); ; {
		if _, err := c.get(ctx, kind, name); absent(err) {
			return nil
		} else if err != nil {
			return c.unreachable(err)
		}
		if time.Now().After(end) {
			return &lab.Error{What: fmt.Sprintf("%s %s is being removed for %s, and still there", word, name,
				deletionTimeout), Target: c.target,
				Hints: []string{"is its node still there? kubectl describe " + word + " -n " + c.namespace + " " + name,
					"headroom restore looks again"}}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// ownedBy has an object go when its owner goes, whoever removes that.
func ownedBy(pod string, uid types.UID) object {
	return object{"metadata": object{
		"ownerReferences": []any{object{"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": string(uid)}}}}
}
