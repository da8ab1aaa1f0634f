//go:build system && guests && kernel

package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/experiment/vary"
	"github.com/headroom/headroom/internal/testing/figure"
)

// slowOptions each make small random reads much slower in a guest with an emulated NVMe disk, with what they need.
func slowOptions() [][]string {
	return [][]string{{"SLUB_DEBUG", "SLUB_DEBUG_ON"}, {"DEBUG_PAGEALLOC", "DEBUG_PAGEALLOC_ENABLE_DEFAULT"}}
}

// harmlessOptions make no difference there that could be seen.
func harmlessOptions() []string {
	return []string{"SLAB_FREELIST_RANDOM", "HARDENED_USERCOPY", "FORTIFY_SOURCE", "STACKPROTECTOR", "VMAP_STACK",
		"HZ_1000", "BUG_ON_DATA_CORRUPTION", "DEBUG_ATOMIC_SLEEP"}
}

// configurations are two of Linux that come up in a guest: the small one of the tests of kbuild, and the same with more
// options.
func configurations(t *testing.T, more []string) (good, bad string) {
	t.Helper()
	text, err := os.ReadFile("../kbuild/testdata/fast.config")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	good, bad = filepath.Join(dir, "fast.config"), filepath.Join(dir, "slow.config")
	for file, options := range map[string][]string{good: nil, bad: more} {
		all := string(text)
		for _, o := range options {
			all += "CONFIG_" + o + "=y\n"
		}
		if err := os.WriteFile(file, []byte(all), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return good, bad
}

func kernelSource(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("../../scripts/kernel-source").Output()
	if err != nil {
		t.Skipf("the kernel's source can't be had: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// One slow option, drawn at random, is found and proved among those of two builds, in few kernels. The search is killed
// while it builds one, and goes on; nothing is left running, and no kernel is built twice.
func TestTheSlowOptionIsFound(t *testing.T) {
	source := kernelSource(t)
	seed := rand.Uint64()
	slow := slowOptions()[rand.New(rand.NewPCG(seed, 0)).IntN(len(slowOptions()))]
	good, bad := configurations(t, append(harmlessOptions(), slow...))
	t.Logf("seed %d: %v", seed, slow)
	v := newFixture(t)
	suite := smallReads(t, v)
	cache := t.TempDir()
	command := func(arguments ...string) *exec.Cmd {
		cmd := v.command(arguments...)
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache)
		return cmd
	}
	built := func() []string {
		images, err := filepath.Glob(filepath.Join(cache, "headroom/built-kernels/*/bzImage"))
		if err != nil {
			t.Fatal(err)
		}
		return images
	}

	cmd := command("bisect", "kconfig", suite, "/dev/nvme0n1", "--on", "qemu:"+guestFile(t), "--good", good, "--bad",
		bad, "--tree", source, "--label", "options")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(40 * time.Minute); len(built()) == 0; time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatal("no kernel was built")
		}
	}
	time.Sleep(time.Minute) // it measures the first, and builds the next
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	first := built()
	info, err := os.Stat(first[0])
	if err != nil {
		t.Fatal(err)
	}
	if out, err := command("restore").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command("pgrep", "-f", source).Output(); err == nil {
		t.Errorf("still running after restore: %s", out)
	}

	resumed := command("bisect", "--resume", "options")
	if out, err := resumed.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d := runBisect(t, v, "bisect", "--show", "options", "--json")
	what := fmt.Sprintf("a slow one of %d groups of options, %v", len(d.Candidates), slow)
	searched(t, "guests/options", what, d)
	figure.Record(t, figure.Figure{Name: "guests/options/kernels", Center: float64(len(built())), Better: figure.Lower,
		Text: what + ": kernels built"})
	if d.Outcome != bisection.Found || len(d.Culprits) != 1 {
		t.Fatalf("%s: %+v", d.Outcome, d.Culprits)
	}
	c := d.Culprits[0]
	if group := append([]string{strings.TrimPrefix(c.Factor, vary.OptionScheme)}, c.With...); !slices.Contains(group,
		slow[len(slow)-1]) {
		t.Errorf("%v", group)
	}
	arms := map[string]bool{}
	for _, s := range d.Steps {
		arms[fmt.Sprint(s.Applied)] = true
	}
	if len(built()) > len(arms) {
		t.Errorf("%d kernels were built, and %d measured", len(built()), len(arms))
	}
	if after, err := os.Stat(first[0]); err != nil || !after.ModTime().Equal(info.ModTime()) {
		t.Errorf("%s was built again: %v", first[0], err)
	}
}
