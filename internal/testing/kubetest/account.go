package kubetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// Right is a verb on a kind of objects, whose group is empty for Kubernetes' core group. The resource may have a part:
// "pods/exec".
type Right struct{ Group, Resource, Verb string }

// String returns headroom's text for a missing right: "get virtualmachines.kubevirt.io", "create pods/exec".
func (r Right) String() string {
	kind, part, divided := strings.Cut(r.Resource, "/")
	if r.Group != "" {
		kind += "." + r.Group
	}
	if divided {
		kind += "/" + part
	}
	return r.Verb + " " + kind
}

// Rights returns the rights of the Role in a file, one by one.
func Rights(t *testing.T, file string) []Right {
	t.Helper()
	text, err := os.ReadFile(file)
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
	var all []Right
	for _, rule := range role.Rules {
		for _, group := range rule.Groups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, Right{group, resource, verb})
				}
			}
		}
	}
	if len(all) < 5 {
		t.Fatalf("the role in %s has %d rights: %v", file, len(all), all)
	}
	return all
}

// Account is a user whose only rights in the cluster are those set by May, in one namespace.
type Account struct {
	// Kubeconfig is the file that authenticates as this user.
	Kubeconfig string

	cluster   *Cluster
	namespace string
}

// Account makes an account; a namespace can have one.
func (c *Cluster) Account(t *testing.T, namespace string) *Account {
	t.Helper()
	a := &Account{filepath.Join(t.TempDir(), "config"), c, namespace}
	c.Kubectl(t, "", "create", "serviceaccount", "ann", "-n", namespace)
	c.Kubectl(t, "", "create", "rolebinding", "ann", "-n", namespace, "--role=ann",
		"--serviceaccount="+namespace+":ann")
	token := strings.TrimSpace(c.Kubectl(t, "", "create", "token", "ann", "-n", namespace))
	if err := os.WriteFile(a.Kubeconfig, []byte(c.Kubectl(t, "", "config", "view", "--flatten", "--raw")),
		0o600); err != nil {
		t.Fatal(err)
	}
	// If a file is named twice, kubectl uses the last.
	c.Kubectl(t, "", "config", "--kubeconfig", a.Kubeconfig, "set-credentials", "ann", "--token="+token)
	c.Kubectl(t, "", "config", "--kubeconfig", a.Kubeconfig, "set-context", "--current", "--user=ann")
	return a
}

// May gives the account some of the rights in of, and returns when the cluster grants exactly these.
func (a *Account) May(t *testing.T, rights, of []Right) {
	t.Helper()
	var rules []any
	for _, r := range rights {
		rules = append(rules, map[string]any{"apiGroups": []string{r.Group}, "resources": []string{r.Resource},
			"verbs": []string{r.Verb}})
	}
	a.create(t, "apply", map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
		"metadata": map[string]string{"name": "ann", "namespace": a.namespace}, "rules": rules})
	for _, r := range of {
		for end := time.Now().Add(30 * time.Second); a.can(t, r) != slices.Contains(rights,
			r); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the cluster does not heed the role: %s", r)
			}
		}
	}
}

// can asks the cluster whether the account has a right. kubectl auth can-i looks up the resource first, and a cluster
// may not have it.
func (a *Account) can(t *testing.T, r Right) bool {
	t.Helper()
	resource, part, _ := strings.Cut(r.Resource, "/")
	return a.create(t, "create", map[string]any{"apiVersion": "authorization.k8s.io/v1",
		"kind": "SelfSubjectAccessReview", "spec": map[string]any{
			"resourceAttributes": map[string]string{"namespace": a.namespace, "verb": r.Verb, "group": r.Group,
				"resource": resource, "subresource": part}}},
		"--validate=false", "--output", "jsonpath={.status.allowed}", "--kubeconfig", a.Kubeconfig) == "true"
}

// create lets kubectl create or apply an object, and returns its output.
func (a *Account) create(t *testing.T, verb string, object any, args ...string) string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return a.cluster.Kubectl(t, string(text), append([]string{verb, "--filename", "-"}, args...)...)
}
