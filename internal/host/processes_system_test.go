//go:build system

package host_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/testing/sshtest"
)

const nobody = 65534

// ownRun is a run that only this process has: another run of the tests has processes like these.
func ownRun() string { return fmt.Sprintf("TEST%d", os.Getpid()) }

// asUser starts a shell script as another user, in a folder, and ends it with the test.
func asUser(t *testing.T, uid uint32, dir, script string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() })
	return cmd
}

// protectedProcesses starts processes of another user, whose working directories spell lines about processes of root.
// Some stay there, others enter and leave endlessly. It returns the processes of root, one for each.
func protectedProcesses(t *testing.T, n int, folder string) (protected []*exec.Cmd) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("other users' processes need root")
	}
	base, err := os.MkdirTemp("", "headroom-hostile-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		victim := asUser(t, 0, "/", "exec sleep 1000")
		protected = append(protected, victim)
		pid := strconv.Itoa(victim.Process.Pid)
		dir := filepath.Join(base, strconv.Itoa(i), []string{
			"x\n/proc/" + pid + "/environ",
			"x\nlrwxrwxrwx 1 0 0 0 Nov 21 22:13 /proc/" + pid + "/cwd -> " + folder,
			"y\nz /proc/" + pid + "/cwd -> " + folder + "/below",
			"x\n" + pid + "\n/proc/" + pid + "/cwd -> " + folder + " (deleted)",
		}[i%4])
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		script := `exec sleep 1000`
		if i%3 == 0 {
			script = `here=$PWD; while :; do cd /; cd "$here" || exit; done`
		}
		asUser(t, nobody, dir, script)
	}
	return protected
}

// checkAlive fails the test if any of the processes was ended.
func checkAlive(t *testing.T, when string, protected []*exec.Cmd) {
	t.Helper()
	for i, v := range protected {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", v.Process.Pid))
		if err != nil || strings.Contains(string(state), ") Z ") {
			t.Fatalf("%s: victim %d was killed: %s, %v", when, i, state, err)
		}
	}
}

// No user can cause another user's process to be killed, whatever folder he works in: each of 50 searches meets 20
// attempts.
func TestForgedFoldersKillNobody(t *testing.T) {
	server := sshtest.Start(t)
	folder := "/srv/headroom-" + ownRun() + ".work"
	protected := protectedProcesses(t, 20, folder)
	of := host.Started{Mark: "HEADROOM_RUN=" + ownRun(), Folder: folder}
	for name, tg := range map[string]host.Target{"here": host.NewLocal(t.TempDir()),
		"ssh": opened(t, server.Options(""))} {
		for i := range 50 {
			found, err := host.SignalStarted(t.Context(), tg, of, syscall.SIGKILL, nil)
			if err != nil || len(found) > 0 {
				t.Fatalf("%s, look %d: found %v, %v", name, i, found, err)
			}
		}
		checkAlive(t, name, protected)
	}
}

// Ending a job whose folder is known does not do so either.
func TestForgedFoldersOfJobsKillNobody(t *testing.T) {
	server := sshtest.Start(t)
	for name, tg := range map[string]host.Target{"here": host.NewLocal(filepath.Join(t.TempDir(), "jobs")),
		"ssh": opened(t, server.Options(""))} {
		id := fmt.Sprintf("FORGED-%d", os.Getpid())
		job, err := tg.Start(t.Context(), host.JobSpec{ID: id, Argv: []string{"sleep", "1000"}})
		if err != nil {
			t.Fatal(err)
		}
		protected := protectedProcesses(t, 20, job.Dir())
		for range 5 { // each looks several times
			if err := job.Kill(t.Context(), 0); err != nil {
				t.Error(err)
			}
		}
		checkAlive(t, name, protected)
		if err := tg.(host.Leftovers).ClearJob(t.Context(), id); err != nil {
			t.Error(err)
		}
		checkAlive(t, name, protected)
	}
}

// Another user's process in a folder of the run's commands survives if the commands do not run as that user.
func TestOthersInTheFolderOfCommandsGoOn(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("other users' processes need root")
	}
	server := sshtest.Start(t)
	folder := t.TempDir()
	for _, dir := range []string{folder, filepath.Dir(folder)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, tg := range map[string]host.Target{"here": host.NewLocal(t.TempDir()),
		"ssh": opened(t, server.Options(""))} {
		other := asUser(t, nobody, folder, "exec sleep 1000")
		of := host.Started{Mark: "HEADROOM_RUN=" + ownRun(), Folder: folder}
		found, err := host.SignalStarted(t.Context(), tg, of, syscall.SIGKILL, nil)
		if err != nil || len(found) > 0 {
			t.Errorf("%s: found %v, %v", name, found, err)
		}
		checkAlive(t, name, []*exec.Cmd{other})
		of.Users = []string{strconv.Itoa(nobody)}
		found, err = host.SignalStarted(t.Context(), tg, of, syscall.SIGKILL, nil)
		if err != nil || len(found) != 1 || found[0] != strconv.Itoa(other.Process.Pid) {
			t.Errorf("%s: found %v and not %d, %v", name, found, other.Process.Pid, err)
		}
	}
}
