package claim

import (
	"strings"
	"testing"
)

// Nothing that is a secret, leads to one, or is an address is a fact.
func TestParametersAreHarmless(t *testing.T) {
	got := withoutSecrets(map[string]string{
		"linstor.csi.linbit.com/autoPlace": "2", "linstor.csi.linbit.com/storagePool": "nvme",
		"csi.storage.k8s.io/fstype":                 "xfs",
		"csi.storage.k8s.io/node-stage-secret-name": "rook", "restuserkey": "hunter2", "resturl": "http://10.0.0.5",
		"server":        "10.0.0.7",
		"adminPassword": "hunter3", "property.linstor.csi.linbit.com/DrbdOptions/auto-quorum": "suspend-io",
		"linstor.csi.linbit.com/replicasOnSame": "zone=a\n  rack=b",
	})
	want := "csi.storage.k8s.io/fstype=xfs, linstor.csi.linbit.com/autoPlace=2, " +
		"linstor.csi.linbit.com/replicasOnSame=zone=a rack=b, linstor.csi.linbit.com/storagePool=nvme, " +
		"property.linstor.csi.linbit.com/DrbdOptions/auto-quorum=suspend-io"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := withoutSecrets(nil); got != "none" {
		t.Error(got)
	}
}

func TestRemoteAccess(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"linstor.csi.linbit.com/allowRemoteVolumeAccess", "false", "false"},
		{"allowremotevolumeaccess", "False", "false"},
		{"linstor.csi.linbit.com/allowRemoteVolumeAccess", "- fromSame:\n  - zone", "- fromSame: - zone"},
		{"linstor.csi.linbit.com/autoPlace", "2", "true"},
	} {
		if got := remoteAccess(map[string]string{c.key: c.value}); got != c.want {
			t.Errorf("%s: %s is %q, want %q", c.key, c.value, got, c.want)
		}
	}
}

func TestFactsOfAVolume(t *testing.T) {
	terms := Object{"required": Object{"nodeSelectorTerms": []any{Object{"matchExpressions": []any{
		Object{"key": "kubernetes.io/hostname", "operator": "In", "values": []any{"node1", "node2"}}}}}}}
	for _, c := range []struct {
		spec Object
		want string
	}{
		{Object{"local": Object{"path": "/dev/loop1"}, "nodeAffinity": terms},
			"claim.driver local; claim.nodes kubernetes.io/hostname In node1 or node2"},
		{Object{"csi": Object{"driver": linstor,
			"volumeAttributes": Object{"linstor.csi.linbit.com/mount-options": "noatime", "authToken": "x"}}},
			"claim.driver linstor.csi.linbit.com; claim.attributes linstor.csi.linbit.com/mount-options=noatime; " +
				"claim.nodes any"},
		{Object{"glusterfs": Object{"path": "a"}}, "claim.driver glusterfs; claim.nodes any"},
		{Object{"novel": Object{}}, "claim.driver ?; claim.nodes any"},
	} {
		var printed []string
		_, all := OfVolume(Object{"spec": c.spec}, "here")
		for _, f := range all {
			if f.Unknown != "" {
				f.Value = "?"
			}
			printed = append(printed, f.Key+" "+f.Value)
		}
		if got := strings.Join(printed, "; "); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// What a text has in names and values does not break the lines of facts.
func TestOddObjects(t *testing.T) {
	all := OfList([]Object{
		{"kind": "StorageClass", "metadata": Object{"name": "a\nb"}, "provisioner": " ",
			"parameters": Object{"x": "1\n2"}},
		{"kind": "StorageClass", "metadata": Object{"name": "c"}, "provisioner": linstor,
			"parameters": Object{"allowRemoteVolumeAccess": "\n"}},
		{"kind": "PersistentVolume", "metadata": Object{"name": 7}}, {"kind": 3}, nil,
		{"kind": "PersistentVolumeClaim", "metadata": Object{"name": "d"},
			"spec": Object{"storageClassName": "no\nne"}},
	}, "here")
	if len(all) == 0 {
		t.Fatal("nothing was read")
	}
	for _, f := range all {
		if strings.Contains(f.About+f.Value+f.Unknown+f.Source, "\n") || f.Value == "" && f.Unknown == "" {
			t.Errorf("%+q", f)
		}
	}
}

// A class that is printed as a table and as YAML is one, with parameters.
func TestClassesCountOnce(t *testing.T) {
	table := Object{"kind": "StorageClass", "metadata": Object{"name": "a"}, "provisioner": "x", "parameters": nil}
	whole := Object{"kind": "StorageClass", "metadata": Object{"name": "a"}, "provisioner": "x",
		"parameters": Object{"type": "gp3"}}
	for _, objects := range [][]Object{{table, whole}, {whole, table}, {whole, whole}} {
		seen := map[string]int{}
		for _, f := range OfList(objects, "here") {
			seen[f.Key]++
			if f.Key == "claim.parameters" && f.Value != "type=gp3" {
				t.Errorf("%+v", f)
			}
		}
		if seen["claim.class"] != 1 || seen["claim.parameters"] != 1 {
			t.Errorf("%v", seen)
		}
	}
}
