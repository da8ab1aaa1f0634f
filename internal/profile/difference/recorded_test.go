package difference

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
)

// recorded returns profiles of loads that were recorded in guests, by the planted difference; see the file.
func recorded(t *testing.T) map[string]cost.Profile {
	t.Helper()
	f, err := os.Open("testdata/recorded.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const named = 3 // columns before those of loads
	var arms []string
	var loads []profile.Load
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Split(s.Text(), "\t")
		switch {
		case strings.HasPrefix(s.Text(), "#"):
		case arms == nil:
			arms = fields[named:]
			for i := range arms {
				loads = append(loads, profile.Load{Cell: "randread", Arm: arms[i], Number: i, Part: profile.Calls,
					Recording: profile.Recording{Kernel: "6.1.0-56-amd64", Modules: map[string]string{},
						Traced: &profile.Traced{Functions: true}}})
			}
		case fields[0] == "seconds":
			for i := range loads {
				loads[i].Traced.Seconds, _ = strconv.ParseFloat(fields[named+i], 64)
			}
		default:
			for i := range loads {
				n, _ := strconv.ParseUint(fields[named+i], 10, 64)
				loads[i].Traced.Calls = append(loads[i].Traced.Calls, profile.CallCount{Function: fields[0],
					Context: profile.Context(fields[2]), Count: n})
				loads[i].Modules[fields[0]] = fields[1]
			}
		}
	}
	all, err := cost.Of(loads, cost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	byArm := map[string]cost.Profile{}
	for _, p := range all {
		byArm[p.Arm] = p
	}
	return byArm
}

func TestPlantedCauses(t *testing.T) {
	profiles := recorded(t)
	for _, c := range []struct{ planted, layer, function string }{
		{"deadline", "iosched", "dd_insert_requests"},
		{"crypt", "encryption", "crypt_convert"},
		{"audit", "lsm", "__audit_syscall_entry"},
	} {
		for _, clean := range []string{"clean", "another", "depth"} {
			cell := compared(t, profiles[clean], profiles[c.planted])
			if len(cell.Layers) == 0 || cell.Layers[0].ID != c.layer ||
				!slices.Contains(cell.Layers[0].Functions[:3], c.function) {
				t.Errorf("%s beside %s:\n%s", c.planted, clean, told(cell))
			}
		}
	}
}

// TestGuestsAlike finds nothing between equal guests, or arms of one guest.
func TestGuestsAlike(t *testing.T) {
	profiles := recorded(t)
	for _, pair := range pairs([]string{"clean", "another", "depth"}) {
		if cell := compared(t, profiles[pair[0]], profiles[pair[1]]); len(cell.Layers) > 0 || cell.Same < 300 {
			t.Errorf("%v:\n%s", pair, told(cell))
		}
	}
}
