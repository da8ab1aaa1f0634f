//go:build system && guests

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/bisection"
)

// kernels are all that Debian offers of its two series, from the oldest release to the newest.
func kernels(t *testing.T) (folders []string) {
	t.Helper()
	out, err := exec.Command("apt-cache", "search", "--names-only",
		`^linux-image-[0-9]+\.[0-9.]+(-[0-9]+|\+deb[0-9]+)-amd64$`).Output()
	if err != nil {
		t.Skipf("what kernels there are can't be asked: %v", err)
	}
	var packages []string
	for line := range strings.Lines(string(out)) {
		packages = append(packages, strings.Fields(line)[0])
	}
	slices.SortFunc(packages, func(a, b string) int { return slices.Compare(numbers(a), numbers(b)) })
	for _, p := range packages {
		folder, err := exec.Command("../../scripts/guest-kernel", p).Output()
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		folders = append(folders, strings.TrimSpace(string(folder)))
	}
	return folders
}

// numbers are those in a package's name, by which releases are in order: 6.1.0-47, 6.1.0-56, 6.12.100.
func numbers(name string) (all []int) {
	for _, field := range strings.FieldsFunc(name, func(r rune) bool { return r < '0' || r > '9' }) {
		n := 0
		_, _ = fmt.Sscan(field, &n)
		all = append(all, n)
	}
	return all
}

// planted is a QEMU that gives some kernels another argument, as if these releases had another default. It is the
// test's, not headroom's: whoever searches does not know of it. Beside it is a file with a line for each such boot. A
// kernel is recognized by the release that it reports, since an emulated guest starts an unpacked copy of it.
func planted(t *testing.T, argument string, slow []string) string {
	t.Helper()
	qemu, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Skip("qemu-system-x86_64 is not installed")
	}
	file := filepath.Join(t.TempDir(), "qemu")
	var releases []string
	for _, folder := range slow {
		releases = append(releases, "-e '"+strings.TrimPrefix(filepath.Base(folder), "linux-image-")+" ('")
	}
	script := fmt.Sprintf(`#!/bin/bash
slow= before= given=()
for word; do
	if [ "$before" = -kernel ] && grep -aqF %s "$word"; then slow=1; fi
	before=$word
done
for word; do
	if [ "$before" = -append ] && [ "$slow" ]; then word="$word %s"; echo >>%s; fi
	before=$word
	given+=("$word")
done
exec %s "${given[@]}"
`, strings.Join(releases, " "), argument, file+".slow", qemu)
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// Of Debian's kernels, of two series, those of the last few releases have a slow argument: the release with which that
// begins is found. That the newer series is faster or slower by itself is found too, where it is.
func TestTheSlowKernelIsFound(t *testing.T) {
	guestSearches(t)
	all := kernels(t)
	if len(all) < 6 {
		t.Skipf("there are only %d kernels", len(all))
	}
	first := len(all) - 3
	file := guestFile(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	qemu := planted(t, "slub_debug=FZPU", all[first:])
	if err := os.WriteFile(file, append(text, "qemu: "+qemu+"\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	v := newFixture(t)
	arguments := []string{"bisect", "kernels", smallReads(t, v), "/dev/nvme0n1", "--on", "qemu:" + file, "--json"}
	for _, k := range all {
		arguments = append(arguments, "--kernel", k)
	}
	d := runBisect(t, v, arguments...)
	searched(t, "guests/kernels", fmt.Sprintf("of %d kernels %s and later are slow", len(all),
		filepath.Base(all[first])), d)
	t.Logf("%+v", d.Culprits)
	if boots, err := os.ReadFile(qemu + ".slow"); err != nil || len(boots) < 2 {
		t.Fatalf("no kernel was started with the slow argument: %v", err)
	}
	at := slices.IndexFunc(d.Culprits, func(c bisection.Culprit) bool {
		return c.Good == all[first-1] && c.Bad == all[first]
	})
	if d.Outcome != bisection.Found || at < 0 {
		t.Fatalf("%s: %+v", d.Outcome, d.Culprits)
	}
	for i, c := range d.Culprits {
		if i != at && numbers(filepath.Base(c.Good))[1] == numbers(filepath.Base(c.Bad))[1] {
			t.Errorf("%+v is within a series", c)
		}
	}
}
