package kube

import (
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

func TestParseMachine(t *testing.T) {
	o, err := ParseName("kube:vm?boot=reg.lan/fedora:42&class=fast&size=20Gi&cores=16&memory=8Gi&bus=virtio&cache=none&io=native&iothreads=4&multiqueue&node=n1&namespace=perf&cpu=8&user=fedora&port=2222&deadline=2h&dedicatedcpus&pull=always&selector=disk=nvme")
	if err != nil {
		t.Fatal(err)
	}
	m := MachineOptions{Boot: "reg.lan/fedora:42", Cores: 16, Memory: "8Gi", DedicatedCPUs: true, User: "fedora",
		Port: 2222,
		Disk: MachineDisk{Bus: "virtio", Cache: "none", IO: "native", Policy: "supplementalPool",
			Pool: 4, MultiQueue: true}}
	if *o.Machine != m || o.Volume != (Volume{Kind: Claimed, Of: "fast", Size: "20Gi", Block: true}) ||
		o.Node != "n1" || o.Namespace != "perf" || o.CPU != (Range{"8", "8"}) ||
		o.Deadline != 2*time.Hour || o.Wait != machineWait || o.Pull != "Always" || o.NodeLabels["disk"] != "nvme" {
		t.Errorf("%+v, %+v", o, o.Machine)
	}
	for name, want := range map[string]MachineDisk{
		"kube:vm?class=a":                                {Bus: "virtio"},
		"kube:vm?emptydisk&iothreadspolicy=shared":       {Bus: "virtio", Policy: "shared"},
		"kube:vm?claim=a&bus=scsi&dedicatediothread":     {Bus: "scsi", Dedicated: true},
		"kube:vm?class=a&iothreadspolicy=auto&io=native": {Bus: "virtio", Policy: "auto", IO: "native"},
	} {
		if o, err := ParseName(name); err != nil || o.Machine.Disk != want {
			t.Errorf("%s: %+v, %v", name, o.Machine, err)
		}
	}
	if o, err := ParseName("kube:pod?class=a"); err != nil || o.Machine != nil {
		t.Errorf("a pod has %+v, %v", o.Machine, err)
	}
	for name, want := range map[string]string{"kube:vm?class=a": "machine", "kube:vm": "machine",
		"kube:pod?class=vm": "pod", "kube:nodes": "pod"} {
		if got := TraitsOf(name); got.Noun != want || got.LosesSettings != (want == "machine") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// All faults are reported at once, not one at a time.
func TestParseMachineTellsAllFaults(t *testing.T) {
	_, err := ParseName("kube:vm?boot=a&bootclaim=b&class=c&emptydisk&cores=0&memory=much&bus=ide&cache=unsafe&io=default&iothreads=-1&hostpath=/srv&image=x&privileged&port=70000&user=-x&selector=x&deadline=0")
	e, ok := err.(*lab.Error)
	if !ok || e.Kind != lab.Usage {
		t.Fatalf("%v", err)
	}
	printed := strings.Join(e.Hints, "\n")
	for _, fault := range []string{"boot and bootclaim are two disks", "class and emptydisk are two volumes",
		"cores: it is a whole number", `memory: "much" is no amount`, "bus: it is virtio or scsi or sata",
		"cache: it is none", "io: it is native or threads", "iothreads: it is a whole number", `no option "hostpath"`,
		`no option "image"`, `no option "privileged"`, "port: it is", `user: "-x" is no user`,
		"labels of nodes", `"0" is no time`, "kube:vm?boot="} {
		if !strings.Contains(printed, fault) {
			t.Errorf("nothing of %q in:\n%s", fault, printed)
		}
	}
}

func TestMachineContradictions(t *testing.T) {
	for name, want := range map[string]string{
		"kube:vm?size=1Gi":                                                 "size applies only to a new disk",
		"kube:vm?claim=x&mode=block":                                       "mode applies only to a new claim",
		"kube:vm?cache=none":                                               "there is none",
		"kube:vm?class=a&iothreadspolicy=supplementalPool":                 "one needs the other",
		"kube:vm?class=a&iothreadspolicy=auto&iothreads=2":                 "one needs the other",
		"kube:vm?class=a&iothreads=2&dedicatediothread":                    "gives it all of the pool's",
		"kube:vm?class=a&bus=sata&iothreads=2":                             "sata has no IOThreads",
		"kube:vm?class=a&bus=scsi&iothreads=2":                             "bus virtio",
		"kube:vm?class=a&io=native&cache=writeback":                        "needs cache=none",
		"kube:vm?class=a&iothreads":                                        "iothreads needs a value",
		"kube:vm?class=a&multiqueue=4":                                     "multiqueue takes no value",
		"kube:machine?class=a":                                             "comes pod, nodes or vm",
		"kube:vm?through=ssh://a%20b":                                      "through: it is virtctl, or ssh://",
		"kube:vm?through=-x":                                               "through: it is virtctl, or ssh://",
		"kube:vm?bootclaim=A_B":                                            "is no name",
		"kube:vm?class=a&iothreadspolicy=dedicated":                        "it is shared or auto or supplementalPool",
		"kube:vm?claim=x&size=1Gi&iothreadspolicy=shared&cores=4&memory=1": "size applies only to a new disk",
	} {
		_, err := ParseName(name)
		e, ok := err.(*lab.Error)
		if !ok || !strings.Contains(strings.Join(e.Hints, "\n"), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSettingsOfAMachine(t *testing.T) {
	o, err := ParseName("kube:vm?class=a&iothreads=3&multiqueue&cores=4")
	if err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]MachineDisk{
		"":                       {Bus: "virtio", Policy: "supplementalPool", Pool: 3, MultiQueue: true},
		"iothreads=0":            {Bus: "virtio", MultiQueue: true},
		"iothreads=8":            {Bus: "virtio", Policy: "supplementalPool", Pool: 8, MultiQueue: true},
		"iothreadspolicy=shared": {Bus: "virtio", Policy: "shared", MultiQueue: true},
		"iothreadspolicy=none":   {Bus: "virtio", MultiQueue: true},
		"multiqueue=off":         {Bus: "virtio", Policy: "supplementalPool", Pool: 3},
		"cache=none aio=native": {Bus: "virtio", Policy: "supplementalPool", Pool: 3, MultiQueue: true,
			Cache: "none", IO: "native"},
		"iothreads=0 bus=scsi":       {Bus: "scsi", MultiQueue: true},
		"cpus=8 memory=4Gi":          {Bus: "virtio", Policy: "supplementalPool", Pool: 3, MultiQueue: true},
		"iothreadspolicy=supplement": {},
	} {
		settings := map[string]string{}
		for part := range strings.FieldsSeq(setting) {
			name, level, _ := strings.Cut(part, "=")
			settings[name] = level
		}
		m, err := o.WithSettings(settings)
		if want == (MachineDisk{}) {
			if err == nil {
				t.Errorf("%s is taken", setting)
			}
			continue
		}
		if err != nil || m.Disk != want {
			t.Errorf("%s: %+v, %v", setting, m, err)
		}
	}
	if o.Machine.Disk.Pool != 3 || o.Machine.Cores != 4 {
		t.Errorf("what was asked for has become %+v", o.Machine)
	}
	_, err = o.WithSettings(map[string]string{"iommu": "intel", "cpus": "none", "cache": "unsafe"})
	if err == nil || !strings.Contains(err.Error(), "no setting iommu") || !strings.Contains(err.Error(),
		"cpus can't be none") || !strings.Contains(err.Error(), "cache can't be unsafe") {
		t.Errorf("%v", err)
	}
}

func FuzzParseMachine(f *testing.F) {
	f.Add("kube:vm?boot=a&class=fast&size=20Gi&cores=4&iothreads=4")
	f.Add("kube:vm?emptydisk&bus=scsi&dedicatediothread&cache=none&io=native")
	f.Add("kube:vm?claim=a&iothreadspolicy=auto&multiqueue&memory=1Gi")
	f.Fuzz(func(t *testing.T, name string) {
		o, err := ParseName(name)
		if err != nil || o.Machine == nil {
			return
		}
		d := o.Machine.Disk
		if (d.Policy == ThreadPool) != (d.Pool > 0) || o.Machine.Cores < 1 || len(d.faults()) > 0 {
			t.Errorf("%q: %+v", name, o.Machine)
		}
	})
}
