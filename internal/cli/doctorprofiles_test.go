package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/diagnosis"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/store"
)

// A finding about a run rests on its profile, where facts don't tell the cause; of a run without one nothing is said of
// profiles.
func TestDoctorOfAProfiledRun(t *testing.T) {
	kept := t.TempDir()
	s := store.Open(kept)
	for _, label := range []string{"profiled", "plain"} {
		w, err := s.Create(lab.Run{ID: store.NewID(), Label: label, Status: lab.Running,
			Targets: []lab.RunTarget{{Role: lab.StorageRole}}, Cells: []lab.Cell{{ID: "rand-read"}}})
		if err != nil {
			t.Fatal(err)
		}
		err = w.Facts(lab.StorageRole, store.Before, facts.Document{Schema: facts.DocumentSchema,
			Facts: []lab.Fact{{Key: "kernel.release", Value: "6.1.0-56-amd64"}}})
		for number := range 3 {
			if label == "profiled" {
				err = errors.Join(err,
					w.Profile(profile.Load{Cell: "rand-read", Number: number + 1, Part: profile.Calls,
						Seconds: 2, Values: map[string]float64{lab.IOPS(lab.Read): 4000}, Recording: profile.Recording{
							Kernel: "6.1.0-56-amd64", Traced: &profile.Traced{Seconds: 0.6, Functions: true,
								Calls: []profile.CallCount{{Function: "aio_read", Context: profile.InLoad, Count: 2400},
									{Function: "qi_submit_sync", Context: profile.InHardirq, Count: 2400}}}}}))
			}
		}
		if err := errors.Join(err, w.Close(func(r *lab.Run) { r.Status = lab.Complete })); err != nil {
			t.Fatal(err)
		}
	}
	for label, want := range map[string][]string{"profiled": {"profile-iommu-flush"}, "plain": nil} {
		var stdout, stderr bytes.Buffer
		code := Run(t.Context(), app.Environment{Args: []string{"headroom", "--store", kept, "doctor", "--json", label},
			Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Env: func(string) string { return "" }})
		var d diagnosis.Document
		if err := json.Unmarshal(stdout.Bytes(), &d); err != nil || code != 0 {
			t.Fatalf("%s: %d, %v\n%s", label, code, err, stderr.String())
		}
		var found []string
		for _, f := range d.Findings {
			if f.Verdict == rule.Found {
				found = append(found, f.Rule)
				if !slices.Equal(f.About, []string{"rand-read"}) || f.Evidence[0].Value != "1" {
					t.Errorf("%+v", f)
				}
			}
			for _, m := range f.Missing {
				if label == "plain" && m.Fact == "profile.calls" {
					t.Errorf("without a profile: %+v", f)
				}
			}
		}
		if !slices.Equal(found, want) {
			t.Errorf("%s: %v, want %v", label, found, want)
		}
	}
}
