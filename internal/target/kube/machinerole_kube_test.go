//go:build system && kube

package kube_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"headroom/internal/lab"
)

// right is a verb on a kind of objects.
type right struct{ group, resource, verb string }

// String is what headroom says of one that is lacking.
func (r right) String() string {
	kind, part, divided := strings.Cut(r.resource, "/")
	if r.group != "" {
		kind += "." + r.group
	}
	if divided {
		kind += "/" + part
	}
	return r.verb + " " + kind
}

// rightsToMachines are those of deploy/role-machines.yaml.
func rightsToMachines(t *testing.T) (all []right) {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/role-machines.yaml")
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
	for _, rule := range role.Rules {
		for _, group := range rule.Groups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, right{group, resource, verb})
				}
			}
		}
	}
	if len(all) < 15 {
		t.Fatalf("the role has %d rights: %v", len(all), all)
	}
	return all
}

// allow gives ann some rights in a namespace, and returns when the cluster knows that they are all she has of these.
func allow(t *testing.T, namespace, config string, rights, of []right) {
	t.Helper()
	var rules []any
	for _, r := range rights {
		rules = append(rules, map[string]any{"apiGroups": []string{r.group}, "resources": []string{r.resource}, "verbs": []string{r.verb}})
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": map[string]string{"name": "few", "namespace": namespace}, "rules": rules})
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, string(text), "apply", "-f", "-")
	for _, r := range of {
		resource, part, _ := strings.Cut(r.resource, "/")
		question, err := json.Marshal(map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": map[string]any{
			"resourceAttributes": map[string]string{"namespace": namespace, "verb": r.verb, "group": r.group, "resource": resource, "subresource": part}}})
		if err != nil {
			t.Fatal(err)
		}
		// kubectl auth can-i asks the cluster for the resource first, and the stand-in has not all of KubeVirt's.
		can := func() bool {
			return kubectl(t, string(question), "create", "--validate=false", "-f", "-", "-o", "jsonpath={.status.allowed}", "--kubeconfig", config) == "true"
		}
		for end := time.Now().Add(30 * time.Second); can() != slices.Contains(rights, r); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the cluster does not heed the role: %s", r)
			}
		}
	}
}

// With the rights of deploy/role-machines.yaml a machine is made, known by its run, lost and had again, and removed; without any one of them nothing is begun, and the one is named.
func theRoleOfMachinesIsWhatTheyTake(t *testing.T) {
	_, namespace := standIn(t)
	defer giveBack(t, namespace)
	config, all := account(t, namespace, "pods"), rightsToMachines(t)
	name := "kube:vm?boot=" + cluster(t) + "&pull=never&class=fast&size=1Gi&memory=512Mi&port=10022&namespace=" + namespace + "&kubeconfig=" + config
	for i, missing := range all {
		allow(t, namespace, config, slices.Delete(slices.Clone(all), i, i+1), all)
		_, err := openMachine(t, t.TempDir(), name+"&through=virtctl")
		if lab.KindOf(err) != lab.Refused || !strings.Contains(err.Error(), "you lack permissions in namespace "+namespace+": "+missing.String()+" on kube:") {
			t.Errorf("without %s: %v", missing, err)
		}
	}
	allow(t, namespace, config, all, all)
	m, err := openMachine(t, t.TempDir(), name)
	if err != nil {
		t.Fatalf("%v\n%s", err, details(err))
	}
	if err := m.Label(t.Context(), "7XYZ"); err != nil {
		t.Error(err)
	}
	made, _ := m.Names()
	kubectl(t, "", "delete", "vmi", "-n", namespace, made)
	if err := m.Renew(t.Context()); err != nil {
		t.Errorf("%v\n%s", err, details(err))
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if left := leftOfMachines(t, namespace); left != "" {
		t.Errorf("%s is left", left)
	}
}
