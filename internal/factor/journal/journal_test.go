package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// bench is a folder with files that stand for settings, and a journal over them.
type bench struct {
	t      *testing.T
	dir    string
	target host.Target
}

func newBench(t *testing.T) bench {
	t.Helper()
	dir := t.TempDir()
	return bench{t, dir, host.NewLocal(filepath.Join(dir, "jobs"))}
}

func (b bench) journal() *Journal {
	b.t.Helper()
	j, err := Create(filepath.Join(b.dir, "changes"), own("RUN1"), b.target)
	if err != nil {
		b.t.Fatal(err)
	}
	return j
}

func (b bench) put(name, value string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(value), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b bench) holds(name, value string) {
	b.t.Helper()
	if got, err := os.ReadFile(filepath.Join(b.dir, name)); err != nil || strings.TrimSpace(string(got)) != value {
		b.t.Errorf("%s is %q and not %q, %v", name, got, value, err)
	}
}

// setting is a file with this content.
func (b bench) setting(name, value string) scheme.Setting {
	b.t.Helper()
	b.put(name, value)
	s := scheme.OneFile(filepath.Join(b.dir, name))
	s.Factor, s.Target = "exec:"+name, b.target
	return s
}

func (b bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// reload is what the next process finds.
func (b bench) reload() *Journal {
	b.t.Helper()
	left, err := Pending(filepath.Join(b.dir, "changes"), anyFile)
	if err != nil || len(left) != 1 {
		b.t.Fatalf("%v, %v", left, err)
	}
	j, err := Load(left[0].Path, b.target)
	b.must(err)
	return j
}

// abandon lets go of a journal as the end of a process does.
func abandon(j *Journal) { _ = j.record.file.Close() }

func TestAChangeIsUndoneAndLeavesNoJournal(t *testing.T) {
	b := newBench(t)
	s := b.setting("depth", "64")
	j := b.journal()
	b.must(j.Change(t.Context(), s, "0x20"))
	b.holds("depth", "0x20")
	if got, err := s.Read(t.Context()); err != nil || got != "0x20" {
		t.Errorf("%q, %v", got, err)
	}
	b.must(j.CheckInEffect(t.Context()))
	b.must(j.Change(t.Context(), s, "32")) // is in effect already
	b.holds("depth", "0x20")
	b.must(j.Change(t.Context(), s, scheme.Found))
	if left, err := Pending(filepath.Join(b.dir, "changes"), anyFile); err != nil || len(left) != 0 {
		t.Errorf("a journal in use is called pending: %v, %v", left, err)
	}
	b.must(j.Undo(t.Context()))
	b.holds("depth", "64")
	b.must(j.Change(t.Context(), s, "16")) // the next arm
	b.must(j.Undo(t.Context()))
	b.holds("depth", "64")
	b.must(j.Close())
	if _, err := os.Stat(j.record.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal is still there: %v", err)
	}
}

func TestUndoGoesOnAfterAnError(t *testing.T) {
	b := newBench(t)
	j := b.journal()
	for _, name := range []string{"first", "second", "third"} {
		b.must(j.Change(t.Context(), b.setting(name, "old"), "new"))
	}
	b.must(os.Remove(filepath.Join(b.dir, "second")))
	b.must(os.Mkdir(filepath.Join(b.dir, "second"), 0o755)) // can neither be read nor written
	err := j.Undo(t.Context())
	if err == nil || !strings.Contains(err.Error(), "second was not put back") {
		t.Errorf("%v", err)
	}
	b.holds("first", "old")
	b.holds("third", "old")
	b.must(j.Close())
	b.must(os.Remove(filepath.Join(b.dir, "second")))
	b.put("second", "new")
	next := b.reload()
	if open := next.Open(); len(open) != 1 || open[0] != "exec:second" {
		t.Errorf("open: %v", open)
	}
	b.must(next.Undo(t.Context()))
	b.holds("second", "old")
	b.must(next.Close())
}

func TestUndoIgnoresTheEndOfItsContext(t *testing.T) {
	b := newBench(t)
	j := b.journal()
	b.must(j.Change(t.Context(), b.setting("a", "old"), "new"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Change(ctx, b.setting("b", "old"), "new"); err == nil {
		t.Error("a change after the end says nothing")
	}
	b.must(j.Undo(ctx))
	b.holds("a", "old")
	b.holds("b", "old")
}

func TestTheValueOfSomebodyElseIsLeftAlone(t *testing.T) {
	for policy, want := range map[ExternalChange]struct {
		value string
		kept  bool
	}{Report: {"theirs", true}, Restore: {"old", false}, Accept: {"theirs", false}} {
		b := newBench(t)
		j := b.journal()
		b.must(j.Change(t.Context(), b.setting("a", "old"), "new"))
		b.put("a", "theirs")
		j.OnExternalChange(policy)
		if err := j.Undo(t.Context()); (err != nil) != want.kept ||
			want.kept && !strings.Contains(err.Error(), "something else has changed it") {
			t.Errorf("%v: %v", policy, err)
		}
		b.holds("a", want.value)
		if kept := len(j.Open()) == 1; kept != want.kept {
			t.Errorf("%v: open %v", policy, j.Open())
		}
		b.must(j.Close())
	}
}

// A change that was never read back may have got a value that is neither: it is headroom's own.
func TestAnUnverifiedValueIsOurs(t *testing.T) {
	b := newBench(t)
	j := b.journal()
	j.AtStep(func(step string) {
		if strings.HasPrefix(step, "record applied") {
			b.put("a", "rounded")
			abandon(j)
		}
	})
	if err := j.Change(t.Context(), b.setting("a", "old"), "new"); err == nil {
		t.Fatal("the journal was closed under it")
	}
	next := b.reload()
	b.must(next.Undo(t.Context()))
	b.holds("a", "old")
	b.must(next.Close())
}

// rounding is a target whose files take even numbers only, as some of the kernel's do.
type rounding struct{ host.Target }

func (r rounding) Run(ctx context.Context, argv ...string) (host.Output, error) {
	if len(argv) == 6 && argv[4] == "33" {
		argv[4] = "32"
	}
	return r.Target.Run(ctx, argv...)
}

func TestALevelThatDoesNotBecomeEffective(t *testing.T) {
	b := newBench(t)
	s := b.setting("depth", "64")
	b.target = rounding{b.target}
	j := b.journal()
	err := j.Change(t.Context(), s, "33")
	if err == nil || !strings.Contains(err.Error(), `is "32", and "33" was asked for`) {
		t.Errorf("%v", err)
	}
	b.holds("depth", "64")
	if len(j.Open()) != 0 {
		t.Errorf("open: %v", j.Open())
	}
}

// tied is a target on which writing one file changes another, as a scheduler does to the depth of its queue.
type tied struct {
	host.Target
	change func(path, value string)
}

func (d tied) Run(ctx context.Context, argv ...string) (host.Output, error) {
	out, err := d.Target.Run(ctx, argv...)
	if len(argv) == 6 {
		d.change(argv[5], argv[4])
	}
	return out, err
}

func tiedBench(t *testing.T) (bench, scheme.Setting) {
	b := newBench(t)
	s := b.setting("scheduler", "mq-deadline")
	b.put("nr_requests", "200")
	s.Companions = spot.Files([]string{filepath.Join(b.dir, "nr_requests"), filepath.Join(b.dir, "not-there")})
	b.target = tied{b.target, func(path, value string) {
		if filepath.Base(path) == "scheduler" {
			b.put("nr_requests", map[string]string{"none": "1023", "mq-deadline": "256"}[value])
		}
	}}
	s.Target = b.target
	return b, s
}

func TestWhatTheKernelChangesAlongIsPutBack(t *testing.T) {
	b, s := tiedBench(t)
	j := b.journal()
	b.must(j.Change(t.Context(), s, "none"))
	b.holds("nr_requests", "1023")
	abandon(j)
	next := b.reload()
	b.must(next.Undo(t.Context()))
	b.holds("scheduler", "mq-deadline")
	b.holds("nr_requests", "200")
	b.must(next.Close())
}

func TestWhatIsKeptIsHeldBesideAChange(t *testing.T) {
	b, s := tiedBench(t)
	j := b.journal()
	j.keeper.rules = []keepRule{{"queue:nr_requests", scheme.Wildcard("queue:nr_requests"),
		func(s spot.Spot, _ string) bool {
			return filepath.Base(s.Path) == "nr_requests"
		}}}
	b.must(j.Change(t.Context(), s, "none"))
	b.holds("scheduler", "none")
	b.holds("nr_requests", "200")
	b.must(j.Undo(t.Context()))
	b.holds("scheduler", "mq-deadline")
	b.holds("nr_requests", "200")
}

func TestAHalfWrittenLineIsNoChange(t *testing.T) {
	b := newBench(t)
	j := b.journal()
	b.must(j.Change(t.Context(), b.setting("a", "old"), "new"))
	path := j.record.path
	abandon(j)
	whole, err := os.ReadFile(path)
	b.must(err)
	second := strings.Index(string(whole), "\n") + 1
	for cut := second; cut < len(whole); cut += 7 {
		b.must(os.WriteFile(path, whole[:cut], 0o644))
		b.put("a", "old")
		if strings.Count(string(whole[:cut]), "\n") > 1 {
			b.put("a", "new")
		}
		next := b.reload()
		b.must(next.Undo(t.Context()))
		b.must(next.Close())
		b.holds("a", "old")
	}
	// A journal of which not even the heading is there has changed nothing.
	b.must(os.WriteFile(path, whole[:second/2], 0o644))
	next := b.reload()
	b.must(next.Undo(t.Context()))
	b.must(next.Close())
}

func TestADamagedLineIsTold(t *testing.T) {
	b := newBench(t)
	j := b.journal()
	b.must(j.Change(t.Context(), b.setting("a", "old"), "new"))
	path := j.record.path
	abandon(j)
	whole, err := os.ReadFile(path)
	b.must(err)
	heading := strings.Index(string(whole), "\n") + 1
	b.must(os.WriteFile(path, []byte(string(whole[:heading])+"{not JSON\n"+string(whole[heading:])), 0o644))
	next := b.reload()
	if err := next.Undo(t.Context()); err == nil || !strings.Contains(err.Error(), "{not JSON") {
		t.Errorf("%v", err)
	}
	b.holds("a", "old")
	b.must(next.Close())
	if _, err := os.Stat(path); err != nil {
		t.Errorf("what nobody could read is gone: %v", err)
	}
}

func TestAJournalHasOneOwner(t *testing.T) {
	b := newBench(t)
	j := b.journal()
	b.must(j.Change(t.Context(), b.setting("a", "old"), "new"))
	if _, err := Load(j.record.path, b.target); lab.KindOf(err) != lab.Refused {
		t.Errorf("a journal in use was taken up: %v", err)
	}
	if _, err := Create(filepath.Join(b.dir, "changes"), own("RUN1"), b.target); err == nil {
		t.Error("two journals have one name")
	}
	abandon(j)
	if _, err := Load(j.record.path, renamed{b.target}); err == nil {
		t.Error("a journal was taken up for another target")
	}
	b.holds("a", "new")
}

// A run that was killed while it made its journal goes on at once: what it left is no journal yet, unless somebody
// holds it.
func TestAJournalThatWasNeverFinishedIsMadeAnew(t *testing.T) {
	b := newBench(t)
	dir := filepath.Join(b.dir, "changes")
	building := filepath.Join(dir, ".RUN2.new")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(building, []byte(`{"schema":"headroom/cha`), 0o644); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(building)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, "RUN2", b.target); err == nil {
		t.Error("a journal that another process is making was taken")
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	j, err := Create(dir, "RUN2", b.target)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(building); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", building, err)
	}
}

// What a killed process did not finish making is removed by whoever looks next, and what a living one makes is not.
func TestAJournalThatWasNeverFinishedIsRemoved(t *testing.T) {
	b := newBench(t)
	dir := filepath.Join(b.dir, "changes")
	b.must(os.MkdirAll(dir, 0o755))
	building := filepath.Join(dir, ".RUN2.new")
	making, err := claim(building)
	b.must(err)
	for _, removed := range []bool{false, true} {
		if removed {
			b.must(making.Close())
		}
		if left, err := Pending(dir, anyFile); err != nil || len(left) > 0 {
			t.Errorf("%v, %v", left, err)
		}
		if _, err := os.Stat(building); errors.Is(err, fs.ErrNotExist) != removed {
			t.Errorf("removed: %t, and is %v", removed, err)
		}
	}
}

// Journals are made while others look for what was left, which removes none of them.
func TestAJournalIsMadeWhileOthersLook(t *testing.T) {
	b := newBench(t)
	dir := filepath.Join(b.dir, "changes")
	ctx, cancel := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	for range 2 {
		looking.Go(func() {
			for ctx.Err() == nil {
				if left, err := Pending(dir, anyFile); err != nil || len(left) > 0 {
					t.Errorf("%v, %v", left, err)
				}
			}
		})
	}
	for i := range 200 {
		j, err := Create(dir, fmt.Sprintf("RUN%d", i), b.target)
		if err == nil {
			err = j.Close()
		}
		if err != nil {
			t.Fatalf("journal %d: %v", i, err)
		}
	}
	cancel()
	looking.Wait()
}

type renamed struct{ host.Target }

func (renamed) Name() string { return "ssh://elsewhere" }

// After another boot the kernel's memory holds nothing of a change, whatever is there now. A file on a disk does.
func TestAnotherBootHasUndoneWhatTheKernelHeld(t *testing.T) {
	b := newBench(t)
	j := b.journal()
	b.must(j.Change(t.Context(), b.setting("a", "old"), "new"))
	kernels := position{Spot: spot.Spot{Kind: spot.InFile, Path: "/proc/sys/vm/swappiness"}, Old: "no such value",
		New: "neither"}
	j.record.open = append(j.record.open, &step{Seq: 2, Factor: "sysctl:vm.swappiness", Boot: "of yesterday",
		Spots: []position{kernels}})
	j.record.open[0].Boot = "of yesterday"
	b.must(j.Undo(t.Context()))
	b.holds("a", "old")
	if len(j.Open()) != 0 {
		t.Errorf("open: %v", j.Open())
	}
}

// lost is a target whose connection is gone.
type lost struct{ host.Target }

func (lost) ReadFiles(context.Context, ...string) (map[string]host.File, error) {
	return nil, errors.New("connection refused")
}

func TestATargetThatDoesNotAnswerKeepsItsJournal(t *testing.T) {
	b := newBench(t)
	j := b.journal()
	for i := range 3 {
		b.must(j.Change(t.Context(), b.setting(fmt.Sprint("s", i), "old"), "new"))
	}
	j.writer.target = lost{b.target}
	if err := j.Undo(t.Context()); !errors.Is(err, errLost) || strings.Count(err.Error(), "connection refused") != 1 {
		t.Errorf("%v", err)
	}
	b.must(j.Close())
	next := b.reload()
	b.must(next.Undo(t.Context()))
	for i := range 3 {
		b.holds(fmt.Sprint("s", i), "old")
	}
	b.must(next.Close())
}

func TestValuesThatCantBeWrittenBackAreRefused(t *testing.T) {
	b := newBench(t)
	j := b.journal()
	for _, value := range []string{"two\nlines", "\xff\xfe"} {
		if err := j.Change(t.Context(), b.setting("a", value), "new"); lab.KindOf(err) != lab.Refused {
			t.Errorf("%q: %v", value, err)
		}
	}
}

func TestOneFactorThatUndoesAnotherIsSeen(t *testing.T) {
	b := newBench(t)
	j := b.journal()
	b.must(j.Change(t.Context(), b.setting("ratio", "10"), "20"))
	b.must(j.Change(t.Context(), b.setting("bytes", "0"), "4096"))
	b.put("ratio", "0")
	if err := j.CheckInEffect(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "exec:ratio is no longer in effect") {
		t.Errorf("%v", err)
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"schema":"headroom/changes/v1","id":"7KQ4M2X9TD","target":"local","created":"2026-11-21T22:00:00Z"}
{"seq":1,"time":"2026-11-21T22:00:00Z","factor":"queue:scheduler","level":"none","boot":"5e0c","spots":[{"kind":"file","path":"/sys/block/sda/queue/scheduler","old":"mq-deadline","new":"none"}],"along":[{"kind":"file","path":"/x","old":"256"}]}
{"seq":1,"time":"2026-11-21T22:00:01Z","did":"applied"}
{"seq":1,"time":"2026-11-21T22:00:02Z","did":"und`))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := parse(data)
		if err != nil {
			return
		}
		for _, s := range j.open {
			if len(s.Spots) == 0 || s.Seq <= 0 || s.Seq > j.seq {
				t.Errorf("%+v", s)
			}
		}
	})
}
