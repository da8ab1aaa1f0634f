package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// connection carries shells to the container of a pod, each over a separate stream (the subresource exec). There is
// nothing that is held open between two of them, so it counts as lost when one of its streams broke.
type connection struct {
	cluster *cluster
	pod     string
	uid     int
	home    string

	mu   sync.Mutex
	gone chan struct{}
	lost bool
	// open are the sessions that have not ended, by what ends them.
	open map[*context.CancelFunc]<-chan struct{}
}

// helloLimit is how long the container may take to answer for the first time.
const helloLimit = 30 * time.Second

func newConnection(c *cluster, pod string) *connection {
	return &connection{cluster: c, pod: pod, gone: make(chan struct{}), open: map[*context.CancelFunc]<-chan struct{}{}}
}

// dial finds out who the user in the container is. podStatus is an error when the pod is gone.
func dial(ctx context.Context, c *cluster, pod string, podStatus func(ctx context.Context) error) (*connection, error) {
	l := newConnection(c, pod)
	var stdout, stderr outputBuffer
	session, err := l.Shell(&stdout, &stderr)
	if err != nil {
		return nil, err
	}
	go func() {
		// a session that ends meanwhile is noticed below
		_, _ = io.WriteString(session.Stdin, `printf '%s %s\n' "$(id -u)" "$HOME"`+"\n")
		_ = session.Stdin.Close()
	}()
	timer := time.NewTimer(helloLimit)
	defer timer.Stop()
	select {
	case <-session.Ended:
	case <-timer.C:
		session.Kill()
		return nil, &lab.Error{What: "the container does not answer", Target: c.target,
			Hints: []string{"by hand: " + c.execCommand(pod)}}
	case <-ctx.Done():
		session.Kill()
		return nil, ctx.Err()
	}
	if err := l.parseHello(stdout.String()); err != nil {
		e := &lab.Error{What: "can't carry out commands in the pod", Target: c.target,
			Output: strings.TrimSpace(stderr.String()), Err: err,
			Hints: []string{"by hand: " + c.execCommand(pod)}}
		if hint := l.Refused(stderr.String()); hint != "" {
			e.Hints = []string{hint}
		}
		return nil, e
	}
	go l.watch(podStatus)
	return l, nil
}

// watchEvery is how often it is asked whether the pod is still there. Streams to a node that lost its power break by
// themselves after hours.
const watchEvery = 10 * time.Second

// watch counts the connection as lost when the pod is gone, so that no call waits for an answer that will not come. It
// asks only while a call waits.
func (l *connection) watch(podStatus func(ctx context.Context) error) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-l.gone:
			return
		case <-ticker.C:
		}
		l.mu.Lock()
		idle := len(l.open) == 0
		l.mu.Unlock()
		if idle { // no call waits
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), watchEvery)
		err := podStatus(ctx)
		cancel()
		if !errors.Is(err, host.ErrGone) {
			continue
		}
		l.mu.Lock()
		l.markLost()
		for cancel := range l.open {
			(*cancel)()
		}
		l.mu.Unlock()
	}
}

// markLost has everybody know that the connection is lost. The lock is held.
func (l *connection) markLost() {
	if !l.lost {
		l.lost = true
		close(l.gone)
	}
}

func (c *cluster) execCommand(pod string) string {
	return "kubectl exec -n " + c.namespace + " " + pod + " -- id -u"
}

// parseHello reads what the container said of itself.
//
//	0 /root
func (l *connection) parseHello(printed string) error {
	uid, home, _ := strings.Cut(strings.TrimSpace(printed), " ")
	l.home = home
	var err error
	if l.uid, err = strconv.Atoi(uid); err != nil {
		return fmt.Errorf("its shell answers %q, where a user's number is due", printed)
	}
	return nil
}

func (l *connection) User() (uid int, home string) { return l.uid, l.home }

func (l *connection) Gone() <-chan struct{} { return l.gone }

// SFTP is reached through a shell only.
func (l *connection) SFTP(_, _ io.Writer) (*host.Session, error) { return nil, nil }

// Refused knows images without a shell, and users who may not carry out commands.
func (l *connection) Refused(printed string) string {
	switch {
	case strings.Contains(printed, "/bin/sh") && (strings.Contains(printed, "no such file") ||
		strings.Contains(printed, "not found")):
		return "the image has no /bin/sh; take one that has it, with coreutils or BusyBox, util-linux and fio: " +
			"image=NAME"
	case strings.Contains(printed, "forbidden"):
		return "ask for a role with the permission create pods/exec"
	}
	return ""
}

// Shell starts a shell in the container.
func (l *connection) Shell(stdout, stderr io.Writer) (*host.Session, error) {
	return l.start([]string{"/bin/sh", "-c", host.FirstLine}, stdout, stderr)
}

// start begins a program in the container, with separate streams.
func (l *connection) start(argv []string, stdout, stderr io.Writer) (*host.Session, error) {
	stream, err := l.cluster.executor(l.pod, argv)
	if err != nil {
		return nil, err
	}
	// What the library logs of a stream that breaks is not for the user: it is heard of below.
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	from, stdin := io.Pipe()
	ended := make(chan struct{})
	l.mu.Lock()
	l.open[&cancel] = ended
	l.mu.Unlock()
	go func() {
		defer close(ended)
		err := stream.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: from, Stdout: stdout, Stderr: stderr})
		_ = from.CloseWithError(io.ErrClosedPipe)
		broke := err != nil && ctx.Err() == nil
		// A shell that was killed ended with its container, or was taken out of it: what it carried out has no answer,
		// as with a stream that broke.
		const killed = 128
		if e, exited := errors.AsType[exec.CodeExitError](err); exited && e.Code < killed {
			broke = false
		}
		l.mu.Lock()
		delete(l.open, &cancel)
		if broke {
			l.markLost()
		}
		l.mu.Unlock()
		if broke {
			fmt.Fprintf(stderr, "\n%s\n", err) // where the caller looks for a reason
		}
		cancel()
	}()
	return &host.Session{Stdin: stdin, Ended: ended, Kill: cancel}, nil
}

// executor is the stream for a program: a websocket, and where a server or a proxy on the way has none, SPDY.
func (c *cluster) executor(pod string, argv []string) (remotecommand.Executor, error) {
	base, _, err := rest.DefaultServerUrlFor(c.config)
	if err != nil {
		return nil, err
	}
	query := url.Values{"container": {containerName}, "stdin": {"true"}, "stdout": {"true"}, "stderr": {"true"},
		"command": argv}
	u := base.JoinPath("api", "v1", "namespaces", c.namespace, "pods", pod, "exec")
	u.RawQuery = query.Encode()
	socket, err := remotecommand.NewWebSocketExecutor(c.config, "GET", u.String())
	if err != nil {
		return nil, err
	}
	older, err := remotecommand.NewSPDYExecutor(c.config, "POST", u)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(socket, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// Close ends all sessions.
func (l *connection) Close() error {
	l.mu.Lock()
	l.markLost()
	var ended []<-chan struct{}
	for cancel, e := range l.open {
		(*cancel)()
		ended = append(ended, e)
	}
	l.mu.Unlock()
	timer := time.NewTimer(5 * time.Second)
	defer timer.Stop()
	for _, e := range ended {
		select {
		case <-e:
		case <-timer.C:
			return nil // the streams end with this process at the latest, and hold nothing
		}
	}
	return nil
}

// outputBuffer is what a program prints.
type outputBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (w *outputBuffer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *outputBuffer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}
