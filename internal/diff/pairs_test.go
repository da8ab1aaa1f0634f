package diff

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/golden"
)

// pairs returns upgrades and neighbours among the configurations of testdata/configs.
func pairs() [][2]string {
	var all [][2]string
	for _, chain := range []string{
		"debian-5.10.223 debian-6.1.176 debian-6.12.117 debian-6.18.15 debian-7.2.13 debian-7.3.4",
		"talos-5.15.82 talos-6.1.74 talos-6.6.62 talos-6.12.43 talos-6.15.11 talos-6.16.9 talos-6.18.45",
		"cachyos-6.12.7 cachyos-6.14.7 cachyos-6.18.3 cachyos-7.0.3 cachyos-7.2.0 cachyos-hardened-7.1.8",
		"clear-5.15.15 clear-6.6.2 clear-6.15.1",
		"azure-5.15.135.1 azure-6.1.58.1 azure-6.6.134.1 azure-hwe-6.12.83.1",
		"arch-5.15 arch-6.1 arch-6.6 arch-6.12 arch-6.18",
		"debian-6.12.117 debian-rt-6.12.117", "debian-6.12.117 debian-cloud-6.12.117 debian-cloud-6.17.13",
		"debian-6.12.117 talos-6.12.43 arch-6.12 azure-hwe-6.12.83.1 cachyos-6.12.7 debian-6.12.117",
		"debian-6.18.15 talos-6.18.45 arch-6.18 cachyos-6.18.3 debian-6.18.15",
		"debian-6.12.117 cachyos-6.18.3", "debian-6.12.117 talos-6.18.45", "talos-6.12.43 debian-6.18.15",
		"azure-6.6.134.1 talos-6.6.62 clear-6.6.2 arch-6.6", "azure-5.15.135.1 arch-5.15 clear-5.15.15 talos-5.15.82",
		"debian-7.2.13 cachyos-7.2.0", "talos-6.1.74 debian-6.1.176 arch-6.1 azure-6.1.58.1",
		"clear-6.15.1 talos-6.15.11",
		"ubuntu-4.15.0-163 ubuntu-5.4.0-204 ubuntu-5.15.0-144 ubuntu-6.8.0-52 ubuntu-6.14",
		"ubuntu-5.15.0-144 ubuntu-azure-5.15.0-1051", "ubuntu-6.8.0-52 proxmox-6.8.12-4 talos-6.12.43",
		"debian-6.1.176 proxmox-6.8.12-4 debian-6.12.117",
		"fedora-5.15.6 fedora-6.3.8 fedora-6.8.5 fedora-6.11.4 fedora-6.14.0 fedora-6.17.5 fedora-6.18-rc3",
		"fedora-6.17.5 arch-6.18", "fedora-6.8.5 ubuntu-6.8.0-52", "debian-6.12.117 fedora-6.11.4",
		"sles-5.3.18 sles-5.14.21 sles-6.4.0", "opensuse-6.4.0 opensuse-6.15 opensuse-6.18-rc3 fedora-6.18-rc3",
		"opensuse-6.15 talos-6.12.43", "flatcar-5.10.84 flatcar-6.1.96 talos-6.12.43",
		"flatcar-5.10.84 ubuntu-5.15.0-144", "flatcar-6.1.96 debian-6.1.176",
		"alma-4.18.0-553 alma-5.14.0-503 alma-6.12.0-55", "rhel-5.14.0-284 ubuntu-5.15.0-144",
		"centos-6.12.0-144 debian-6.12.117", "debian-5.10.223 ubuntu-5.15.0-144",
	} {
		names := strings.Fields(chain)
		for i := range names[1:] {
			all = append(all, [2]string{names[i], names[i+1]})
		}
	}
	return all
}

// reduced returns a published configuration without the options that have no entry in the knowledge.
func reduced(t *testing.T, name string) Side {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/configs", name+".config.gz"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Decode(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPublishedPairs checks the first ten differences of pairs of published kernels, each of which was verified by
// hand. A difference with an unknown effect, because one kernel lacks the option, has no verdict at any rank.
func TestPublishedPairs(t *testing.T) {
	k := knowledge(t)
	all := pairs()
	if len(all) < 50 {
		t.Fatalf("%d pairs", len(all))
	}
	var text strings.Builder
	for _, p := range all {
		a, b := reduced(t, p[0]), reduced(t, p[1])
		sideA, sideB := read(a), read(b)
		d := k.Compare(a, b)
		fmt.Fprintf(&text, "%s, %s\n", p[0], p[1])
		for _, x := range d.Differences {
			if x.Rank <= firstPlaces {
				fmt.Fprintf(&text, "  %2d %.4f %s %s, %s slower %s\n", x.Rank, x.Weight, x.Name, short(x.A), short(x.B),
					strings.ToUpper(x.Slower))
			}
			if x.Kind != optionKind || x.Slower == "" {
				continue
			}
			for _, s := range []side{sideA, sideB} {
				e := k.exact[optionKind+":"+x.Name]
				silent := !slices.ContainsFunc(optionNames(x), func(n string) bool { _, in := s.config[n]; return in })
				if _, implied := k.lookup(optionKind, x.Name).impliedValue(s); silent && !implied &&
					(e == nil || e.foreign || e.unknownTo(s.release)) {
					t.Errorf("%v: %s is slower by %s, which %s does not mention", p, x.Slower, x.Name, s.release)
				}
			}
		}
	}
	golden.Equal(t, "testdata/pairs.golden", text.String())
}

func optionNames(x Difference) []string { return []string{x.Name, x.Renamed} }

// short leaves out the end of a long value.
func short(value string) string { return value[:min(len(value), 24)] }
