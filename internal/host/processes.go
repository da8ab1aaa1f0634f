package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Started selects the processes on a target that the commands of a run have started.
//
// Other users can choose the names of their folders and variables freely, so text that lists several processes is never
// parsed: each process is examined alone, and its values are compared as a whole.
type Started struct {
	// Mark is an environment variable of the processes, "NAME=value". A process that has it inherited it from the run,
	// or has set it.
	Mark string
	// Folder contains the working directories of the processes, since some programs overwrite their environment; empty
	// for none.
	Folder string
	// Users are the numeric IDs of the users that run the commands, in addition to headroom's user on the target.
	// Another user's process in the folder was not started by the commands.
	Users []string
	// OwnedByJob is set if this very process has started them, so that older processes are excluded.
	OwnedByJob bool
}

// SignalStarted sends a signal to each of the started processes, except those listed in asked, which have been
// signalled before. It returns the IDs of all the processes that it found.
func SignalStarted(ctx context.Context, t Target, which Started, signal syscall.Signal, asked []string) ([]string,
	error) {
	if _, ok := t.(*Local); ok {
		return signalStartedHere(which, signal, asked)
	}
	word := map[syscall.Signal]string{syscall.SIGTERM: "TERM", syscall.SIGKILL: "KILL"}[signal]
	argv := []string{"sh", "-c", startedScript, "sh", word, which.Mark, which.Folder, strings.Join(which.Users, " "),
		strings.Join(asked, " ")}
	out, err := t.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't look for the processes of the run's commands", Target: t.Name(),
			Output: tail(string(out.Stderr), 2000)}
	}
	return strings.Fields(string(out.Stdout)), err
}

func signalStartedHere(which Started, signal syscall.Signal, asked []string) ([]string, error) {
	users := append([]string{strconv.Itoa(os.Getuid())}, which.Users...)
	oldest := uint64(0)
	if which.OwnedByJob {
		self, err := readProcess(os.Getpid())
		if err != nil {
			return nil, err
		}
		oldest = self.began
	}
	found, err := signalEach(func(pid int) bool {
		if !marked(pid, which.Mark) && (which.Folder == "" || !worksIn(pid, which.Folder) ||
			!slices.Contains(users, realUser(pid))) {
			return false
		}
		p, err := readProcess(pid)
		return err == nil && p.began >= oldest
	}, signal, asked)
	return found, err
}

// signalEach sends a signal to each chosen process of this machine, except this process, its ancestors, and the
// processes in asked. The process that is examined is the one that gets the signal: while a process descriptor (pidfd)
// is open, it refers to the same process, even if the kernel reuses the ID after its end.
func signalEach(chosen func(pid int) bool, signal syscall.Signal, asked []string) ([]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	kin := ancestors()
	var found []string
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || slices.Contains(kin, pid) || !chosen(pid) {
			continue
		}
		p, err := os.FindProcess(pid) // opens a pidfd, if the kernel supports it
		if err != nil {
			continue // it has ended
		}
		if chosen(pid) {
			found = append(found, e.Name())
			if !slices.Contains(asked, e.Name()) {
				_ = p.Signal(signal) // a process that has ended meanwhile needs no signal
			}
		}
		_ = p.Release()
	}
	return found, nil
}

// marked reports whether the environment of a process has a variable, given as "NAME=value".
func marked(pid int, variable string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || variable == "" {
		return false
	}
	for one := range bytes.SplitSeq(env, []byte{0}) {
		if string(one) == variable {
			return true
		}
	}
	return false
}

// worksIn reports whether the working directory of a process is a folder or below it. The folder's path has no symbolic
// links, like the paths reported by the kernel.
func worksIn(pid int, dir string) bool {
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && (cwd == dir || cwd == dir+" (deleted)" || strings.HasPrefix(cwd, dir+"/"))
}

// realUser returns the real user ID of a process, which a program with the set-user-ID bit does not change; empty if
// the process has ended. The kernel escapes newlines of a name in this file. Source: proc_pid_status(5).
//
//	Name:	fio
//	Uid:	65534	0	0	0
func realUser(pid int) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "Uid:"); ok {
			if fields := strings.Fields(rest); len(fields) > 0 {
				return fields[0]
			}
		}
	}
	return ""
}

type process struct {
	parent int
	// state is the kernel's letter for the state: D for a process that waits for a device.
	state string
	// began is the start time, in kernel ticks since boot.
	began uint64
}

// readProcess reads /proc/PID/stat. The name in brackets can contain any characters; the fields after it are the state
// and numbers.
//
//	4711 (fio) S 4700 4711 4711 0 -1 4194304 98 0 0 0 0 0 0 0 20 0 1 0 834271 2629632 …
func readProcess(pid int) (process, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(fields) < 20 {
		return process{}, fmt.Errorf("/proc/%d/stat is %q", pid, line)
	}
	parent, err1 := strconv.Atoi(fields[1])
	began, err2 := strconv.ParseUint(fields[19], 10, 64)
	return process{parent, fields[0], began}, errors.Join(err1, err2)
}

// notWaitingForDevice reports whether a process has ended, or ends as soon as it gets a processor.
func notWaitingForDevice(id string) bool {
	pid, err := strconv.Atoi(id)
	if err != nil {
		return false
	}
	p, err := readProcess(pid)
	return err != nil || p.state != "D"
}

// ancestors returns this process and its ancestors.
func ancestors() []int {
	var all []int
	for pid := os.Getpid(); pid > 0 && !slices.Contains(all, pid); {
		all = append(all, pid)
		p, err := readProcess(pid)
		if err != nil {
			break
		}
		pid = p.parent
	}
	return all
}

const (
	// deviceLimit is how long a killed process that waits for a device can take to end, and processorLimit is the same
	// for one that has not got a processor yet.
	deviceLimit    = time.Second
	processorLimit = time.Minute
)

// RemoveFolder kills every process whose working directory is dir or below it, and removes dir with its contents. A
// process that was being started when its parent was killed enters its folder only later. So processes are searched for
// again after the folder is removed, when none can enter it.
func RemoveFolder(dir string) error {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	if err := KillBelow(dir); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(dir), KillBelow(dir))
}

// KillBelow kills every process whose working directory is dir or below it. No other user can enter the folder. A job's
// processes are found this way and not by a recorded process ID because the record can't be written before the process
// exists, and because IDs are reused. It repeats the search until two in a row find no process: one search misses a
// process that another one starts meanwhile.
func KillBelow(dir string) error {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	var found []string
	for begun := time.Now(); time.Since(begun) < processorLimit; time.Sleep(20 * time.Millisecond) {
		found = nil
		for look := 0; look < 2 && len(found) == 0; look++ {
			var err error
			found, err = signalEach(func(pid int) bool { return worksIn(pid, dir) }, syscall.SIGKILL, nil)
			if err != nil {
				return err
			}
		}
		if len(found) == 0 {
			return nil
		}
		if time.Since(begun) > deviceLimit && !slices.ContainsFunc(found, notWaitingForDevice) {
			break
		}
	}
	return &lab.Error{What: fmt.Sprintf("processes working in %s do not end after SIGKILL: %s", dir,
		strings.Join(found, ", ")),
		Hints: []string{"those in state D wait for a device, and end when it answers",
			"look at them: ps -o pid,stat,wchan:32,args -p PID"}}
}
