package kube

import (
	"context"
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// apiTransport is the way to the container over the API.
type apiTransport struct{ pod *Pod }

func (w apiTransport) Dial(ctx context.Context) (host.Connection, error) {
	p := w.pod
	name, _ := p.current()
	if c := p.reconnect(name); c != nil {
		return c, nil
	}
	if err := p.podStatus(ctx, name); err != nil {
		return nil, err
	}
	c, err := dial(ctx, p.cluster, name, p.fateOf(name))
	if err != nil {
		if gone := p.podStatus(ctx, name); gone != nil {
			return nil, gone
		}
		return nil, err
	}
	p.mu.Lock()
	p.user = &identity{c.uid, c.home}
	p.mu.Unlock()
	return c, nil
}

// reconnect replaces a connection that was closed for the time being. It queries nothing, because all properties are
// known: the first command finds out if the pod is gone. It returns nil if there was no connection, or it was lost.
func (p *Pod) reconnect(name string) *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.disconnected || p.user == nil {
		return nil
	}
	p.disconnected = false
	c := newConnection(p.cluster, name)
	c.uid, c.home = p.user.uid, p.user.home
	go c.watch(p.fateOf(name))
	return c
}

// Disconnect gives the connection back until the next use.
func (p *Pod) Disconnect() error {
	err := p.Shell.Disconnect()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disconnected = err == nil
	return err
}

// Vanished asks what became of the container.
func (w apiTransport) Vanished(ctx context.Context) string {
	if err := w.pod.Lost(ctx); err != nil {
		return err.Error()
	}
	return "memory may have run out: the pod's limit is " + limitText(w.pod.request.options.Memory) +
		"; kubectl describe pod shows why it ended"
}

func limitText(r Range) string {
	if r.Limit == "" {
		return "that of its node"
	}
	return r.Limit
}

// podStatus returns nil while a pod runs, an error that is host.ErrGone when it has ended, was deleted or is being
// deleted, and another error if the API can't be asked.
func (p *Pod) podStatus(ctx context.Context, name string) error {
	pod, err := p.cluster.get(ctx, pods(), name)
	if absent(err) {
		return p.gone(name, "it was deleted")
	}
	if err != nil {
		return p.cluster.unreachable(err)
	}
	s := statusOf(pod.Object)
	switch {
	case s.over && s.reason == "DeadlineExceeded":
		return p.gone(name, "its deadline of "+p.request.options.Deadline.String()+
			" has passed; deadline=72h gives it more")
	case s.over:
		return p.gone(name, strings.TrimSuffix(strings.TrimSpace(strings.Join([]string{s.reason, s.message}, ": ")),
			":"))
	case s.leaving && s.message != "":
		return p.gone(name, s.message)
	case s.leaving:
		return p.gone(name, "it is being deleted")
	}
	return nil
}

func (p *Pod) fateOf(name string) func(context.Context) error {
	return func(ctx context.Context) error { return p.podStatus(ctx, name) }
}

func (p *Pod) gone(name, why string) error {
	return &lab.Error{What: fmt.Sprintf("the pod %s on node %s is gone: %s", name, p.Node(), why), Target: p.Name(),
		Err: host.ErrGone}
}
