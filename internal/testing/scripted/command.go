package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// run answers a short command: first with the scripted output, then as every machine does.
func (m *Machine) run(ctx context.Context, argv []string) (host.Output, error) {
	line := lab.ShellQuote(argv)
	m.mu.Lock()
	m.ran = append(m.ran, line)
	m.mu.Unlock()
	var result Result
	for _, f := range m.dueTriggers(false, argv) {
		f.then(&Event{Machine: m, Argv: argv, Result: &result})
	}
	if result.Hangs {
		<-ctx.Done()
		return host.Output{}, &lab.Error{What: "can't run " + argv[0], Command: argv, Err: ctx.Err()}
	}
	if result.Duration > 0 {
		if err := pause(ctx, result.Duration); err != nil {
			return host.Output{}, &lab.Error{What: "can't run " + argv[0], Command: argv, Err: err}
		}
	}
	if result.Exit == 0 && result.Stdout == "" && result.Err == nil {
		out, err := m.answer(argv)
		result.Stdout, result.Stderr, result.Exit, result.Err = out.Stdout, out.Stderr, out.Exit, err
	}
	return host.Output{Stdout: []byte(result.Stdout), Stderr: []byte(result.Stderr), ExitCode: result.Exit},
		result.Err
}

// answer returns the output of a command, and performs its effects.
func (m *Machine) answer(argv []string) (Output, error) {
	if m.Answer != nil {
		if out, ok := m.Answer(argv); ok {
			return out, nil
		}
	}
	line := lab.ShellQuote(argv)
	m.mu.Lock()
	out, ok := m.answers[line]
	absent := m.absent[path.Base(argv[0])]
	m.mu.Unlock()
	switch {
	case ok:
		return out, nil
	case absent:
		return Output{}, missing(argv)
	}
	if script, isScript := scriptOf(argv); isScript {
		return m.script(script, argv)
	}
	l := &Load{Env: map[string]string{}}
	if inner := l.unwrap(argv); len(inner) > 0 && len(inner) < len(argv) {
		return m.answer(inner)
	}
	if do, ok := commands()[path.Base(argv[0])]; ok && m.installed(argv[0]) {
		return do(m, argv)
	}
	return Output{}, m.unexpectedCommand(argv)
}

// script performs a script of headroom's, which is identified by its text. No shell runs it, so it can't affect this
// machine.
func (m *Machine) script(script string, argv []string) (Output, error) {
	args := argv[4:]
	contains := func(text string) bool { return strings.Contains(script, text) }
	switch {
	case contains(`dd of="$2"`) && len(args) == 2:
		if err := m.tree.write(args[1], []byte(args[0])); err != nil {
			return Output{Stderr: "dd: error writing '" + args[1] + "': " + plain(err) + "\n", Exit: 1}, nil
		}
		return Output{}, nil
	case contains(`set -C`) && contains(`seek="$2"`) && len(args) == 2:
		if m.Exists(args[0]) {
			return Output{Stderr: "sh: cannot create " + args[0] + ": File exists\n", Exit: 2}, nil
		}
		size, _ := strconv.ParseInt(args[1], 10, 64)
		m.Sized(args[0], size)
		return Output{}, nil
	case contains(`command -v "$tool"`) && len(args) > 0:
		return m.findTools(args), nil
	case contains(`for f in $p`):
		text := ""
		for _, pattern := range args {
			found, _ := fs.Glob(files{&Target{machine: m}}, strings.TrimPrefix(pattern, "/"))
			for _, name := range found {
				text += "/" + name + "\n"
			}
		}
		return Output{Stdout: text}, nil
	case contains(`signal=$1; mark=$2`) && len(args) == 5:
		return m.signal(args[0], args[1], args[2]), nil
	case contains(`mount.nfs "$1"`) && len(args) == 3:
		if why := m.Mounted(args[0], args[1], args[2]); why != "" {
			return Output{Stderr: why + "\n", Exit: 32}, nil
		}
		return Output{}, nil
	case contains(`umount "$1"`) && len(args) == 1:
		if !m.unmount(args[0]) {
			return Output{Stderr: "umount: " + args[0] + ": not mounted.\n", Exit: 1}, nil
		}
		return Output{}, nil
	case contains(`ln -s -n "$holder"`) && len(args) > 0:
		return m.lockSettings(args[0], args[1:]), nil
	case contains(`case $(readlink "$f")`) && len(args) == 1:
		m.unlockSettings(args[0])
		return Output{}, nil
	case contains(`modprobe -D "$1"`):
		return Output{Exit: 1}, nil // everything is built in
	case contains(`ls -l /proc/[0-9]*/fd`):
		return Output{}, nil // no program has a file open
	}
	l := &Load{Env: map[string]string{}}
	if inner := l.unwrap(argv); len(inner) > 0 && len(inner) < len(argv) {
		return m.answer(inner)
	}
	return Output{}, m.unexpectedCommand(argv)
}

// findTools answers which tools are installed: NUMBER PATTERN... TOOL...
func (m *Machine) findTools(args []string) Output {
	n, _ := strconv.Atoi(args[0])
	text := ""
	for _, tool := range args[min(len(args), 1+n):] {
		m.mu.Lock()
		absent := m.absent[tool]
		m.mu.Unlock()
		_, program := m.Programs[tool]
		_, common := commands()[tool]
		common = common && m.installed(tool)
		if absent || !program && !common && !slices.Contains([]string{"fio", "iperf3", "sh", "sleep", "env", "touch"},
			tool) {
			text += "missing\t" + tool + "\n"
		}
	}
	return Output{Stdout: text}
}

// signal ends the processes that have a mark or work in a folder, and prints their IDs.
func (m *Machine) signal(signal, mark, folder string) Output {
	m.mu.Lock()
	var found []*process
	for _, p := range m.processes {
		name, value, _ := strings.Cut(mark, "=")
		if p.ended.IsZero() && (mark != "" && p.load.Env[name] == value ||
			folder != "" && (p.load.Folder == folder || strings.HasPrefix(p.load.Folder, folder+"/"))) {
			found = append(found, p)
		}
	}
	m.mu.Unlock()
	text := ""
	for _, p := range found {
		p.kill(map[string]string{"TERM": "terminated", "KILL": "killed"}[signal])
		text += fmt.Sprintln(p.pid)
	}
	return Output{Stdout: text}
}

// plain returns an error as tools print it.
func plain(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		text := errno.Error()
		return strings.ToUpper(text[:1]) + text[1:]
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "No such file or directory"
	case errors.Is(err, fs.ErrPermission):
		return "Permission denied"
	}
	return err.Error()
}

// commands returns the commands that every machine has, as far as headroom uses them.
func commands() map[string]func(*Machine, []string) (Output, error) {
	nothing := func(*Machine, []string) (Output, error) { return Output{}, nil }
	return map[string]func(*Machine, []string) (Output, error){
		"true": nothing, "sync": nothing, "chown": nothing, "chmod": nothing,
		"false": func(*Machine, []string) (Output, error) { return Output{Exit: 1}, nil },
		"echo": func(_ *Machine, argv []string) (Output, error) {
			return Output{Stdout: strings.Join(argv[1:], " ") + "\n"}, nil
		},
		"headroom": (*Machine).headroom,
		"test":     (*Machine).test,
		"stat":     (*Machine).stat,
		"rm":       (*Machine).rm,
		"mkdir":    (*Machine).mkdir,
		"rmdir":    (*Machine).rmdir,
		"cat":      (*Machine).cat,
		"readlink": (*Machine).realpath,
		"realpath": (*Machine).realpath,
		"id":       (*Machine).id,
		"ip":       (*Machine).ip,
		"sysctl":   (*Machine).sysctl,
		"kexec":    (*Machine).kexec, "systemctl": (*Machine).systemctl,
	}
}

// words separates the options from the other arguments.
func words(argv []string) (options string, names []string) {
	for i, a := range argv[1:] {
		if a == "--" {
			return options, append(names, argv[i+2:]...)
		}
		if strings.HasPrefix(a, "-") && len(a) > 1 && len(names) == 0 {
			options += a
			continue
		}
		names = append(names, a)
	}
	return options, names
}

// id knows root and one user with few rights.
func (m *Machine) id(argv []string) (Output, error) {
	_, names := words(argv)
	if len(names) == 1 && names[0] != "root" && names[0] != "nobody" {
		return Output{Stderr: "id: '" + names[0] + "': no such user\n", Exit: 1}, nil
	}
	if len(names) == 1 && names[0] == "nobody" {
		return Output{Stdout: "65534\n"}, nil
	}
	return Output{Stdout: "0\n"}, nil
}

// ip prints routes.
func (m *Machine) ip(argv []string) (Output, error) {
	if len(argv) == 6 && argv[2] == "route" && argv[4] == "fibmatch" {
		hops := m.NextHops[argv[5]]
		if len(hops) == 0 {
			return Output{Stdout: fmt.Sprintf(`[{"dst":%q,"dev":%q,"flags":[]}]`, argv[5], m.portTo(argv[5]).name)}, nil
		}
		text, err := json.Marshal([]any{map[string]any{"dst": argv[5], "flags": []any{}, "nexthops": hops}})
		return Output{Stdout: string(text)}, err
	}
	if len(argv) == 5 && argv[2] == "route" && argv[3] == "get" {
		by := m.portTo(argv[4])
		if m.owns(argv[4]) {
			by.name = "lo"
		}
		return Output{Stdout: fmt.Sprintf(`[{"dst":%q,"dev":%q,"prefsrc":%q,"flags":[],"uid":0,"cache":[]}]`, argv[4],
			by.name, by.address)}, nil
	}
	return Output{}, m.unexpectedCommand(argv)
}

// sysctl reads with -n NAME and writes with -w NAME=VALUE.
func (m *Machine) sysctl(argv []string) (Output, error) {
	options, names := words(argv)
	var out Output
	for _, n := range names {
		name, value, write := strings.Cut(n, "=")
		file := "/proc/sys/" + strings.ReplaceAll(name, ".", "/")
		if write || strings.Contains(options, "w") {
			if err := m.tree.write(file, []byte(value)); err != nil {
				return Output{Stderr: "sysctl: setting key \"" + name + "\": " + plain(err) + "\n", Exit: 1}, nil
			}
			continue
		}
		out.Stdout += m.Get(file) + "\n"
	}
	return out, nil
}
