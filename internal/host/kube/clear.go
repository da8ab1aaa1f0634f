package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/headroom/headroom/internal/lab"
)

// clearMany removes what carries the label of a session: all that it names does.
func (c *cluster) clearMany(ctx context.Context, r Record) ([]string, error) {
	var removed []string
	own := metav1.ListOptions{LabelSelector: managedBy + "=" + headroom + "," + sessionLabel + "=" + r.Session}
	kinds := []struct {
		kind schema.GroupVersionResource
		word string
	}{{pods(), "pod"}, {claims(), "pvc"}}
	if len(r.Claims) == 0 {
		kinds = kinds[:1]
	}
	for _, k := range kinds {
		type one struct {
			name string
			uid  types.UID
		}
		var all []one
		err := c.each(ctx, k.kind, own, func(o *unstructured.Unstructured) {
			all = append(all, one{o.GetName(), o.GetUID()})
		})
		if err != nil {
			return removed, c.unreachable(err)
		}
		err = concurrently(ctx, len(all), func(ctx context.Context, i int) error {
			_, err := retried(ctx, c, func(ctx context.Context) (struct{}, error) {
				return struct{}{}, c.of(k.kind).Delete(ctx, all[i].name,
					metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &all[i].uid}})
			})
			if err != nil && !absent(err) {
				return &lab.Error{What: "can't remove " + all[i].name + " from namespace " + c.namespace,
					Target: c.target, Err: err,
					Hints: []string{fmt.Sprintf("by hand: kubectl delete pod,pvc -n %s -l %s=%s", c.namespace,
						sessionLabel, r.Session), "or later: headroom restore"}}
			}
			return nil
		})
		if err != nil {
			return removed, err
		}
		for _, o := range all {
			removed = append(removed, k.word+" "+o.name)
		}
	}
	for _, k := range kinds {
		if err := c.awaitNone(ctx, k.kind, k.word, own, len(removed)); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// awaitNone waits until no object of a kind is there any more.
func (c *cluster) awaitNone(ctx context.Context, kind schema.GroupVersionResource, word string, own metav1.ListOptions,
	were int) error {
	for end := time.Now().Add(deletionTimeout + time.Duration(were)*perPod); ; {
		one := own
		one.Limit = 1
		left, err := retried(ctx, c, func(ctx context.Context) (*unstructured.UnstructuredList, error) {
			return c.of(kind).List(ctx, one)
		})
		if err != nil {
			return c.unreachable(err)
		}
		if len(left.Items) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return &lab.Error{What: fmt.Sprintf("%s %s and perhaps others are being removed, and still there", word,
				left.Items[0].GetName()), Target: c.target,
				Hints: []string{"are their nodes still there? kubectl get " + word + " -n " + c.namespace + " -l " +
					own.LabelSelector + " -o wide", "headroom restore looks again"}}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// each visits the objects of a kind, page by page. Nodes are in no namespace.
func (c *cluster) each(ctx context.Context, kind schema.GroupVersionResource, o metav1.ListOptions,
	visit func(*unstructured.Unstructured)) error {
	o.Limit = page
	for {
		list, err := retried(ctx, c, func(ctx context.Context) (*unstructured.UnstructuredList, error) {
			if kind == nodes() {
				return c.client.Resource(kind).List(ctx, o)
			}
			return c.of(kind).List(ctx, o)
		})
		if err != nil {
			return err
		}
		for i := range list.Items {
			visit(&list.Items[i])
		}
		if o.Continue = list.GetContinue(); o.Continue == "" {
			return nil
		}
	}
}

// concurrently does something n times, some of them at the same time. After a failure no more are begun; the error is
// the first.
func concurrently(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wait sync.WaitGroup
	var once sync.Once
	var first error
	slots := make(chan struct{}, maxConcurrent)
	for i := range n {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			if err := do(ctx, i); err != nil {
				once.Do(func() { first = err; stop() })
			}
		})
	}
	wait.Wait()
	if first == nil {
		return ctx.Err()
	}
	return first
}
