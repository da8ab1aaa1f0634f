//go:build system && kube

package kube_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/kubetest"
)

// With the rights of deploy/role-machines.yaml a machine is made, known by its run, lost and had again, and removed;
// without any one of them nothing is begun, and the one is named.
func theRoleOfMachinesIsWhatTheyTake(t *testing.T) {
	_, namespace := standIn(t)
	defer giveBack(t, namespace)
	ann, all := kubetest.Start(t).Account(t, namespace), kubetest.Rights(t, "../../../deploy/role-machines.yaml")
	name := "kube:vm?boot=" + cluster(t) + "&pull=never&class=fast&size=1Gi&memory=512Mi&port=10022&namespace=" +
		namespace + "&kubeconfig=" + ann.Kubeconfig
	for i, missing := range all {
		ann.May(t, slices.Delete(slices.Clone(all), i, i+1), all)
		_, err := openMachine(t, t.TempDir(), name+"&through=virtctl")
		if lab.KindOf(err) != lab.Refused || !strings.Contains(err.Error(),
			"you lack permissions in namespace "+namespace+": "+missing.String()+" on kube:") {
			t.Errorf("without %s: %v", missing, err)
		}
	}
	ann.May(t, all, all)
	m, err := openMachine(t, t.TempDir(), name)
	if err != nil {
		t.Fatalf("%v\n%s", err, details(err))
	}
	if err := m.Label(t.Context(), "7XYZ"); err != nil {
		t.Error(err)
	}
	made, _ := m.MachineName()
	kubectl(t, "", "delete", "vmi", "-n", namespace, made)
	if err := m.Replace(t.Context()); err != nil {
		t.Errorf("%v\n%s", err, details(err))
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if left := leftOfMachines(t, namespace); left != "" {
		t.Errorf("%s is left", left)
	}
}
