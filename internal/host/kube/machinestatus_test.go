package kube

import (
	"slices"
	"testing"
)

// ssh gives the way to a machine to a shell: nothing that means something to one is in it.
func TestTheWayToAMachine(t *testing.T) {
	for name, want := range map[string]string{
		"kube:vm?class=a": "",
		"kube:vm?class=a&through=virtctl&port=2222&context=lab": "virtctl port-forward --stdio=true --namespace=perf " +
			"--context=lab vmi/headroom-0123 2222",
		"kube:vm?class=a&through=ssh://core@node1:2022": "ssh -F /etc/x -p 2022 -W [%h]:%p -- core@node1",
	} {
		o, err := ParseName(name)
		if err != nil {
			t.Fatal(err)
		}
		r := machineRequest{options: o, session: "0123", cluster: &cluster{namespace: "perf"},
			ssh: []string{"-F", "/etc/x"}}
		if got, err := r.proxy(); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		r.options.Context, r.ssh = "$(reboot)", []string{"-F", "/tmp/a b"}
		if got, err := r.proxy(); want != "" && err == nil {
			t.Errorf("%s: a shell would be given %q", name, got)
		}
	}
}

func TestVersionOf(t *testing.T) {
	for text, want := range map[string][2]int{"v1.6.0": {1, 6}, "v1.5.2-rc.0": {1, 5}, "v0.59.1": {0, 59}} {
		if major, minor, ok := versionOf(text); !ok || [2]int{major, minor} != want {
			t.Errorf("%s: %d.%d, %v", text, major, minor, ok)
		}
	}
	for _, text := range []string{"", "devel", "v1", "v1.x.0"} {
		if _, _, ok := versionOf(text); ok {
			t.Errorf("%q is a version", text)
		}
	}
}

// What a machine, its instance and its conditions say is read as KubeVirt writes it.
func TestMachineStatusOf(t *testing.T) {
	instance := object{"metadata": object{"uid": "u"}, "status": object{"phase": "Running", "nodeName": "n1",
		"interfaces": []any{object{"name": "default", "ipAddress": "10.1.2.3"}, object{"ipAddress": "10.9.9.9"}},
		"conditions": []any{object{"type": "Ready", "status": "True"}, object{"type": "LiveMigratable",
			"status": "False", "reason": "DisksNotLiveMigratable", "message": "PVC is not shared"}}}}
	s := machineStatusOf(object{"status": object{"printableStatus": "Running"}}, instance)
	if s.phase != "Running" || s.address != "10.1.2.3" || s.node != "n1" || s.uid != "u" || s.failed ||
		len(s.reasons) != 0 {
		t.Errorf("%+v", s)
	}
	s = machineStatusOf(object{"status": object{"printableStatus": "ErrorUnschedulable"}},
		object{"status": object{"phase": "Scheduling",
			"conditions": []any{object{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
				"message": "0/1 nodes are available"}}}})
	if s.failed || !slices.Equal(s.reasons, []string{"Unschedulable: 0/1 nodes are available"}) {
		t.Errorf("%+v", s)
	}
	s = machineStatusOf(
		object{"status": object{"printableStatus": "Stopped",
			"conditions": []any{object{"type": "Failure", "status": "True", "reason": "FailedCreate",
				"message": "denied"}}}}, nil)
	if !s.failed || !slices.Equal(s.reasons, []string{"FailedCreate: denied"}) {
		t.Errorf("%+v", s)
	}
}
