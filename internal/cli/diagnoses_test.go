package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/diagnosis"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/golden"
)

// alikeMachines writes snapshots of n machines alike, as a healthy one was read, and of those of which change makes
// another. It returns their files.
func alikeMachines(t *testing.T, n int, change func(i int, all []lab.Fact) []lab.Fact) []string {
	t.Helper()
	data, err := os.ReadFile("../rule/testdata/healthy/ubuntu-database.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct{ Fact, About, Value, Unknown string }
	if err := yaml.Unmarshal(data, &list); err != nil || len(list) < 100 {
		t.Fatalf("%d facts, %v", len(list), err)
	}
	var files []string
	dir := t.TempDir()
	for i := range n {
		name := fmt.Sprintf("node-%d", i+1)
		all := []lab.Fact{{Key: "host.name", Value: name, Source: "/proc/sys/kernel/hostname"}}
		for _, f := range list {
			if f.Fact != "host.name" {
				all = append(all, lab.Fact{Key: f.Fact, About: f.About, Value: f.Value, Unknown: f.Unknown,
					Source: "fixture"})
			}
		}
		text, err := json.Marshal(facts.Document{Schema: facts.DocumentSchema, Target: name, Facts: change(i, all)})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// doctor is a diagnosis as it is typed.
func doctor(t *testing.T, args ...string) (code int, out, printed string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Run(context.Background(),
		app.Environment{Args: append([]string{"headroom", "doctor", "--store", t.TempDir()},
			args...), Stdin: strings.NewReader(""),
			Stdout: &stdout, Stderr: &stderr, Env: func(string) string { return "" }})
	return code, stdout.String(), stderr.String()
}

// twelve are machines of which one has a drive with a narrow link, and two a scheduler that the others have not.
func twelve(t *testing.T) []string {
	t.Helper()
	return alikeMachines(t, 12, func(i int, all []lab.Fact) []lab.Fact {
		switch i {
		case 2:
			for k, f := range all {
				if f.Key == "disk.pci.link.width" && f.About == "nvme1n1" {
					all[k].Value = "1"
				}
			}
		case 6, 8:
			for k, f := range all {
				if f.Key == "disk.queue.scheduler" && strings.HasPrefix(f.About, "nvme") {
					all[k].Value = "bfq"
				}
			}
		}
		return all
	})
}

// Each finding stands once, with the machines it is on; what differs on a few is reported, and one that can't be read
// ends nothing.
func TestDoctorOfSeveralMachines(t *testing.T) {
	printed, err := filepath.Abs("testdata/diagnoses.golden")
	if err != nil {
		t.Fatal(err)
	}
	files := twelve(t)
	t.Chdir(filepath.Dir(files[0]))
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	code, out, said := doctor(t, append(slices.Clone(names), "./gone.json")...)
	if code != 1 || !strings.Contains(said, "1 of 13 machines could not be diagnosed: ./gone.json") {
		t.Errorf("%d\n%s", code, said)
	}
	golden.Equal(t, printed, out)

	code, out, said = doctor(t, append(slices.Clone(names), "--json")...)
	var d diagnosis.Several
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
		t.Fatalf("%d, %v\n%s", code, err, said)
	}
	on := map[string][]string{}
	for _, f := range d.Findings {
		if f.Verdict == rule.Found {
			on[f.Rule] = f.On
		}
	}
	if d.Schema != diagnosis.SeveralSchema || len(d.Machines) != 12 || d.Machines[2].Diagnosis == nil ||
		d.Machines[2].Diagnosis.Schema != rule.Schema ||
		!slices.Equal(on["nvme-scheduler"], []string{"node-7.json", "node-9.json"}) ||
		!slices.Equal(on["nvme-link-lanes"], []string{"node-3.json"}) || len(on["deep-idle"]) != 12 {
		t.Errorf("%+v", on)
	}
	if len(d.Deviations) != 2 || d.Deviations[0].SameCount != 11 && d.Deviations[1].SameCount != 11 {
		t.Errorf("%+v", d.Deviations)
	}

	// A gate is met or not by all of them, and of one it says the same as by itself.
	code, _, said = doctor(t, append(slices.Clone(names), "--fail-on", "high")...)
	if code != 3 || !strings.Contains(said, "nvme-scheduler (on 2 of 12: node-7.json, node-9.json)") {
		t.Errorf("%d\n%s", code, said)
	}
	if code, _, printed := doctor(t, "node-1.json", "node-2.json", "--fail-on", "high"); code != 0 {
		t.Errorf("%d\n%s", code, printed)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"node-1.json", "node-1.json"}, "stands twice"},
		{[]string{"node-1.json", "--on", "local"}, "name two things"},
		{[]string{"node-1.json", "node-2.json", "--fail-on", "terrible"}, "is no severity"},
	} {
		if code, _, printed := doctor(t, c.args...); code != 2 || !strings.Contains(printed, c.want) {
			t.Errorf("%q: %d\n%s", c.args, code, printed)
		}
	}
}

// A run of several targets is diagnosed as they are together, or one of them by its role. Where one machine is asked
// for, headroom does not choose.
func TestDoctorOfARunOfSeveralTargets(t *testing.T) {
	files := alikeMachines(t, 2, func(i int, all []lab.Fact) []lab.Fact {
		for k, f := range all {
			if f.Key == "disk.pci.link.width" && f.About == "nvme1n1" && i == 1 {
				all[k].Value = "1"
			}
		}
		return all
	})
	kept := t.TempDir()
	s := store.Open(kept)
	run := lab.Run{ID: store.NewID(), Label: "at:once", Status: lab.Running,
		Targets: []lab.RunTarget{{Role: "client"}, {Role: "server"}, {Role: "witness"}}}
	w, err := s.Create(run)
	if err != nil {
		t.Fatal(err)
	}
	for i, role := range []string{"client", "server"} {
		var d facts.Document
		text, err := os.ReadFile(files[i])
		if err == nil {
			err = json.Unmarshal(text, &d)
		}
		if err == nil {
			err = w.Facts(role, store.Before, d)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
	typed := func(args ...string) (code int, out, printed string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code = Run(context.Background(), app.Environment{Args: append([]string{"headroom", "--store", kept}, args...),
			Stdin:  strings.NewReader(""),
			Stdout: &stdout, Stderr: &stderr, Env: func(string) string { return "" }})
		return code, stdout.String(), stderr.String()
	}

	for _, c := range []struct {
		args     []string
		machines []string
		on       []string // which the finding about the narrow link is on
	}{
		{[]string{run.ID}, []string{"client", "server"}, []string{"server"}},
		{[]string{"at:once"}, []string{"client", "server"}, []string{"server"}},
		{[]string{filepath.Join(kept, "runs", run.ID)}, []string{"client", "server"}, []string{"server"}},
		{[]string{"--on", "last"}, []string{"client", "server"}, []string{"server"}},
		{[]string{"last", files[0]}, []string{"last:client", "last:server", files[0]}, []string{"last:server"}},
		{[]string{"last:server", files[0]}, []string{"last:server", files[0]}, []string{"last:server"}},
	} {
		code, out, printed := typed(append([]string{"doctor", "--json"}, c.args...)...)
		var d diagnosis.Several
		if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
			t.Errorf("%q: %d, %v\n%s", c.args, code, err, printed)
			continue
		}
		var machines, on []string
		for _, m := range d.Machines {
			machines = append(machines, m.Name)
		}
		for _, f := range d.Findings {
			if f.Rule == "nvme-link-lanes" && f.Verdict == rule.Found {
				on = f.On
			}
		}
		if !slices.Equal(machines, c.machines) || !slices.Equal(on, c.on) {
			t.Errorf("%q: %q of %q", c.args, on, machines)
		}
	}

	for role, narrow := range map[string]bool{"client": false, "server": true} {
		code, out, printed := typed("doctor", "at:once:"+role)
		if code != 0 || !strings.Contains(out, "run "+run.ID+":"+role+" (at:once)") ||
			strings.Contains(out, "nvme-link-lanes") != narrow {
			t.Errorf("%s: %d\n%s\n%s", role, code, printed, out)
		}
	}
	if code, out, printed := typed("facts", "diff", "last:client", "last:server"); code != 0 ||
		!strings.Contains(out, "disk.pci.link.width") {
		t.Errorf("%d\n%s\n%s", code, printed, out)
	}
	for want, args := range map[string][]string{
		"is of 2 targets":                         {"facts", "last"},
		"name one of them: " + run.ID + ":client": {"facts", "diff", "last", files[0]},
		`knows nothing of a target "witness"`:     {"doctor", "last:witness"},
		`no run is called "9ZZZ:client"`:          {"doctor", "9ZZZ:client"},
	} {
		if code, _, printed := typed(args...); code != 2 || !strings.Contains(printed, want) {
			t.Errorf("%q: %d\n%s", args, code, printed)
		}
	}
}

// With --redact nothing names a machine or a drive, and machines are still distinguished.
func TestDoctorOfSeveralMachinesHidesNames(t *testing.T) {
	files := alikeMachines(t, 3, func(i int, all []lab.Fact) []lab.Fact {
		return append(all, lab.Fact{Key: "disk.serial", About: "nvme0n1", Value: fmt.Sprintf("S4NDNA0M%d", i)})
	})
	t.Chdir(filepath.Dir(files[0]))
	code, out, printed := doctor(t, "--json", "--redact", "--all", "node-1.json", "node-2.json", "node-3.json",
		"kube:pod?node=worker-9&kubeconfig=/nonexistent")
	if code != 1 || strings.Contains(out+printed, "node-1") || strings.Contains(out+printed, "S4NDNA0M") ||
		strings.Contains(out+printed, "worker-9") {
		t.Errorf("%d\n%s\n%s", code, printed, out)
	}
	var d diagnosis.Several
	if err := json.Unmarshal([]byte(out), &d); err != nil || len(d.Machines) != 4 ||
		d.Machines[0].Name == d.Machines[1].Name || !strings.HasPrefix(d.Machines[0].Name, "hidden-") {
		t.Errorf("%v %+v", err, d.Machines)
	}
}
