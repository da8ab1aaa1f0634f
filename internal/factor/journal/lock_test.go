package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/lab"
)

// ownRuns is the environment variable with the suffix that makes IDs of runs unique. Processes inherit it from the test
// that starts them.
const ownRuns = "HEADROOM_TEST_OWN_RUNS"

// own returns an ID that is unique to these tests and the processes that they start. Locks are removed by run ID, and
// another run of the tests has its locks in the same folder.
func own(id string) string {
	run, role, several := strings.Cut(id, "-")
	run += os.Getenv(ownRuns)
	if several {
		return run + "-" + role
	}
	return run
}

// other is a journal of another run, in a store of its own.
func (b bench) other(id string) *Journal {
	b.t.Helper()
	j, err := Create(filepath.Join(b.dir, "store of "+id, "changes"), own(id), b.target)
	b.must(err)
	j.For("headroom ablate quick /srv")
	return j
}

// mustBeHeld asserts that an error names the run that has locked a setting, and a way out.
func mustBeHeld(t *testing.T, err error, by, hint string) {
	t.Helper()
	fault, isError := errors.AsType[*lab.Error](err)
	held, isHeld := errors.AsType[*Held](err)
	if !isError || !isHeld {
		t.Fatalf("%v", err)
	}
	if by = own(by); held.ID != by || held.Process != os.Getpid() || fault.Kind != lab.Refused ||
		!strings.Contains(err.Error(), "exec:depth can't be changed: run "+by+" has been changing it since 2") ||
		!strings.Contains(strings.Join(fault.Hints, "\n"), hint) {
		t.Errorf("%v, hints %q", err, fault.Hints)
	}
}

// A setting that one run has changed is no other's until the journal is closed, between two changes as well: the other
// would take what the first has set for what was there.
func TestASettingIsOneRunsUntilItsJournalIsClosed(t *testing.T) {
	b := newBench(t)
	s := b.setting("depth", "64")
	first, second := b.other("FIRST"), b.other("SECOND")
	b.must(first.Change(t.Context(), s, "32"))
	mustBeHeld(t, second.Change(t.Context(), s, "16"), "FIRST", "--wait")
	b.holds("depth", "32")
	b.must(first.Undo(t.Context()))
	mustBeHeld(t, second.Change(t.Context(), s, "16"), "FIRST", "--wait")
	b.must(first.Close())
	b.must(second.Change(t.Context(), s, "16"))
	b.must(second.Undo(t.Context()))
	b.must(second.Close())
	b.holds("depth", "64")
	if b.isLocked(second, s) {
		t.Error("it is still locked")
	}
}

// isLocked says whether there is a lock of a setting.
func (b bench) isLocked(j *Journal, s scheme.Setting) bool {
	b.t.Helper()
	names, err := j.locker.names(b.t.Context(), s.Spots)
	b.must(err)
	for _, folder := range []string{"/run/headroom/settings", fmt.Sprintf("/dev/shm/headroom-settings-%d",
		os.Getuid())} {
		if _, err := os.Lstat(filepath.Join(folder, names[0])); err == nil {
			return true
		}
	}
	return false
}

// What a killed run has locked is still changed, so that only its recovery unlocks it.
func TestTheLocksOfAKilledRunGoWithItsRecovery(t *testing.T) {
	b := newBench(t)
	s := b.setting("depth", "64")
	killed, next := b.other("KILLED"), b.other("NEXT")
	b.must(killed.Change(t.Context(), s, "32"))
	abandon(killed)
	mustBeHeld(t, next.Change(t.Context(), s, "16"), "KILLED", "headroom restore --store "+
		filepath.Join(b.dir, "store of KILLED"))
	b.holds("depth", "32")
	again, err := Load(killed.record.path, b.target)
	b.must(err)
	b.must(again.Undo(t.Context()))
	b.must(again.Close())
	b.holds("depth", "64")
	b.must(next.Change(t.Context(), s, "16"))
	b.must(next.Undo(t.Context()))
	b.must(next.Close())
	b.holds("depth", "64")

	lost, next := b.other("LOST"), b.other("NEXT")
	b.must(lost.Change(t.Context(), s, "32"))
	abandon(lost)
	b.must(os.Remove(lost.record.path))
	err = next.Change(t.Context(), s, "16")
	mustBeHeld(t, err, "LOST", "then remove the lock: /")
	if held, is := errors.AsType[*Held](err); is {
		b.must(os.Remove(held.Lock))
	}
	b.must(next.Change(t.Context(), s, "16"))
	b.must(next.Undo(t.Context()))
	b.must(next.Close())
}

// Of several settings either all are locked or none.
func TestAllSettingsAreLockedOrNone(t *testing.T) {
	b := newBench(t)
	depth, ahead := b.setting("depth", "64"), b.setting("ahead", "128")
	first, second := b.other("FIRST"), b.other("SECOND")
	b.must(first.Lock(t.Context(), depth))
	mustBeHeld(t, second.Lock(t.Context(), ahead, depth), "FIRST", "--wait")
	if b.isLocked(second, ahead) {
		t.Error("one of two is locked")
	}
	b.must(first.Lock(t.Context(), depth, ahead))
	b.must(first.Close())
	b.must(second.Lock(t.Context(), depth, ahead))
	b.must(second.Close())
}

// What the kernel changes along with a setting is locked with it, and one file is one setting by each of its names.
func TestWhatIsOneThingHasOneLock(t *testing.T) {
	b := newBench(t)
	scheduler, depth := b.setting("scheduler", "none"), b.setting("depth", "64")
	scheduler.Companions = depth.Spots
	first, second := b.other("FIRST"), b.other("SECOND")
	b.must(first.Change(t.Context(), scheduler, "bfq"))
	mustBeHeld(t, second.Change(t.Context(), depth, "16"), "FIRST", "--wait")
	b.must(first.Undo(t.Context()))
	b.must(first.Close())
	b.must(second.Close())

	devices, err := filepath.Glob("/sys/class/net/lo")
	if err != nil || len(devices) != 1 {
		t.Skip("no loopback adapter")
	}
	j := b.other("NAMES")
	names, err := j.locker.names(t.Context(), []spot.Spot{{Kind: spot.InFile, Path: "/sys/class/net/lo/mtu"},
		{Kind: spot.InFile, Path: "/sys/devices/virtual/net/lo/mtu"},
		{Kind: spot.InFile, Path: "/sys/class/net/lo/tx_queue_len"}, {Kind: spot.InAdapter, Path: "lo"},
		{Kind: spot.ByCommands, Name: "x", Commands: &spot.Commands{Apply: []string{"a"}}},
		{Kind: spot.ByCommands, Name: "x", Commands: &spot.Commands{Apply: []string{"b"}}}})
	b.must(err)
	if names[0] != names[1] {
		t.Error("one file has two locks")
	}
	if different := slices.Compact(slices.Sorted(slices.Values(names[1:]))); len(different) != len(names)-1 {
		t.Errorf("different settings have one lock: %q", names)
	}
	b.must(j.Close())

	// Each network namespace has adapters of its own, by the same names. The last path does not exist, so that it has
	// no other name.
	elsewhere := b.other("ELSEWHERE")
	elsewhere.locker.namespaces = map[string]string{"net": "another"}
	for path, shared := range map[string]bool{"/sys/class/net/lo/mtu": false, "/sys/devices/virtual/net/lo/mtu": false,
		"/sys/class/net/none/mtu": false, "/sys/kernel/mm/ksm/run": true,
		"/sys/class/block/none/queue/scheduler": true} {
		file := []spot.Spot{{Kind: spot.InFile, Path: path}}
		here, err := j.locker.names(t.Context(), file)
		b.must(err)
		there, err := elsewhere.locker.names(t.Context(), file)
		b.must(err)
		if slices.Equal(here, there) != shared {
			t.Errorf("%s in two network namespaces: one lock is %v", path, !shared)
		}
	}
	b.must(elsewhere.Close())
}

// A run has a journal for each of its machines, which can be one.
func TestARunDoesNotLockItselfOut(t *testing.T) {
	b := newBench(t)
	s := b.setting("depth", "64")
	client, server := b.other("RUN"), b.other("RUN-server")
	b.must(client.Change(t.Context(), s, "32"))
	b.must(server.Change(t.Context(), s, "32"))
	b.must(server.Undo(t.Context()))
	b.must(server.Close())
	b.must(client.Undo(t.Context()))
	b.must(client.Close())
	b.holds("depth", "64")
}

// TestManyAtOnce lets many runs change a setting at the same time. At most one has it, and its value is restored at the
// end. Each refused run gets the ID of the holder, which never counts as killed.
func TestManyAtOnce(t *testing.T) {
	b := newBench(t)
	s := b.setting("depth", "64")
	var at, changes atomic.Int32
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for range 10 {
				id := own("RUN" + string(rune('A'+i)))
				j, err := Create(filepath.Join(b.dir, "changes of "+id), id, b.target)
				if err != nil {
					t.Error(err)
					return
				}
				err = j.Change(t.Context(), s, string(rune('0'+i)))
				by, held := errors.AsType[*Held](err)
				switch {
				case held && (by.ID == "" || by.Dead):
					t.Errorf("a run that goes on or ends well is not known, or taken for killed: %v", err)
				case err == nil:
					if changes.Add(1); at.Add(1) != 1 {
						t.Error("two have it at the same time")
					}
					if got, err := s.Read(t.Context()); err != nil || got != string(rune('0'+i)) {
						t.Errorf("%q is what %c has set, %v", got, 'A'+i, err)
					}
					at.Add(-1)
				case !held:
					t.Error(err)
				}
				if err := errors.Join(j.Undo(context.Background()), j.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	t.Logf("%d of 80 changed it", changes.Load())
	if changes.Load() == 0 {
		t.Error("nobody got it")
	}
	b.holds("depth", "64")
}

func TestParseLocks(t *testing.T) {
	made, locks := parseLocks("made /run/headroom/settings/5b0f\n" +
		`lock /run/headroom/settings/5b0f {"id":"7KQ4M2X9TD","command":"headroom run quick /a b","process":7}` + "\n" +
		"lock /dev/shm/headroom-settings-1000/77 what is this\nlock\n\nmore\n")
	if !slices.Equal(made, []string{"/run/headroom/settings/5b0f"}) || len(locks) != 3 ||
		locks[0].holder.ID != "7KQ4M2X9TD" || locks[0].holder.Command != "headroom run quick /a b" ||
		locks[1].path != "/dev/shm/headroom-settings-1000/77" || locks[1].holder.ID != "" {
		t.Errorf("%q, %+v", made, locks)
	}
}

func FuzzParseLocks(f *testing.F) {
	f.Add(`lock /run/headroom/settings/5b0f {"id":"7KQ4M2X9TD"}`)
	f.Fuzz(func(_ *testing.T, text string) { parseLocks(text) })
}
