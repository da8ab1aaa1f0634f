//go:build system

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/store"
)

// besideCounts is what came of experiments on the same settings beside those that are killed; guarded as killCounts.
type besideCounts struct{ killed, refused, finished int }

// beside starts a second experiment with a separate store, at about the time of the first one. It changes the settings
// that the first one changes if that is an ablation or a sweep. Half of the second experiments are killed, too. The
// returned function waits for the end of the second experiment, restores its settings, and returns errors.
func (w *killWorker) beside(random *rand.Rand) func() []string {
	other := *w
	other.store, other.place = w.store+"-other", w.place+"-other"
	commands := killedCommands(other.fixture)
	at := slices.IndexFunc(commands, func(c killedCommand) bool { return c.name == "ablate" }) + random.IntN(2)
	begin := random.Float64()
	after, restoreFirst := time.Hour, random.IntN(2) == 0
	if random.IntN(2) == 0 {
		after = time.Duration(random.Float64() * float64(3*time.Second))
	}
	// It is started by this thread, whose network and mounts it has.
	var stderr bytes.Buffer
	cmd := other.command(commands[at].args...)
	cmd = exec.Command("sh", append([]string{"-c", `sleep "$0"; exec "$@"`, fmt.Sprint(begin)}, cmd.Args...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), w.mark()), &stderr
	if err := errors.Join(os.MkdirAll(other.place, 0o755), cmd.Start()); err != nil {
		return func() []string { return []string{err.Error()} }
	}
	kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	return func() []string {
		err := cmd.Wait()
		kill.Stop()
		wrong := w.all.noteBeside(err, cmd, stderr.String())
		if restoreFirst { // in this order, too, each puts back its own alone
			if _, err := w.did("restore"); err != nil {
				wrong = append(wrong, err.Error())
			}
		}
		if _, err := other.did("restore"); err != nil {
			wrong = append(wrong, err.Error())
		}
		left, err := journal.Pending(store.Open(other.store).Folder.Changes(), store.Trust)
		if err != nil || len(left) > 0 {
			wrong = append(wrong, fmt.Sprintf("the other one left %v, %v", left, err))
		}
		if err := errors.Join(os.RemoveAll(other.store), os.RemoveAll(other.place)); err != nil {
			wrong = append(wrong, err.Error())
		}
		return wrong
	}
}

// noteBeside counts how the second experiment ended, and says what is wrong with that.
func (a *killCounts) noteBeside(err error, cmd *exec.Cmd, printed string) []string {
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.beside.finished++
	case status.Signaled():
		a.total++
		a.beside.killed++
	case status.ExitStatus() == 4 && strings.Contains(printed, "can't be changed: run "):
		a.beside.refused++
	default:
		return []string{"the other one failed: " + err.Error() + "\n" + printed}
	}
	return nil
}

// locks of settings that runs of this worker have, also in the second store.
func (w *killWorker) locks() (left []string) {
	const folder = "/run/headroom/settings"
	f, err := os.Open(folder)
	if err != nil {
		return nil // without the folder there are no locks
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return []string{err.Error()}
	}
	for _, name := range names {
		lock := filepath.Join(folder, name)
		if holder, err := os.Readlink(lock); err == nil && strings.Contains(holder, `"journal":"`+w.store) {
			left = append(left, lock)
		}
	}
	return left
}
