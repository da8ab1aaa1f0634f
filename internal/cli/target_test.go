package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// A server that takes connections and never answers is waited for until the user stops it, and what is printed then
// says that, and not that a server can't be reached.
func TestOpeningIsStopped(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	config := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: "+
		"c}}]\nclusters: [{name: c, cluster: {server: 'http://%s'}}]\n", server.Addr())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", config)
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		if c, err := server.Accept(); err == nil {
			defer c.Close()
			stop(errors.New("the user said so"))
			_, _ = io.Copy(io.Discard, c)
		}
	}()
	const target = "kube:pod?image=x"
	var printed strings.Builder
	code := Run(ctx, app.Environment{Args: []string{"headroom", "run", "quick", "--on", target},
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &printed,
		Env: func(key string) string {
			return map[string]string{"HEADROOM_STORE": t.TempDir(), "XDG_STATE_HOME": t.TempDir(),
				"KUBECONFIG": config}[key]
		}, Version: "test"})
	if want := "headroom: stopped before " + target + " was ready: the user said so\n"; code != 130 ||
		!strings.HasSuffix(printed.String(), want) {
		t.Errorf("exit code %d, want 130; it said %q, want %q at the end", code, printed.String(), want)
	}
}

// What could not be removed again is not kept back because the user stopped what made it.
func TestOpeningIsStoppedAndLeavesSomething(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err := app.StoppedOpening(ctx, "kube:pod", errors.Join(ctx.Err(), errors.New("the pod can't be removed"),
		fmt.Errorf("asking: %w", ctx.Err())))
	want := "stopped before kube:pod was ready: context canceled\nthe pod can't be removed"
	if lab.KindOf(err) != lab.Cancelled || err.Error() != want {
		t.Errorf("%v: %q, want %q", lab.KindOf(err), err, want)
	}
}

func TestTraitsOfNames(t *testing.T) {
	p := app.New(app.Environment{})
	for name, want := range map[string]host.Traits{
		"local":       {Local: true},
		"local:1":     {},
		"ssh://db1":   {},
		"/srv":        {},
		"talos://n1":  {Noun: "Talos node", BootOnly: true},
		"qemu:a.yaml": {Noun: "guest", HostedHere: true, OwnBoot: true, Ephemeral: true, LosesSettings: true},
		"kube:vm?a=b": {Noun: "machine", Scheduled: true, LosesSettings: true, MemberPrefix: "pod-"}, // a faulty name
		"kube:vm?":    {Noun: "machine", Scheduled: true, LosesSettings: true, Ephemeral: true, MemberPrefix: "pod-"},
		"kube:pod?":   {Noun: "pod", Scheduled: true, Ephemeral: true, MemberPrefix: "pod-"},
		"kube:nodes":  {Noun: "pod", Scheduled: true, Ephemeral: true, Several: true},
		"kube:nodes?hostpath=/srv&node=n1": {Noun: "pod", Scheduled: true, Node: "n1", Set: "kube:nodes?hostpath=/srv",
			Member: "n1"},
	} {
		if got := p.Traits(name); got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
