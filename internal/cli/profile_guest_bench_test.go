//go:build bench && system && guests

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/report/profiled"
	"github.com/headroom/headroom/internal/testing/figure"
)

// profiledKernels are the kernels in which causes are planted, by the names of their packages.
func profiledKernels() []string { return []string{"linux-image-amd64", "linux-image-6.12-amd64"} }

func guestKernel(t *testing.T, name string) string {
	t.Helper()
	kernelOfGuests(t) // or there is no guest
	out, err := exec.Command("../../scripts/guest-kernel", name).Output()
	if err != nil {
		t.Fatalf("no kernel %s for the guest: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

// How many of ten planted causes, in guests of two kernels, are named first by a pair of profiles.
func TestProfilesNameTenPlantedCauses(t *testing.T) {
	requirePlanted(t)
	for _, name := range profiledKernels() {
		kernel := guestKernel(t, name)
		v, named, causes := newFixture(t), 0, plantedCauses()
		// clean is the label of the profile that a cause is compared with: that of the first with the same clean guest.
		clean := func(c plantedCause) string {
			same := func(o plantedCause) bool { return o.clean == c.clean }
			return fmt.Sprintf("clean-%d", slices.IndexFunc(causes, same))
		}
		var runs []plantedRun
		for i, c := range causes {
			if label := clean(c); label == fmt.Sprintf("clean-%d", i) {
				runs = append(runs, plantedRun{c.clean, c.plantedLoad, kernel, label})
			}
			runs = append(runs, plantedRun{c.slow, c.plantedLoad, kernel, c.name})
		}
		profileAll(t, v, runs)
		for _, c := range causes {
			d := differences(t, v, clean(c), c.name)
			if c.named(d) {
				named++
			}
			t.Logf("%s, %s: named %t; first are %s", name, c.name, c.named(d), foremost(d))
		}
		figure.Record(t, figure.Share(figure.Name("profile/planted", name), named, len(causes), figure.Higher).
			Saying("causes planted in a guest of %s that a pair of profiles names first", name))
		if named < 8 {
			t.Errorf("%d of %d causes were named in %s", named, len(causes), name)
		}
	}
}

func foremost(d difference.Cell) string {
	var words []string
	for i, l := range d.Layers {
		if i == 3 {
			break
		}
		words = append(words, fmt.Sprintf("%s (%.0f%%: %s)", l.ID, 100*l.Share,
			strings.Join(l.Functions[:min(3, len(l.Functions))], ", ")))
	}
	return fmt.Sprintf("%q; %d are the same", words, d.Same)
}

// How often a guest is said to differ from itself, started twice: with either kernel, for reads of a disk and for
// buffered writes.
func TestProfilesOfOneGuestAreTheSame(t *testing.T) {
	requirePlanted(t)
	const pairs = 20
	v := newFixture(t)
	onDisk, inFiles := plantedCauses()[0], plantedCauses()[9]
	var runs []plantedRun
	for i := range pairs {
		c := []plantedCause{onDisk, inFiles}[i/2%2]
		for _, side := range []string{"first", "second"} {
			runs = append(runs, plantedRun{c.clean, c.plantedLoad, guestKernel(t, profiledKernels()[i%2]),
				fmt.Sprintf("%s-%d", side, i)})
		}
	}
	profileAll(t, v, runs)
	wrong, lossy := 0, 0
	for i := range pairs {
		d := differences(t, v, fmt.Sprintf("first-%d", i), fmt.Sprintf("second-%d", i))
		if d.Account.Clear() {
			lossy++
			t.Logf("pair %d: %+v", i+1, d.Account)
		}
		if len(d.Layers)+len(d.Functions) > 0 {
			wrong++
			told, err := json.Marshal(difference.Cell{Layers: d.Layers, Functions: d.Functions})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("pair %d: %s; %s", i+1, foremost(d), told)
		}
	}
	figure.Record(t, figure.Share("profile/planted/nothing", wrong, pairs, figure.Lower).
		Saying("pairs of equal guests that two profiles call different"))
	figure.Record(t, figure.Share("profile/accounts/nothing", lossy, pairs, figure.Lower).
		Saying("pairs of equal guests in which something accounts for a loss"))
	if wrong > 1 || lossy > 0 {
		t.Errorf("%d of %d equal pairs were called different, %d have a loss", wrong, pairs, lossy)
	}
}

// How often both loads of a profile come out in a guest that is emulated, with a lazy IOMMU and a strict one by turns:
// run it beside a load (scripts/busy).
func TestProfilesComeOut(t *testing.T) {
	const profiles = 20
	kernel := guestKernel(t, profiledKernels()[0])
	v, whole := newFixture(t), 0
	for n := range profiles {
		guest := plantedGuest{iommu: "intel"}
		if n%2 == 1 {
			guest.arguments = "iommu.strict=1"
		}
		label := fmt.Sprintf("profile-%d", n)
		out, err := v.command("profile", "../../docs/examples/deep-reads.yaml", plantedDisk, "--on",
			"qemu:"+guest.describe(t, kernel), "--label", label, "--loads", "1").CombinedOutput()
		if err != nil {
			t.Errorf("%d: %v\n%s", n, err, out)
			continue
		}
		text, err := v.command("profile", "show", label, "--json").Output()
		var d profiled.Document
		if err := errors.Join(err, json.Unmarshal(text, &d)); err != nil || len(d.Cells) != 1 {
			t.Fatalf("%d: %v\n%s", n, err, text)
		}
		if c := d.Cells[0]; c.TimeLoads == 1 && c.CallLoads == 1 && c.WaitLoads == 1 {
			whole++
		} else {
			t.Errorf("%d: missing is %+v", n, c.Missing)
		}
	}
	figure.Record(t, figure.Share("profile/guests/whole", whole, profiles, figure.Higher).
		Saying("profiles of an emulated guest of which both loads came out"))
}
