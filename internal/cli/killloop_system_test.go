//go:build system

package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/figure"
)

// The real program is killed with SIGKILL over and over: at each step of saving and of changing settings in turn, and
// at random moments. After each kill one restore must leave nothing behind, and what was finished must be kept.
// scripts/kills runs it for as long as one likes.
//
//	HEADROOM_KILLS          how many kills (20)
//	HEADROOM_KILLS_MINUTES  end after so many minutes, whatever the count
//	HEADROOM_KILLS_SEED     of what is drawn at random
//	HEADROOM_KILLS_AGAIN    one round alone, three times: its number and the moments, as a failure names them
//	HEADROOM_KILLS_WORKERS  how many at the same time (two for each CPU)

// killLoopSuite has all that can be left behind: a scratch file, a work folder, loads, and a process that a command
// leaves running.
const killLoopSuite = `version: 1
name: kill
title: short loads for the tests that kill
place: directory
repetitions: 2
size: 1m
defaults: {ioengine: psync, bs: 4k, io_size: 200k, rate_iops: 1000}
jobs:
  - {name: read, fio: {rw: randread}}
  - name: says
    exec: [sh, -c, 'sleep 1000 & echo rate $((100 + ${LEVEL:-0}))']
    prepare: [sh, -c, 'echo done > prepared']
    cleanup: [rm, prepared]
    metrics: {rate: {match: 'rate ([0-9]+)', unit: 1/s, better: higher, decides: true}}
`

// killedCommand is what one round kills.
type killedCommand struct {
	name string
	// args of the command; of the first of two where a restore is killed, too.
	args []string
	// restored says that the restore after the kill is killed as well, resumed that the run is then to be taken up
	// again.
	restored, resumed bool
}

// changedSettings belong to a network namespace, which each worker has one of its own of.
func changedSettings() map[string]string {
	return map[string]string{"net.ipv4.tcp_keepalive_time": "7000", "net.ipv4.tcp_notsent_lowat": "131072"}
}

func killedCommands(v fixture) []killedCommand {
	var settings []string
	for name, value := range changedSettings() {
		settings = append(settings, "--setting", "sysctl:"+name+"="+value)
	}
	run := []string{"run", v.suite, v.place}
	ablate := append([]string{"ablate", v.suite, v.place, "--blocks", "1"}, settings...)
	sweep := []string{"sweep", v.suite, v.place, "--blocks", "2", "--factor",
		"sysctl:net.ipv4.tcp_keepalive_time=7000,found,7100"}
	return []killedCommand{
		{name: "run", args: run}, {name: "ablate", args: ablate}, {name: "sweep", args: sweep},
		{name: "run, resumed", args: run, resumed: true}, {name: "ablate, restore", args: ablate, restored: true},
		{name: "run, restore", args: run, restored: true},
		{name: "run, profiled", args: append(slices.Clone(run), "--profile=1"), resumed: true},
	}
}

// killCounts is what came of all rounds.
type killCounts struct {
	mu sync.Mutex
	// kills by what was killed, and how many found a setting changed, a load that went on, a file in the place.
	kills                   map[string]int
	total, ended            int
	changed, loaded, placed int
	failures                int
	// whole is how long each command takes when nobody kills it, as last seen; step is the next one to kill it at,
	// stride from one to the next: few kills are spread over all of the way.
	whole  map[string]time.Duration
	step   map[string]int
	stride int
	// beside counts how the second experiment of every other round ended.
	beside besideCounts
}

type killWorker struct {
	t    *testing.T
	all  *killCounts
	seed int
	// round is the number of the current one, moments are those at which it has killed, and again those that it is to
	// kill at.
	round          int
	moments, again []string
	fixture
	before map[string]string
	// tracing is where the kernel's tracers can be seen.
	tracing string
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%s is no number", name, text)
	}
	return n
}

func TestKilledOverAndOver(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("networks and mounts of its own need root")
	}
	t.Parallel() // each worker has a network, mounts and a memory file system of its own
	kills, seed := number(t, "HEADROOM_KILLS", 20), number(t, "HEADROOM_KILLS_SEED", 1)
	workers := number(t, "HEADROOM_KILLS_WORKERS", 2*runtime.NumCPU())
	end := time.Now().Add(time.Duration(number(t, "HEADROOM_KILLS_MINUTES", 24*60)) * time.Minute)
	again := strings.Fields(os.Getenv("HEADROOM_KILLS_AGAIN"))
	if len(again) > 0 {
		workers = 1
	}
	all := &killCounts{kills: map[string]int{}, whole: map[string]time.Duration{}, step: map[string]int{}, stride: 1}
	if kills < 1000 {
		all.stride = 11
	}
	base := t.TempDir()
	began := time.Now()
	var rounds atomic.Int64
	var wait sync.WaitGroup
	for i := range workers {
		wait.Go(func() {
			// The namespaces are those of this thread, which ends with the goroutine.
			runtime.LockOSThread()
			w := killWorker{t: t, all: all, seed: seed}
			if err := w.recover(filepath.Join(base, strconv.Itoa(i))); err != nil {
				t.Error(err)
				return
			}
			if len(again) > 0 {
				for range 3 { // at a moment it is not always found doing the same
					w.round, w.again = atoi(t, again[0]), again[1:]
					w.runOnce()
				}
				return
			}
			for all.goesOn(kills) && time.Now().Before(end) {
				w.round = int(rounds.Add(1))
				w.runOnce()
				if w.round%100 == 0 {
					t.Logf("%s", all.say(time.Since(began)))
				}
			}
		})
	}
	wait.Wait()
	t.Logf("seed %d: %s", seed, all.say(time.Since(began)))
	if all.total > 0 {
		f := figure.Share("kills/failed", all.failures, all.total, figure.Lower)
		f.Text = "kills after which one restore left something behind, or something finished was lost"
		figure.Record(t, f)
	}
	if all.total >= 200 && (all.changed == 0 || all.loaded == 0 || all.placed == 0) {
		t.Error("no kill found a changed setting, a load and a file in the place: is it still killed in their midst?")
	}
}

func atoi(t *testing.T, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Errorf("%q is no number", text)
	}
	return n
}

// goesOn says whether more kills are wanted: not when many have failed.
func (a *killCounts) goesOn(kills int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.total < kills && a.failures < 50
}

func (a *killCounts) say(took time.Duration) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return fmt.Sprintf("%d kills (%v) in %s, %.1f a second; %d found settings changed, %d a load going on, %d a file "+
		"or folder in the place; %d ended before; beside them %d experiments with settings were killed, %d "+
		"refused and %d finished; %d failures",
		a.total, a.kills, took.Round(time.Second), float64(a.total)/took.Seconds(), a.changed, a.loaded, a.placed,
		a.ended, a.beside.killed, a.beside.refused, a.beside.finished, a.failures)
}

// recover makes the surroundings of a worker: network and mounts that nobody else has, all of it in memory.
func (w *killWorker) recover(dir string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for path, mode := range map[string]string{dir: "mode=0755", "/dev/shm": "mode=1777"} {
		if err := unix.Mount("headroom-test", path, "tmpfs", 0, mode); err != nil {
			return err
		}
	}
	w.fixture = fixture{t: w.t, suite: filepath.Join(dir, "kill.yaml"), place: filepath.Join(dir, "place"),
		store: filepath.Join(dir, "store")}
	// Seen from here alone: recorders have one of their own.
	w.tracing = filepath.Join(filepath.Dir(dir), "tracing-"+filepath.Base(dir))
	if err := os.Mkdir(w.tracing, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("tracefs", w.tracing, "tracefs", 0, ""); err != nil && !errors.Is(err, unix.ENODEV) {
		return err
	}
	if err := errors.Join(os.Mkdir(w.place, 0o755), os.WriteFile(w.suite, []byte(killLoopSuite), 0o644)); err != nil {
		return err
	}
	var err error
	w.before, err = settings()
	return err
}

func settings() (map[string]string, error) {
	values := map[string]string{}
	for name := range changedSettings() {
		data, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
		if err != nil {
			return nil, err
		}
		values[name] = strings.TrimSpace(string(data))
	}
	return values, nil
}

// mark is in the environment of all that a round starts.
func (w *killWorker) mark() string {
	return fmt.Sprintf("HEADROOM_TEST_ROUND=%d-%d", os.Getpid(), w.round)
}

func (w *killWorker) start(stderr *bytes.Buffer, dieAt int, args ...string) (*exec.Cmd, error) {
	cmd := w.command(args...)
	cmd.Env = append(os.Environ(), w.mark())
	if dieAt > 0 {
		cmd.Env = append(cmd.Env, exitBefore+"="+strconv.Itoa(dieAt))
	}
	cmd.Stderr = stderr
	return cmd, cmd.Start()
}

// runOnce is a round.
func (w *killWorker) runOnce() {
	random := rand.New(rand.NewPCG(uint64(w.seed), uint64(w.round)))
	commands := killedCommands(w.fixture)
	c := commands[w.round%len(commands)]
	w.moments = nil
	endOther := func() []string { return nil }
	if (w.round/len(commands))%2 == 0 {
		endOther = w.beside(random)
	}
	printed, wrong := w.kill(random, c.name, c.args...)
	if c.restored && len(wrong) == 0 {
		_, wrong = w.kill(random, "restore", "restore")
	}
	wrong = append(wrong, endOther()...)
	if len(wrong) == 0 {
		wrong = w.leftovers(printed)
	}
	if c.resumed && len(wrong) == 0 {
		wrong = w.resume(random)
	}
	if len(wrong) > 0 {
		w.all.fail() // it is told at once: who stops the loop is to know it, too
		w.t.Errorf("%s: %s\nagain: HEADROOM_KILLS_AGAIN='%d %s' scripts/kills\n%s",
			c.name, strings.Join(wrong, "; "), w.round, strings.Join(w.moments, " "),
			printed[max(0, len(printed)-1500):])
		w.endAll()
	}
	for _, dir := range []string{w.store, w.place} {
		if err := os.RemoveAll(dir); err != nil {
			w.t.Error(err)
		}
	}
	if err := os.Mkdir(w.place, 0o755); err != nil {
		w.t.Error(err)
	}
}

func (a *killCounts) fail() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failures++
}

// next is the moment of the next kill of a command: the number of a step, all of them in turn, or a time after the
// start.
func (w *killWorker) next(random *rand.Rand, name string) string {
	if n := len(w.moments); n < len(w.again) {
		return w.again[n]
	}
	a := w.all
	a.mu.Lock()
	defer a.mu.Unlock()
	if random.IntN(2) == 0 {
		a.step[name] += a.stride
		return strconv.Itoa(a.step[name])
	}
	whole := cmp.Or(a.whole[name], 3*time.Second)
	// Rather late than early: there is nothing to leave behind before the first load.
	return time.Duration(max(random.Float64(), random.Float64()) * float64(whole)).Round(10 * time.Microsecond).String()
}

// kill carries out a command and kills it. It returns what the command said, and what went wrong.
func (w *killWorker) kill(random *rand.Rand, name string, args ...string) (printed string, wrong []string) {
	timestamp := w.next(random, name)
	w.moments = append(w.moments, timestamp)
	step, _ := strconv.Atoi(timestamp)
	after := 24 * time.Hour
	if step == 0 {
		after, _ = time.ParseDuration(timestamp)
	}
	var stderr bytes.Buffer
	began := time.Now()
	cmd, err := w.start(&stderr, step, args...)
	if err != nil {
		return "", []string{err.Error()}
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-time.After(after):
		_ = cmd.Process.Kill()
		err = <-ended
	}
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	killed := status.Signaled() && status.Signal() == syscall.SIGKILL
	a := w.all
	a.mu.Lock()
	switch {
	case killed:
		a.total++
		a.kills[name]++
		if step == 0 { // it may take longer than was thought: the machine can have much else to do
			a.whole[name] = max(a.whole[name], after+after/10)
		}
	case err == nil:
		a.ended++
		if step == 0 {
			a.whole[name] = time.Since(began)
		} else {
			a.step[name] = 0
		}
	case strings.Contains(stderr.String(), "can't be changed: run "): // by the experiment beside it
		a.ended++
	default:
		wrong = []string{fmt.Sprintf("%v: it failed instead of dying: %v", args, err)}
	}
	a.mu.Unlock()
	w.observe()
	return stderr.String(), wrong
}

// observe notes what a kill has left.
func (w *killWorker) observe() {
	now, err := settings()
	changed := err == nil && !maps.Equal(now, w.before)
	files, err := os.ReadDir(w.place)
	placed := err == nil && len(files) != 0
	loaded := len(w.loads()) > 0
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	for n, found := range map[*int]bool{&w.all.changed: changed, &w.all.placed: placed, &w.all.loaded: loaded} {
		if found {
			*n++
		}
	}
}

// loads are the processes of the round that would go on.
func (w *killWorker) loads() []string {
	return slices.DeleteFunc(w.processes(), func(p string) bool {
		return !strings.Contains(p, `"fio\x00--name`) && !strings.Contains(p, `"sleep\x001000`)
	})
}

// processes are those that the round has started and that go on.
func (w *killWorker) processes() []string {
	entries, err := os.ReadDir("/proc")
	if err != nil || len(entries) == 0 {
		w.t.Error("no process is to be seen", err)
	}
	var found []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err != nil || !bytes.Contains(env, []byte(w.mark()+"\x00")) {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		found = append(found, fmt.Sprintf("%s %q", e.Name(), line))
	}
	return found
}

// endAll ends what a failed round has left, so that the next one begins with nothing.
func (w *killWorker) endAll() {
	for _, p := range w.processes() {
		number, _, _ := strings.Cut(p, " ")
		if pid, err := strconv.Atoi(number); err == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	for name, value := range w.before {
		_ = os.WriteFile("/proc/sys/"+strings.ReplaceAll(name, ".", "/"), []byte(value), 0o644)
	}
	_ = os.RemoveAll(filepath.Join("/dev/shm", "headroom-"+strconv.Itoa(os.Getuid())))
	for _, lock := range w.locks() {
		_ = os.Remove(lock)
	}
}

// did carries out a command that must succeed.
func (w *killWorker) did(args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd, err := w.start(&stderr, 0, args...)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		err = fmt.Errorf("headroom %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stderr.String(), err
}

// leftovers restores, and says what is left all the same.
func (w *killWorker) leftovers(stderr string) (wrong []string) {
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	restored, err := w.did("restore")
	if err != nil {
		add("%v", err)
	}
	defer func() {
		if len(wrong) > 0 {
			locks, _ := os.ReadFile("/proc/locks")
			add("restore said:\n%s\nthe locks are\n%s", restored, locks)
		}
	}()
	if left := w.loads(); len(left) > 0 {
		add("loads go on: %v", left)
	}
	// What headroom asks of other programs ends by itself.
	left := w.processes()
	for end := time.Now().Add(5 * time.Minute); len(left) > 0 && time.Now().Before(end); left = w.processes() {
		time.Sleep(20 * time.Millisecond)
	}
	if len(left) > 0 {
		add("still running: %v", left)
	}
	if now, err := settings(); err != nil || !maps.Equal(now, w.before) {
		add("the settings are %v and were %v, %v", now, w.before, err)
	}
	if left, err := journal.Pending(store.Open(w.store).Folder.Changes(), store.Trust); err != nil || len(left) > 0 {
		add("the journal has %v, %v", left, err)
	}
	for _, pattern := range []string{w.place + "/*", w.place + "/.*", "/dev/shm/*/*", w.store + "/changes/*"} {
		left, err := filepath.Glob(pattern)
		if err != nil || len(left) > 0 {
			add("left: %v, %v", left, err)
		}
	}
	if left := w.locks(); len(left) > 0 {
		add("settings are locked: %v", left)
	}
	mounts, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil || strings.Count(string(mounts), filepath.Dir(w.place)) != 1 {
		add("the mounts are %s, %v", mounts, err)
	}
	rows := w.runs()
	for _, r := range rows {
		pattern := filepath.Join(w.tracing, "instances", "headroom-"+r.ID+"*")
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			add("tracers are left: %v, %v", left, err)
		}
	}
	if w.round%5 == 0 && len(rows) > 0 {
		for _, args := range [][]string{{"list"}, {"show", "last"}} {
			if _, err := w.did(args...); err != nil {
				add("%v", err)
			}
		}
	}
	saved := 0
	for _, r := range rows {
		if r.Status == lab.Running {
			add("%s still says it is running", r.ID)
		}
		b, err := store.Open(w.store).Find(r.ID)
		if err != nil {
			add("%v", err)
			continue
		}
		for rep, err := range b.Repetitions() {
			if err != nil || len(rep.Values) == 0 {
				add("repetition %+v, %v", rep, err)
			}
			saved++
		}
		for _, err := range b.Raw() {
			if err != nil {
				add("%v", err)
			}
		}
		for _, err := range b.Profiles() {
			if err != nil {
				add("%v", err)
			}
		}
	}
	if finished := len(regexp.MustCompile(`(?m)^(\d+/\d+|block .* left)  `).FindAllString(stderr, -1)); saved <
		finished {
		add("%d repetitions were finished and %d are saved", finished, saved)
	}
	return wrong
}

func (w *killWorker) runs() []store.Row {
	rows, err := store.Open(w.store).List()
	if err != nil {
		w.t.Error(err)
	}
	return rows
}

// resume takes up the run that was killed, and kills that as well.
func (w *killWorker) resume(random *rand.Rand) []string {
	rows := w.runs()
	if len(rows) != 1 || rows[0].Status != lab.Interrupted {
		return nil
	}
	if _, wrong := w.kill(random, "resume", "run", "--resume", rows[0].ID); len(wrong) > 0 {
		return wrong
	}
	wrong := w.leftovers("")
	again := w.runs()
	if len(again) != 1 || again[0].Repetitions < rows[0].Repetitions {
		wrong = append(wrong, fmt.Sprintf("resumed to %+v from %+v", again, rows))
	}
	return wrong
}
