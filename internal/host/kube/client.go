package kube

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/headroom/headroom/internal/lab"
)

// cluster is the API of a cluster as the user's own configuration reaches it.
type cluster struct {
	config    *rest.Config
	client    dynamic.Interface
	namespace string
	// target is the name for errors.
	target string
	// patience is how long a server that can't be reached is tried for again.
	patience time.Duration
	known    clusterCache
}

// connect reads the user's configuration, as kubectl does. Nothing is asked of the server yet.
func connect(o Options) (*cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if o.Kubeconfig != "" {
		rules.ExplicitPath = o.Kubeconfig
	}
	files := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: o.Context})
	config, err := files.ClientConfig()
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: "can't tell which cluster is meant", Target: o.Name, Err: err,
			Hints: []string{"kubectl config get-contexts lists the contexts of your kubeconfig; name one with " +
				"context=NAME", "KUBECONFIG names another file, and so does kubeconfig=FILE"}}
	}
	c := &cluster{config: config, namespace: o.Namespace, target: o.Name, patience: apiPatience}
	if c.namespace == "" {
		if c.namespace, _, err = files.Namespace(); err != nil {
			return nil, &lab.Error{What: "can't tell which namespace is meant", Target: o.Name, Err: err}
		}
	}
	config.WarningHandler = rest.NoWarnings{}
	config.QPS, config.Burst = 50, 100 // a few questions at a time, not held back by the client itself
	config.UserAgent = "headroom"
	if c.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, &lab.Error{What: "can't use the kubeconfig", Target: o.Name, Err: err}
	}
	return c, nil
}

// apiPatience is how long an API server may be away, as when it is started again.
const apiPatience = 2 * time.Minute

// The kinds of objects that are made and asked about.
func pods() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "pods"}
}

func claims() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
}

func volumes() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
}

func events() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "events"}
}

func nodes() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
}

func namespaces() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
}

func classes() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
}

func reviews() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1",
		Resource: "selfsubjectaccessreviews"}
}

// of is the way to objects of a kind in the namespace.
func (c *cluster) of(kind schema.GroupVersionResource) dynamic.ResourceInterface {
	return c.client.Resource(kind).Namespace(c.namespace)
}

// retried carries out a request that may be carried out twice, and again when the server was away.
func retried[T any](ctx context.Context, c *cluster, do func(ctx context.Context) (T, error)) (T, error) {
	begun := time.Now()
	for {
		one, cancel := context.WithTimeout(ctx, 30*time.Second)
		v, err := do(one)
		cancel()
		if err == nil || ctx.Err() != nil || !isUnavailable(err) || time.Since(begun) > c.patience {
			return v, err
		}
		select {
		case <-ctx.Done():
			return v, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// isUnavailable says that an error is the server's absence, not its answer.
func isUnavailable(err error) bool {
	if apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTimeout(err) || apierrors.IsInternalError(err) {
		return true
	}
	var answer *apierrors.StatusError
	if errors.As(err, &answer) {
		return false
	}
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, context.DeadlineExceeded) ||
		strings.Contains(err.Error(), "EOF")
}

func (c *cluster) get(ctx context.Context, kind schema.GroupVersionResource, name string) (*unstructured.Unstructured,
	error) {
	return retried(ctx, c, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return c.of(kind).Get(ctx, name, metav1.GetOptions{})
	})
}

// global is an object that is in no namespace.
func (c *cluster) global(ctx context.Context, kind schema.GroupVersionResource,
	name string) (*unstructured.Unstructured, error) {
	return retried(ctx, c, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return c.client.Resource(kind).Get(ctx, name, metav1.GetOptions{})
	})
}

func (c *cluster) globals(ctx context.Context, kind schema.GroupVersionResource) (*unstructured.UnstructuredList,
	error) {
	return retried(ctx, c, func(ctx context.Context) (*unstructured.UnstructuredList, error) {
		return c.client.Resource(kind).List(ctx, metav1.ListOptions{})
	})
}

// unreachable is the error of a server that does not answer.
func (c *cluster) unreachable(err error) error {
	hints := []string{"try by hand: kubectl cluster-info"}
	if apierrors.IsUnauthorized(err) {
		hints = []string{"the credentials of your kubeconfig are not accepted: log in again, then try kubectl auth " +
			"whoami"}
	}
	what := "the cluster can't be reached at " + c.config.Host
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return &lab.Error{What: what, Target: c.target, Err: err, Hints: hints}
}
