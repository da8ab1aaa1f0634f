//go:build system

package journal

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/linux"
	"github.com/headroom/headroom/internal/testing/targettest"
)

// An ablation over sysctls, files of /sys and CPUs that dies in every way there is.

// realPlan changes what this machine has, and watched are the files that must be as they were. All but the sysctls
// belong to a loop device of the test's own.
func realPlan(t *testing.T) (p plan, watched []string) {
	t.Helper()
	targettest.Exclusive(t, "cpus")
	usualSysctls(t)
	disk := loopDisk(t)
	queue := "/sys/block/" + disk + "/queue"
	w := on(t, "/dev/"+disk)
	p = plan{Dir: t.TempDir(), Place: w.Place}
	add := func(name, level string) { p.Factors, p.Levels = append(p.Factors, name), append(p.Levels, level) }
	if s, err := factor.Bind(t.Context(), w, "queue:scheduler"); err == nil && len(s.Possible) > 1 {
		found, _ := s.Read(t.Context())
		add("queue:scheduler", s.Possible[(slices.Index(s.Possible, found)+1)%len(s.Possible)])
	}
	add("sysctl:vm.dirty_background_bytes", "67108864")
	add("sysctl:vm.dirty_expire_centisecs", "2900")
	add("sysctl:net.ipv4.udp_mem", "4096 131072 6291456")
	add("queue:nr_requests", "60")
	add("sysfs:"+queue+"/read_ahead_kb", "64")
	if s, err := factor.Bind(t.Context(), w, "cpu:online"); err == nil {
		found, err := s.Read(t.Context())
		if cpus, bad := linux.ParseCPUs(found); err == nil && bad == nil && len(cpus) > 1 {
			add("cpu:online", linux.FormatCPUs(cpus[:len(cpus)-1]))
		}
	}
	watched = append(spot.Glob(t.Context(), w.Target, "/proc/irq/*/smp_affinity_list"),
		"/sys/devices/system/cpu/online",
		queue)
	for _, name := range []string{"dirty_background_bytes", "dirty_background_ratio", "dirty_expire_centisecs"} {
		watched = append(watched, "/proc/sys/vm/"+name)
	}
	return p, append(watched, "/proc/sys/net/ipv4/udp_mem")
}

// snapshot returns the facts about this machine and the place.
func snapshot(t *testing.T, place lab.Place) []lab.Fact {
	t.Helper()
	all, err := facts.SnapshotWithin(t.Context(), 5*time.Minute, here(t).Target, place)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d facts, %v", len(all), err)
	}
	return all
}

// unchanged compares the machine with a snapshot. Devices that the place is not on are ignored.
func unchanged(t *testing.T, before []lab.Fact, place lab.Place) {
	t.Helper()
	for _, c := range facts.Changes(slices.Values(before), snapshot(t, place)) {
		if about := c.After.About; about == "" || about == filepath.Base(place.Path) {
			t.Errorf("%s %s is %q and was %q", c.After.Key, about, c.After.Value, c.Before.Value)
		}
	}
}

func TestKilledAtEachStepOfChangingSettings(t *testing.T) {
	p, watched := realPlan(t)
	facts := snapshot(t, p.Place)
	before := contents(t, watched...)
	p.atEachStep(t, 50, func() string { return differ(before, contents(t, watched...)) })
	unchanged(t, facts, p.Place)
	t.Logf("%d facts and %d files are as they were; changed were %q", len(facts), len(before), p.Factors)
}

func TestKilledAtRandomWhileChangingSettings(t *testing.T) {
	p, watched := realPlan(t)
	facts := snapshot(t, p.Place)
	before := contents(t, watched...)
	p.Blocks = 1000 // far more than there is time for
	// Each step is killed by itself above; this is for what lies between two of them.
	const longest = 800 * time.Millisecond
	random := rand.New(rand.NewPCG(1, 2))
	changed, kills := 0, 0
	for kills < 15 || changed < 5 {
		kills++
		cmd := p.command(t)
		var printed strings.Builder
		cmd.Stdout = &printed
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.Int64N(int64(longest))))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		p.mustDie(t, printed.String())
		where := fmt.Sprintf("kill %d", kills)
		if left, err := Pending(filepath.Join(p.Dir, "changes"), anyFile); err == nil && len(left) == 1 &&
			len(left[0].Factors) > 0 {
			changed++
		}
		p.restore(t, where)
		if d := differ(before, contents(t, watched...)); d != "" {
			t.Fatalf("%s: %s", where, d)
		}
	}
	unchanged(t, facts, p.Place)
	t.Logf("%d kills, %d of them with changes to put back; %d facts are as they were", kills, changed, len(facts))
}

// differ names what is not as it was.
func differ(before, after map[string]string) string {
	var lines []string
	for k, v := range before {
		if after[k] != v {
			lines = append(lines, fmt.Sprintf("%s is %q and was %q", k, after[k], v))
		}
	}
	return strings.Join(lines, "; ")
}
