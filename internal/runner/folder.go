package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/target"
)

// WorkFolder is the path of the folder of a run's commands in a directory. The run's id is in the name, so that nobody's folder is
// taken for it.
func WorkFolder(dir, runID string) string { return filepath.Join(dir, "headroom-"+runID+".work") }

// mark is the variable in the environment of everything that a command starts.
const mark = "HEADROOM_RUN"

// Marked is the mark of a run, or of one of its targets. The id comes last, so that no mark is the start of another: it is looked for in
// environments, where a text is found but not its end.
func Marked(owner string) string {
	id, role, several := strings.Cut(owner, "-")
	if !several {
		return mark + "=" + id
	}
	return mark + "=" + role + "-" + id
}

// makeFolder makes a new folder for the commands of a cell, which a user must be able to write to.
func (s *Session) makeFolder(ctx context.Context, folder, user string) error {
	steps := [][]string{{"mkdir", "-p", "-m", "0755", "--", filepath.Dir(folder)}, {"mkdir", "-m", "0700", "--", folder}}
	behind := s.commands.tools.behind(user)
	if len(behind) > 0 {
		steps = append(steps, []string{"chown", "--", user, folder})
	}
	for _, argv := range steps {
		out, err := s.Target.Run(ctx, argv...)
		if err == nil && out.ExitCode != 0 {
			err = &lab.Error{What: "can't make the folder " + folder, Target: s.elsewhere(), Command: argv, Output: string(out.Stderr)}
		}
		if err != nil {
			return err
		}
	}
	if len(behind) == 0 {
		return nil
	}
	argv := slices.Concat(behind, []string{"test", "-w", folder})
	out, err := s.Target.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: fmt.Sprintf("the user %s can't get to %s", user, s.Place.Path), Target: s.elsewhere(), Command: argv,
			Hints: []string{"a tool of this suite refuses to be root, so it runs as " + user + ": name a directory that everybody may enter (chmod o+x, all the way up)"}}
	}
	return err
}

// RemoveFolder ends what still runs for a run's commands, deletes the folder that they worked in, and says whether there was one.
func RemoveFolder(ctx context.Context, t target.Target, owner, folder string) (bool, error) {
	if err := EndProcesses(ctx, t, owner, folder); err != nil {
		return false, err
	}
	out, err := t.Run(ctx, "test", "-d", folder)
	if err != nil || out.ExitCode != 0 {
		return false, err
	}
	return true, removeTree(ctx, t, folder)
}

// removeTree deletes a folder of ours. A command may have mounted something in it, which is not ours to delete.
func removeTree(ctx context.Context, t target.Target, folder string) error {
	const table = "/proc/self/mountinfo"
	files, err := t.ReadFiles(ctx, table)
	if err != nil {
		return err
	}
	if err := files[table].Err; err != nil {
		return err
	}
	if point := mountedBelow(string(files[table].Data), folder); point != "" {
		return &lab.Error{What: "can't remove " + folder + ": something is mounted on " + point, Target: t.Name(),
			Hints: []string{"unmount it, then: headroom restore"}}
	}
	argv := []string{"rm", "-rf", "--", folder}
	out, err := t.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't remove " + folder, Target: t.Name(), Command: argv, Output: firstLines(string(out.Stderr), 3),
			Hints: []string{"remove it by hand"}}
	}
	return err
}

// mountedBelow is a mount point in a folder, or the folder itself; empty when there is none. The fifth field is the mount point,
// its spaces written as \040 (proc_pid_mountinfo(5)):
//
//	36 35 98:0 / /mnt/a\040b rw,noatime shared:1 - ext4 /dev/sda1 rw
func mountedBelow(table, folder string) string {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if point := unescape.Replace(fields[4]); point == folder || strings.HasPrefix(point, folder+"/") {
			return point
		}
	}
	return ""
}

// findProcesses lists the working directories of all processes, and the environments that hold the text $1.
const findProcesses = `ls -l /proc/[0-9]*/cwd 2>/dev/null; grep -lsF -e "$1" /proc/[0-9]*/environ; exit 0`

// The times that processes are given to end by themselves, and to be gone when they were killed.
const (
	grace   = 5 * time.Second
	tooLong = 20 * time.Second
)

// EndProcesses ends everything that a run's commands have started: what carries the run's mark in its environment, and what works
// below their folder, since some programs overwrite their environment. First they are asked to end.
func EndProcesses(ctx context.Context, t target.Target, owner, folder string) error {
	started := time.Now()
	signal, asked := "-TERM", map[string]bool{}
	for {
		out, err := t.Run(ctx, "sh", "-c", findProcesses, "sh", Marked(owner))
		if err != nil {
			return err
		}
		found := processesIn(string(out.Stdout), folder)
		if len(found) == 0 {
			return nil
		}
		if time.Since(started) > grace {
			signal, asked = "-KILL", map[string]bool{}
		}
		if time.Since(started) > tooLong {
			return &lab.Error{What: "processes that the run's commands started can't be ended: " + strings.Join(found, " "), Target: t.Name(),
				Hints: []string{"they are likely waiting for a device; end them, then: headroom restore"}}
		}
		found = slices.DeleteFunc(found, func(pid string) bool { return asked[pid] })
		for _, pid := range found {
			asked[pid] = true
		}
		if len(found) > 0 {
			if _, err := t.Run(ctx, slices.Concat([]string{"kill", signal, "--"}, found)...); err != nil { // some may be gone: its exit status says nothing
				return err
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// processesIn reads the process IDs from what findProcesses prints: those that work in a folder or below it, and those whose
// environment was found.
//
//	lrwxrwxrwx 1 root root 0 Nov 21 22:13 /proc/1/cwd -> /
//	lrwxrwxrwx 1 postgres postgres 0 Nov 21 22:13 /proc/4711/cwd -> /srv/headroom-7KQ4M2X9TD.work/tpcb/data
//	/proc/4712/environ
func processesIn(text, folder string) []string {
	var pids []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		at := strings.Index(line, "/proc/")
		if at < 0 {
			continue
		}
		pid, rest, _ := strings.Cut(line[at+len("/proc/"):], "/")
		cwd, isCwd := strings.CutPrefix(rest, "cwd -> ")
		cwd = strings.TrimSuffix(cwd, " (deleted)")
		inside := isCwd && folder != "" && (cwd == folder || strings.HasPrefix(cwd, folder+"/"))
		if (inside || rest == "environ") && strings.Trim(pid, "0123456789") == "" && pid != "" && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill ends a load. A command's processes may work anywhere, so those are looked for first.
func (s *Session) kill(ctx context.Context, job target.Job, l load) error {
	if _, isCommand := l.engine.(execEngine); isCommand {
		if err := EndProcesses(ctx, s.Target, s.owner(), s.commands.folder); err != nil {
			return err
		}
	}
	return job.Kill(ctx, 3*time.Second)
}
