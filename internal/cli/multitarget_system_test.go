//go:build system

package cli

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/sshtest"
)

// fleetFixture is a victim on three targets: this machine, and twice over ssh, by a server for each.
type fleetFixture struct {
	fixture
	places map[string]string
	args   []string
	// programs come first on the PATH of the two that are reached over ssh, by their roles.
	programs map[string]string
}

func newFleetFixture(t *testing.T) fleetFixture {
	var configs []string
	programs := map[string]string{}
	for i, server := range []*sshtest.Server{sshtest.Start(t), sshtest.Start(t)} {
		programs[string("ab"[i])] = server.Programs
		text, err := os.ReadFile(server.Config)
		if err != nil {
			t.Fatal(err)
		}
		configs = append(configs,
			strings.Replace(string(text), "Host under-test", fmt.Sprintf("Host under-test-%d", i+1), 1))
	}
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(strings.Join(configs, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	c := fleetFixture{fixture: newFixture(t), places: map[string]string{}, programs: programs}
	c.env = []string{config.Variable(config.SSHConfig) + "=" + file}
	if err := os.WriteFile(c.suite, []byte(remoteSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	c.args = []string{"run", c.suite}
	for _, role := range []string{"here", "a", "b"} {
		c.places[role] = filepath.Join(c.place, role)
		if err := os.Mkdir(c.places[role], 0o755); err != nil {
			t.Fatal(err)
		}
		c.args = append(c.args, c.places[role])
	}
	c.args = append(c.args, "--on", "here=local", "--on", "a=ssh://under-test-1", "--on", "b=ssh://under-test-2")
	return c
}

// secondLoads starts a run whose second loads go on, on all targets, until they are ended or released.
func (c *fleetFixture) secondLoads() (cmd *exec.Cmd, release func()) {
	c.t.Helper()
	loads := []hold{c.holdLoadsFrom(2)}
	for _, folder := range c.programs {
		loads = append(loads, holdCalls(c.t, folder, "fio", loadsOfFio, 2))
	}
	cmd, _ = c.begun(`(?m)^1/3  `)
	await(c.t, "the second loads go on", func() bool {
		id := c.onlyRun().Run.ID
		return !slices.ContainsFunc(loads, func(h hold) bool { return h.waiting(id) == 0 })
	})
	return cmd, func() {
		for _, h := range loads {
			h.release()
		}
	}
}

// begun starts a run and waits until it says something.
func (c fleetFixture) begun(until string) (*exec.Cmd, string) {
	c.t.Helper()
	cmd := c.command(c.args...)
	name := filepath.Join(c.t.TempDir(), "stderr")
	stderr, err := os.Create(name)
	if err != nil {
		c.t.Fatal(err)
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	wanted := regexp.MustCompile(until)
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		if text, err := os.ReadFile(name); err == nil && c.t.Failed() {
			c.t.Logf("it said:\n%s", text)
		}
	})
	await(c.t, until, func() bool {
		text, err := os.ReadFile(name)
		return err == nil && wanted.Match(text)
	})
	return cmd, name
}

// checkNothingLeft says that nothing is left on any target.
func (c fleetFixture) checkNothingLeft() {
	c.t.Helper()
	for role, place := range c.places {
		if files, err := os.ReadDir(place); err != nil || len(files) != 0 {
			c.t.Errorf("left on %s: %v, %v", role, files, err)
		}
	}
	id := c.onlyRun().Run.ID
	if left := processesOf(c.t, id); len(left) != 0 {
		c.t.Errorf("still running: %v", left)
	}
	if folders, err := filepath.Glob("/dev/shm/headroom-*/" + id + "*"); err != nil || len(folders) != 0 {
		c.t.Errorf("folders of jobs are left: %v, %v", folders, err)
	}
}

// saved are the repetitions by the names of their cells.
func (c fleetFixture) saved() map[string][]lab.Repetition {
	c.t.Helper()
	all := map[string][]lab.Repetition{}
	for r, err := range c.onlyRun().Repetitions() {
		if err != nil {
			c.t.Fatal(err)
		}
		all[r.Cell] = append(all[r.Cell], r)
	}
	return all
}

func series(r lab.Repetition, metric string) []float64 {
	for _, s := range r.Series {
		if s.Metric == metric {
			return s.Values
		}
	}
	return nil
}

// isSum says whether values are those of some series, added up from one of their first seconds each.
func isSum(values []float64, parts ...[]float64) bool {
	if len(parts) == 0 {
		return !slices.ContainsFunc(values, func(v float64) bool { return math.Abs(v) > 1e-6 })
	}
	for from := 0; from+len(values) <= len(parts[0]); from++ {
		rest := slices.Clone(values)
		for k := range rest {
			rest[k] -= parts[0][from+k]
		}
		if isSum(rest, parts[1:]...) {
			return true
		}
	}
	return false
}

func TestSeveralTargetsAreMeasuredTogether(t *testing.T) {
	t.Parallel()
	c := newFleetFixture(t)
	// Long enough for the loads to be running together for whole seconds on most machines. Where one of them starts too
	// late for that, there is no sum, and a warning says so.
	cmd := c.command(append(c.args, "--repeat", "2", "--set", "runtime=8s")...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
	}
	t.Logf("%s%s", &stdout, &stderr)
	saved := c.saved()
	summed := slices.ContainsFunc(saved["read@all"], func(r lab.Repetition) bool { return !withoutSum(r) })
	wanted := []string{"=here ", "=a ", "=b "}
	if summed {
		wanted = append(wanted, "=all ", "The loads of 3 targets were started", "sums over the seconds")
	}
	for _, want := range wanted {
		if !strings.Contains(strings.Join(strings.Fields(stdout.String()), " "), want) {
			t.Errorf("the table does not say %q", want)
		}
	}
	for i, sum := range saved["read@all"] {
		if shown := regexp.MustCompile(fmt.Sprintf(`(?m)^%d/2  .* on all targets  read `, i+1)); !withoutSum(sum) &&
			!shown.MatchString(stderr.String()) {
			t.Errorf("the progress does not show the sum of repetition %d", i+1)
		}
	}
	c.checkNothingLeft()
	b := c.onlyRun()
	if b.Run.Status != lab.Complete || len(b.Run.Targets) != 3 {
		t.Errorf("%s, %d targets", b.Run.Status, len(b.Run.Targets))
	}
	for _, role := range []string{"here", "a", "b", "all"} {
		if len(saved["read@"+role]) != 2 {
			t.Fatalf("%d repetitions of %s", len(saved["read@"+role]), role)
		}
		if role == "all" {
			continue
		}
		for _, when := range []store.SnapshotTime{store.Before, store.After} {
			if d, ok, err := b.Facts(role, when); !ok || err != nil || len(d.Facts) < 100 {
				t.Errorf("facts of %s %s: %d, %v, %v", role, when, len(d.Facts), ok, err)
			}
		}
	}
	for i, sum := range saved["read@all"] {
		here, there, yonder := saved["read@here"][i], saved["read@a"][i], saved["read@b"][i]
		v := sum.Values
		if v[lab.StartSkew] <= 0 || v[lab.StartUncertainty] <= 0 {
			t.Errorf("repetition %d: started %v s apart, ±%v s", i+1, v[lab.StartSkew], v[lab.StartUncertainty])
		}
		figure.Record(t, figure.Figure{Name: figure.Name("targets/apart", i+1), Unit: "s", Center: v[lab.StartSkew],
			Better: figure.Lower,
			Text:   "between the starts of loads on three targets, of which two are reached over ssh"})
		if first, last := v[lab.FirstDone], v[lab.LastDone]; first < 7 || first > last {
			t.Errorf("repetition %d: first done after %v s, last after %v s", i+1, first, last)
		}
		values := series(sum, "read.iops")
		if withoutSum(sum) {
			if _, ok := v["read.iops"]; ok || len(values) > 0 {
				t.Errorf("repetition %d: it is said that there is no sum, and it is %+v", i+1, sum.Values)
			}
			continue
		}
		if len(values) < 1 || v[lab.CommonSeconds] != float64(len(values)) {
			t.Fatalf("repetition %d: %v s in which all were running, and a sum of %v", i+1, v[lab.CommonSeconds],
				values)
		}
		if !isSum(values, series(here, "read.iops"), series(there, "read.iops"), series(yonder, "read.iops")) {
			t.Errorf("repetition %d: %v is not the sum of %v, %v and %v", i+1, values, here.Series,
				there.Series, yonder.Series)
		}
		mean := 0.0
		for _, x := range values {
			mean += x / float64(len(values))
		}
		if math.Abs(v["read.iops"]-mean) > 1e-6*mean {
			t.Errorf("repetition %d: %v IOPS, and %v by the second", i+1, v["read.iops"], mean)
		}
		if got, want := count(sum), count(here)+count(there)+count(yonder); got != want || got == 0 {
			t.Errorf("repetition %d: %d operations in the bins of the sum, %d in those of its parts", i+1, got, want)
		}
	}
	// What reads saved runs knows nothing of it, and need not.
	page := filepath.Join(t.TempDir(), "page.html")
	reading := map[string][]string{`"together.apart"`: {"show", "last", "--json"}, page: {"report", "last", "-o", page},
		`remote`: {"history", "remote"}}
	if summed {
		reading[`(?m)^.*,all,.*together.seconds`] = []string{"export", "last", "--format", "csv"}
		reading[`"target": "all"`] = []string{"compare", "last", "last", "--json"}
	}
	for want, args := range reading {
		out, err := c.command(args...).CombinedOutput()
		if err != nil || !regexp.MustCompile(want).Match(out) {
			t.Errorf("%v: %v\n%.3000s", args, err, out)
		}
	}
}

// withoutSum reports whether a warning says that the loads of several targets are not added up.
func withoutSum(r lab.Repetition) bool {
	return slices.ContainsFunc(r.Warnings, func(w lab.Warning) bool { return w.Code == "no-sum" })
}

func count(r lab.Repetition) (n uint64) {
	for _, c := range r.Latency["read"].Counts {
		n += c
	}
	return n
}

func TestSeveralTargetsAreKilledRestoredAndResumed(t *testing.T) {
	t.Parallel()
	c := newFleetFixture(t)
	cmd, release := c.secondLoads()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, role := range []string{"here", "a", "b"} {
		if files, err := os.ReadDir(c.places[role]); err != nil || len(files) != 1 {
			t.Errorf("%s has no scratch file: %v, %v", role, files, err)
		}
	}
	out, err := c.command("restore").CombinedOutput()
	if err != nil || strings.Count(string(out), "removed /") != 3 {
		t.Errorf("restore: %v\n%s", err, out)
	}
	c.checkNothingLeft()
	release()
	if out, err := c.command("run", "--resume", "last").CombinedOutput(); err != nil {
		t.Fatalf("resumed: %v\n%s", err, out)
	}
	c.checkNothingLeft()
	for _, role := range []string{"here", "a", "b", "all"} {
		var numbers []int
		for _, r := range c.saved()["read@"+role] {
			numbers = append(numbers, r.Number)
		}
		if !slices.Equal(numbers, []int{1, 2, 3}) {
			t.Errorf("%s has the repetitions %v", role, numbers)
		}
	}
}

func TestSeveralTargetsAreInterrupted(t *testing.T) {
	t.Parallel()
	c := newFleetFixture(t)
	cmd, _ := c.secondLoads()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("interrupted: %v", err)
	}
	c.checkNothingLeft()
	if b := c.onlyRun(); b.Run.Status != lab.Interrupted {
		t.Errorf("it is %s", b.Run.Status)
	}
}

// The load of one target is killed: it has no numbers and there is no sum, and the others are kept.
func TestTheLoadOfOneTargetFails(t *testing.T) {
	t.Parallel()
	c := newFleetFixture(t)
	loads := holdCalls(t, c.programs["b"], "fio", loadsOfFio, 2) // its second load goes on until it is killed
	cmd, stderr := c.begun(`(?m)^1/3  `)
	id := c.onlyRun().Run.ID
	await(t, "the second load", func() bool { return loads.waiting(id) > 0 })
	loads.to(3)
	killed := killJobs(t, id+"-b-")
	loads.release()
	err := cmd.Wait()
	printed, _ := os.ReadFile(stderr)
	if killed == 0 || err == nil || !strings.Contains(string(printed), "1 of 9 loads failed") {
		t.Fatalf("%d killed, %v\n%s", killed, err, printed)
	}
	c.checkNothingLeft()
	saved := c.saved()
	failed := slices.IndexFunc(saved["read@b"], func(r lab.Repetition) bool { return len(r.Values) == 0 })
	if failed != 1 || len(saved["read@b"]) != 3 || len(saved["read@all"]) != 3 {
		t.Fatalf("%d repetitions, %d sums, the failed one is %d", len(saved["read@b"]), len(saved["read@all"]), failed)
	}
	for i := range 3 {
		if saved["read@a"][i].Values["read.iops"] <= 0 || saved["read@here"][i].Values["read.iops"] <= 0 {
			t.Errorf("the others have nothing in repetition %d", i+1)
		}
		// Loads of which one started very late may have no second together, which is reported, too.
		_, summed := saved["read@all"][i].Values["read.iops"]
		printed := withoutSum(saved["read@all"][i])
		if summed == printed || summed && i == failed {
			t.Errorf("repetition %d: there is a sum: %v; it is said that there is none: %v", i+1, summed, printed)
		}
	}
}

// A load generator that is killed, as for want of memory, leaves its workers behind. They end with it, and not ten
// minutes later.
func TestTheWorkersOfAKilledLoadEnd(t *testing.T) {
	t.Parallel()
	for place, on := range map[string][]string{"here": nil, "there": {"--on", "ssh://under-test"}} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			v, _ := newRemoteFixture(t)
			cmd := v.command(append([]string{"run", v.suite, v.place, "--repeat", "1", "--set", "runtime=600s"},
				on...)...)
			var printed bytes.Buffer
			cmd.Stderr = &printed
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test fails
			await(t, "fio has a worker", func() bool {
				rows, err := store.Open(v.store).List()
				// the first job lays the file out
				return err == nil && len(rows) == 1 && killParents(t, rows[0].ID+"-2.")
			})
			if err := cmd.Wait(); err == nil || !strings.Contains(printed.String(), "1 of 1 loads failed") {
				t.Errorf("%v\n%s", err, &printed)
			}
			v.clean()
		})
	}
}

// killParents kills the processes of a job that have others of it as children and are fio, and says whether there was
// one.
func killParents(t *testing.T, job string) bool {
	t.Helper()
	parents := map[int]int{}
	for _, link := range processesOf(t, job) {
		folder := filepath.Dir(link)
		name, _ := os.ReadFile(filepath.Join(folder, "comm"))
		status, _ := os.ReadFile(filepath.Join(folder, "status"))
		_, after, ok := strings.Cut(string(status), "\nPPid:")
		if strings.TrimSpace(string(name)) != "fio" || !ok {
			continue
		}
		var pid, parent int
		if _, err := fmt.Sscanf(folder, "/proc/%d", &pid); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(after, &parent); err != nil {
			t.Fatal(err)
		}
		parents[pid] = parent
	}
	killed := false
	for _, parent := range parents {
		if _, ok := parents[parent]; ok {
			killed = syscall.Kill(parent, syscall.SIGKILL) == nil || killed
		}
	}
	return killed
}

// killJobs kills what works in the folders of some jobs, and says how many processes that were.
func killJobs(t *testing.T, jobs string) int {
	t.Helper()
	n := 0
	for _, link := range processesOf(t, jobs) {
		var pid int
		name, err := os.ReadFile(filepath.Join(filepath.Dir(link), "comm"))
		if _, scan := fmt.Sscanf(link, "/proc/%d/cwd", &pid); err == nil && scan == nil &&
			strings.TrimSpace(string(name)) == "fio" && syscall.Kill(pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}

func TestSeveralTargetsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newFleetFixture(t)
	for want, args := range map[string][]string{
		"are one machine, and": {"run", c.suite, c.place, "--on", "local", "--on", "ssh://under-test-1"},
		"and .* are one machine": {"run", c.suite, c.places["a"], c.places["a"] + "/../a", "--on",
			"ssh://under-test-1", "--on", "ssh://under-test-2"},
		"2 places are named for 3 targets": {"run", c.suite, c.place, c.place, "--on", "local", "--on", "local", "--on",
			"local"},
		"stands for all targets": {"run", c.suite, c.place, "--on", "all=local", "--on", "ssh://under-test-1"},
		"--repeat for": {"run", c.suite, c.place, "--on", "local", "--on", "ssh://under-test-1", "--precision",
			"5%"},
	} {
		out, err := c.command(args...).CombinedOutput()
		if err == nil || !regexp.MustCompile(want).Match(out) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	if rows, err := store.Open(c.store).List(); err != nil || len(rows) != 0 {
		t.Errorf("%d runs, %v", len(rows), err)
	}
	// What would be done is said of each.
	out, err := c.command(append(c.args, "--dry-run=full")...).Output()
	for _, role := range []string{"here", "a", "b"} {
		if err != nil || !regexp.MustCompile(
			`--filename=`+regexp.QuoteMeta(c.places[role])+`/headroom-\w+-`+role+`\.scratch`).Match(out) {
			t.Errorf("the plan for %s: %v\n%s", role, err, out)
		}
	}
}
