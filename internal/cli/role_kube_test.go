//go:build system && kube

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/kubetest"
)

// limitedAccount is a user with the rights of a role in a namespace, and no others.
type limitedAccount struct {
	podRun
	*kubetest.Account
}

func (a limitedAccount) command(args ...string) *exec.Cmd {
	cmd := a.podRun.command(args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+a.Kubeconfig)
	return cmd
}

func (a limitedAccount) works(args ...string) {
	a.t.Helper()
	if out, err := a.command(args...).CombinedOutput(); err != nil {
		a.t.Errorf("headroom %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// With the rights of deploy/role.yaml everything works that makes pods; without any one of them nothing is begun, and
// the one is named.
func TestTheRoleIsWhatItTakes(t *testing.T) {
	r := newPodRun(t)
	a, all := limitedAccount{r, kubetest.Start(t).Account(t, r.namespace)}, kubetest.Rights(t, "../../deploy/role.yaml")
	claimed := fmt.Sprintf("kube:pod?class=fast&size=1Gi&namespace=%s", r.namespace)
	for i, missing := range all {
		a.May(t, slices.Delete(slices.Clone(all), i, i+1), all)
		out, err := a.command("run", r.suite, "--on", claimed).CombinedOutput()
		if code := exitOf(err); code != 4 || !strings.Contains(string(out),
			"you lack permissions in namespace "+r.namespace+": "+missing.String()+" on kube:") {
			t.Errorf("without %s: exit code %d\n%s", missing, code, out)
		}
	}

	a.May(t, slices.DeleteFunc(slices.Clone(all), func(r kubetest.Right) bool {
		return r.Resource == "persistentvolumeclaims"
	}), all)
	a.works("run", r.suite, "--on", r.pod("")) // no claims, no rights to them

	a.May(t, all, all)
	a.works("run", r.suite, "--on", claimed)
	a.works("sweep", r.suite, "--on", r.pod("&memory=128Mi"), "--factor", "pod:cpu=100m..500m,100m..1", "--blocks", "1",
		"--set", "runtime=1s")
	a.works("net", "--on", "client="+r.pod(""), "--on", "server="+r.pod(""), "--repeat", "1", "--set", "time=1s",
		"--set", "omit=0s", "--set", "parallel=1")
	killed := a.command("run", r.suite, "--on", claimed)
	var printed listened
	killed.Stderr = &printed
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	printed.await(t, "1/2  ")
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	if left := r.made(); len(left) != 2 {
		t.Errorf("%q are left by a kill", left)
	}
	a.works("restore")
}

// exitOf is the exit code that an error of a command means.
func exitOf(err error) int {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode()
	}
	return 0
}
