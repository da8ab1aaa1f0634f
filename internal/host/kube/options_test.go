package kube

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

func TestParse(t *testing.T) {
	o, err := ParseName("kube:pod?class=fast&size=20Gi&mode=block&node=n1&namespace=perf&image=reg.lan/fio:3&cpu=1..2&memory=1Gi&hostnetwork&privileged&context=lab&selector=disk=nvme,zone=a&tolerate&deadline=2h&wait=30s&pull=never")
	if err != nil {
		t.Fatal(err)
	}
	want := Volume{Kind: Claimed, Of: "fast", Size: "20Gi", Block: true, At: "/dev/headroom"}
	if o.Volume != want || o.Node != "n1" || o.Namespace != "perf" || o.Image != "reg.lan/fio:3" ||
		o.CPU != (Range{"1", "2"}) || o.Memory != (Range{"1Gi", "1Gi"}) ||
		!o.HostNetwork || !o.Privileged || o.Restricted || !o.Tolerate || o.Context != "lab" ||
		o.NodeLabels["disk"] != "nvme" || o.NodeLabels["zone"] != "a" ||
		o.Deadline != 2*time.Hour || o.Wait != 30*time.Second || o.Pull != "Never" {
		t.Errorf("%+v", o)
	}
	for name, want := range map[string]Volume{
		"kube:pod":                            {},
		"kube:pod?":                           {},
		"kube:pod?class=fast":                 {Kind: Claimed, Of: "fast", Size: "10Gi", At: "/data"},
		"kube:pod?ephemeral=fast&size=1Gi":    {Kind: Ephemeral, Of: "fast", Size: "1Gi", At: "/data"},
		"kube:pod?emptydir":                   {Kind: EmptyDir, At: "/data"},
		"kube:pod?emptydir=memory&size=64Mi":  {Kind: EmptyDir, Memory: true, Size: "64Mi", At: "/data"},
		"kube:pod?hostpath=/srv/x&at=/x":      {Kind: HostPath, Of: "/srv/x", At: "/x"},
		"kube:pod?claim=mine":                 {Kind: Existing, Of: "mine", At: "/data"},
		"kube:pod?class=fast&mode=filesystem": {Kind: Claimed, Of: "fast", Size: "10Gi", At: "/data"},
	} {
		if o, err := ParseName(name); err != nil || o.Volume != want {
			t.Errorf("%s: %+v, %v", name, o.Volume, err)
		}
	}
}

// All faults are reported at once, not one at a time.
func TestParseTellsAllFaults(t *testing.T) {
	_, err := ParseName("kube:deployment?class=a&emptydir&sise=1Gi&cpu=fast&privileged=yes&memory=2Gi..1Gi&restricted&node=UPPER&deadline=0&pull=often&class=b&mode=raw")
	e, ok := err.(*lab.Error)
	if !ok || e.Kind != lab.Usage {
		t.Fatalf("%v", err)
	}
	printed := strings.Join(e.Hints, "\n")
	for _, fault := range []string{`comes pod, nodes or vm, not "deployment"`, "class and emptydir are two volumes",
		`no option "sise"`, `cpu: "fast" is no amount`, "privileged takes no value",
		"2Gi is more than 1Gi", `"UPPER" is no name`, `deadline: "0" is no time`, "pull is always, missing or never",
		"class is given twice", "mode is filesystem or block"} {
		if !strings.Contains(printed, fault) {
			t.Errorf("nothing of %q in:\n%s", fault, printed)
		}
	}
}

func TestContradictions(t *testing.T) {
	for name, want := range map[string]string{
		"kube:pod?size=1Gi":                         "size applies only to a new volume",
		"kube:pod?claim=x&size=1Gi":                 "size applies only to a new volume",
		"kube:pod?emptydir&mode=block":              "mode applies only to a new volume",
		"kube:pod?at=/x":                            "there is no volume",
		"kube:pod?privileged&restricted":            "contradict each other",
		"kube:pod?restricted&hostpath=/srv":         "forbids hostnetwork and hostpath",
		"kube:pod?hostpath=srv":                     "whole path",
		"kube:pod?hostpath=/srv/../etc":             "whole path",
		"kube:pod?class=":                           "class needs a value",
		"kube:pod?class=a&at=data":                  "whole path",
		"kube:pod?cpu=":                             "cpu needs a value",
		"kube:pod?cpu=..":                           "write an amount",
		"kube:pod?cpu=-1":                           "no amount",
		"kube:deployment":                           "comes pod, nodes or vm",
		"kube:nodes?count=2":                        "count is for kube:pod",
		"kube:nodes?restricted":                     "restricted standard forbids",
		"kube:pod?count=0":                          "no number",
		"kube:pod?count=2&replica=3":                "which of count",
		"kube:pod?count=2&claim=a":                  "each of count pods needs its own",
		"kube:pod?selector=disk":                    "labels of nodes",
		"kube:pod?class=%zz":                        "invalid URL escape",
		"kube:pod?emptydir=disk":                    "emptydir is alone",
		"kube:pod?namespace=a/b":                    "no name",
		"kube:pod?hostnetwork&restricted&emptydir=": "forbids hostnetwork",
	} {
		_, err := ParseName(name)
		e, ok := err.(*lab.Error)
		if !ok || !strings.Contains(strings.Join(e.Hints, "\n"), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAmounts(t *testing.T) {
	for text, want := range map[string]Range{"2": {"2", "2"}, "500m": {"500m", "500m"}, "1..2": {"1", "2"},
		"1..": {"1", ""}, "..2": {"", "2"}} {
		var r Range
		if err := Amounts(text, &r); err != nil || r != want {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
}

func TestSeveral(t *testing.T) {
	for name, want := range map[string]struct {
		several    bool
		set, which string
	}{
		"kube:nodes":                                {several: true},
		"kube:nodes?selector=disk=nvme":             {several: true},
		"kube:nodes?node=a.b":                       {set: "kube:nodes", which: "a.b"},
		"kube:nodes?selector=disk=nvme&node=node-7": {set: "kube:nodes?selector=disk=nvme", which: "node-7"},
		"kube:nodes?node=a&emptydir":                {},
		"kube:pod?emptydir&count=4":                 {several: true},
		"kube:pod?emptydir&count=4&replica=2":       {set: "kube:pod?emptydir&count=4", which: "2"},
		"kube:pod?emptydir&node=a":                  {},
		"kube:pod":                                  {},
		"local":                                     {},
	} {
		got := TraitsOf(name)
		if got.Several != want.several || got.Set != want.set || got.Member != want.which {
			t.Errorf("%s: %+v", name, got)
		}
		if o, err := ParseName(name); want.several && err == nil {
			if set := TraitsOf(o.Member("n-1", 1)).Set; set != name {
				t.Errorf("%s has the member %s, which is of %q", name, o.Member("n-1", 1), set)
			}
		}
	}
}

func TestEphemeral(t *testing.T) {
	for name, want := range map[string][2]bool{"kube:pod?class=a": {true, false}, "kube:pod?emptydir": {true, true},
		"kube:pod?ephemeral=a":   {true, true},
		"kube:pod?hostpath=/srv": {false, false}, "kube:pod?claim=a": {false, false}, "kube:vm?class=a": {true, false},
		"kube:vm?claim=a": {true, false}, "kube:pod": {true, true}} {
		o, err := ParseName(name)
		if got := [2]bool{TraitsOf(name).Ephemeral, o.LosesDataOnBoot()}; got != want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// The same pod in its node's network has its limits and its image, and neither its volume nor a standard that forbids
// it.
func TestTheSamePodElsewhere(t *testing.T) {
	for _, c := range []struct{ name, onNode, inNodeNetwork string }{
		{"kube:pod", "kube:pod?node=n1", "kube:pod?node=n1&hostnetwork"},
		{"kube:pod?class=fast&size=20Gi&cpu=2&node=n2&namespace=a",
			"kube:pod?class=fast&size=20Gi&cpu=2&namespace=a&node=n1",
			"kube:pod?cpu=2&namespace=a&node=n1&hostnetwork"},
		{"kube:pod?emptydir&at=/x&restricted&selector=zone=a,disk=b",
			"kube:pod?emptydir&at=/x&restricted&selector=zone=a,disk=b&node=n1",
			"kube:pod?selector=zone=a,disk=b&node=n1&hostnetwork"},
	} {
		o := Options{Name: c.name}
		on, in := o.OnNode("n1"), o.InNodeNetwork("n1")
		if on != c.onNode || in != c.inNodeNetwork {
			t.Errorf("%s: %s, %s", c.name, on, in)
		}
		for _, name := range []string{on, in} {
			if o, err := ParseName(name); err != nil || o.Node != "n1" || o.HostNetwork != (name == in) {
				t.Errorf("%s: %+v, %v", name, o, err)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("kube:pod?class=fast&size=20Gi&mode=block")
	f.Add("kube:pod?cpu=1..2&memory=..1Gi&selector=a=b,c=d")
	f.Add("kube:pod?emptydir=memory&at=/x&privileged")
	f.Fuzz(func(t *testing.T, name string) {
		o, err := ParseName(name)
		if err != nil {
			if e, ok := err.(*lab.Error); !ok || len(e.Hints) < 2 {
				t.Errorf("%q: %v", name, err)
			}
			return
		}
		if (o.Volume.Kind == "") != (o.Volume.At == "") ||
			o.Volume.Block && !slices.Contains([]VolumeKind{Claimed, Ephemeral}, o.Volume.Kind) {
			t.Errorf("%q: %+v", name, o.Volume)
		}
	})
}

// The docs have all options.
func TestOptionsInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/targets.md")
	if err != nil {
		t.Fatal(err)
	}
	pods, machines, found := strings.Cut(string(page), "\n## KubeVirt machines\n")
	if !found {
		t.Fatal("docs/reference/targets.md has no machines")
	}
	for _, c := range []struct {
		known []option
		text  string
	}{{list(), pods}, {machineList(), machines}} {
		for _, o := range c.known {
			// replica names one of count pods in saved runs
			if o.name != "replica" && !regexp.MustCompile("`"+o.name+"[=`]").MatchString(c.text) {
				t.Errorf("docs/reference/targets.md has no option %s", o.name)
			}
		}
	}
}
