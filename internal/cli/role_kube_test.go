//go:build system && kube

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// right is a verb on a kind of objects, as headroom and kubectl name it: "create pods/exec".
type right struct{ verb, resource string }

func (r right) String() string { return r.verb + " " + r.resource }

// rightsOf are those of deploy/role.yaml.
func rightsOf(t *testing.T) []right {
	t.Helper()
	text, err := os.ReadFile("../../deploy/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var role struct {
		Rules []struct {
			Groups    []string `yaml:"apiGroups"`
			Resources []string
			Verbs     []string
		}
	}
	if err := yaml.Unmarshal(text, &role); err != nil {
		t.Fatal(err)
	}
	var all []right
	for _, rule := range role.Rules {
		if !slices.Equal(rule.Groups, []string{""}) {
			t.Fatalf("the role is about other groups than the core: %q", rule.Groups)
		}
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				all = append(all, right{verb, resource})
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("the role has no rights")
	}
	return all
}

// ann is a user with the rights of the role "headroom" in a namespace, and no others.
type ann struct {
	podRun
	config string
}

func newAnn(r podRun) ann {
	r.t.Helper()
	a := ann{r, filepath.Join(r.t.TempDir(), "config")}
	r.kubectl("create", "serviceaccount", "ann", "-n", r.namespace)
	r.kubectl("create", "rolebinding", "headroom", "-n", r.namespace, "--role=headroom", "--serviceaccount="+r.namespace+":ann")
	token := strings.TrimSpace(r.kubectl("create", "token", "ann", "-n", r.namespace))
	if err := os.WriteFile(a.config, []byte(r.kubectl("config", "view", "--flatten", "--raw")), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.kubectl("config", "--kubeconfig", a.config, "set-credentials", "ann", "--token="+token)
	r.kubectl("config", "--kubeconfig", a.config, "set-context", "--current", "--user=ann")
	return a
}

// may gives the role some rights, and returns when they are all that ann has of these.
func (a ann) may(rights, of []right) {
	a.t.Helper()
	var rules []any
	for _, r := range rights {
		rules = append(rules, map[string]any{"apiGroups": []string{""}, "resources": []string{r.resource}, "verbs": []string{r.verb}})
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
		"metadata": map[string]string{"name": "headroom", "namespace": a.namespace}, "rules": rules})
	if err != nil {
		a.t.Fatal(err)
	}
	apply := exec.Command("kubectl", "apply", "-f", "-")
	apply.Stdin = strings.NewReader(string(text))
	if out, err := apply.CombinedOutput(); err != nil {
		a.t.Fatalf("%v\n%s", err, out)
	}
	for _, r := range of {
		for end := time.Now().Add(30 * time.Second); a.can(r) != slices.Contains(rights, r); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				a.t.Fatalf("the cluster does not heed the role: %s", r)
			}
		}
	}
}

func (a ann) can(r right) bool {
	resource, part, _ := strings.Cut(r.resource, "/")
	return exec.Command("kubectl", "auth", "can-i", r.verb, resource, "--subresource="+part, "-n", a.namespace, "--kubeconfig", a.config, "-q").Run() == nil
}

func (a ann) command(args ...string) *exec.Cmd {
	cmd := a.podRun.command(args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+a.config)
	return cmd
}

func (a ann) works(args ...string) {
	a.t.Helper()
	if out, err := a.command(args...).CombinedOutput(); err != nil {
		a.t.Errorf("headroom %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// With the rights of deploy/role.yaml everything works that makes pods; without any one of them nothing is begun, and the one is named.
func TestTheRoleIsWhatItTakes(t *testing.T) {
	r := newPodRun(t)
	a, all := newAnn(r), rightsOf(t)
	claimed := fmt.Sprintf("kube:pod?class=fast&size=1Gi&namespace=%s", r.namespace)
	for i, missing := range all {
		a.may(slices.Delete(slices.Clone(all), i, i+1), all)
		out, err := a.command("run", r.suite, "--on", claimed).CombinedOutput()
		if code := exitOf(err); code != 4 || !strings.Contains(string(out), "you lack permissions in namespace "+r.namespace+": "+missing.String()+" on kube:") {
			t.Errorf("without %s: exit code %d\n%s", missing, code, out)
		}
	}

	a.may(slices.DeleteFunc(slices.Clone(all), func(r right) bool { return r.resource == "persistentvolumeclaims" }), all)
	a.works("run", r.suite, "--on", r.pod("")) // no claims, no rights to them

	a.may(all, all)
	a.works("run", r.suite, "--on", claimed)
	a.works("sweep", r.suite, "--on", r.pod("&memory=128Mi"), "--factor", "pod:cpu=100m..500m,100m..1", "--blocks", "1", "--set", "runtime=1s")
	a.works("net", "--on", "client="+r.pod(""), "--on", "server="+r.pod(""), "--repeat", "1", "--set", "time=1s", "--set", "omit=0s", "--set", "parallel=1")
	killed := a.command("run", r.suite, "--on", claimed)
	var said listened
	killed.Stderr = &said
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	said.await(t, "1/2  ")
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
