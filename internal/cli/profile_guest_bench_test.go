//go:build bench && system && guests

package cli

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"headroom/internal/figure"
	"headroom/internal/profile/difference"
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
		for i, c := range causes {
			d := differences(t, v, c.clean.profiled(t, v, c, kernel, fmt.Sprintf("clean-%d", i)),
				c.slow.profiled(t, v, c, kernel, fmt.Sprintf("slow-%d", i)))
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

// How often a guest is said to differ from itself, started twice.
func TestProfilesOfOneGuestAreTheSame(t *testing.T) {
	const pairs = 20
	c := plantedCauses()[0]
	wrong := 0
	for i := range pairs {
		kernel := guestKernel(t, profiledKernels()[i%2])
		v := newFixture(t)
		d := differences(t, v, c.clean.profiled(t, v, c, kernel, "first"), c.clean.profiled(t, v, c, kernel, "second"))
		if len(d.Layers)+len(d.Functions) > 0 {
			wrong++
			t.Logf("pair %d: %s; functions %+v", i+1, foremost(d), d.Functions)
		}
	}
	figure.Record(t, figure.Share("profile/planted/nothing", wrong, pairs, figure.Lower).
		Saying("pairs of equal guests that two profiles call different"))
	if wrong > 1 {
		t.Errorf("%d of %d equal pairs were called different", wrong, pairs)
	}
}
