package scripted

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func (m *Machine) test(argv []string) (Output, error) {
	if len(argv) != 3 {
		return Output{}, m.unexpectedCommand(argv)
	}
	info, err := m.tree.stat(argv[2], true)
	is := err == nil
	switch argv[1] {
	case "-e", "-w", "-r", "-x":
	case "-d":
		is = is && info.IsDir()
	case "-f":
		is = is && info.Mode().IsRegular()
	case "-b":
		is = is && info.Mode()&fs.ModeDevice != 0
	default:
		return Output{}, m.unexpectedCommand(argv)
	}
	if is {
		return Output{}, nil
	}
	return Output{Exit: 1}, nil
}

func (m *Machine) stat(argv []string) (Output, error) {
	options, names := words(argv)
	if !strings.Contains(options, "-c") || len(names) < 2 {
		return Output{}, m.unexpectedCommand(argv)
	}
	format, names := names[0], names[1:]
	if names[0] == "--" {
		names = names[1:]
	}
	var out Output
	for _, name := range names {
		info, err := m.tree.stat(name, true)
		if err != nil {
			out.Stderr, out.Exit = out.Stderr+"stat: cannot statx '"+name+"': "+plain(err)+"\n", 1
			continue
		}
		sys := info.Sys().(*syscall.Stat_t)
		number := sys.Rdev
		pairs := []string{"%s", fmt.Sprint(info.Size()), "%d", m.deviceOf(name), "%i", fmt.Sprint(sys.Ino), "%n", name,
			"%t", fmt.Sprintf("%x", unix.Major(number)), "%T", fmt.Sprintf("%x", unix.Minor(number)), "%u", "0", "%g",
			"0", "%z", "2027-01-01 12:00:00.000000000 +0000"}
		if strings.Contains(options, "f") {
			pairs = []string{"%S", "4096", "%b", fmt.Sprint((m.Free + m.Free/4) / 4096), "%f",
				fmt.Sprint(m.Free / 4096), "%a", fmt.Sprint(m.Free / 4096), "%c", "1000000", "%d", "900000", "%n", name}
		}
		out.Stdout += strings.NewReplacer(pairs...).Replace(format) + "\n"
	}
	return out, nil
}

// deviceOf returns the device number of the file system of a path.
func (m *Machine) deviceOf(name string) string {
	best, number := "", "0"
	for line := range strings.Lines(m.Get("/proc/self/mountinfo")) {
		f := strings.Fields(line)
		if len(f) > 4 && (name == f[4] || strings.HasPrefix(name, strings.TrimSuffix(f[4], "/")+"/")) &&
			len(f[4]) >= len(best) {
			best, number = f[4], strings.Join(strings.Split(f[2], ":"), "0")
		}
	}
	return number
}

func (m *Machine) rm(argv []string) (Output, error) {
	options, names := words(argv)
	var out Output
	for _, name := range names {
		info, err := m.tree.stat(name, false)
		if err == nil && info.IsDir() && !strings.Contains(options, "r") {
			return Output{Stderr: "rm: cannot remove '" + name + "': Is a directory\n", Exit: 1}, nil
		}
		if m.Remove(name) && strings.Contains(options, "v") {
			out.Stdout += "removed '" + name + "'\n"
		}
	}
	return out, nil
}

func (m *Machine) mkdir(argv []string) (Output, error) {
	options, names := words(argv)
	if strings.Contains(options, "-m") && len(names) > 0 {
		names = names[1:] // the mode
	}
	for _, name := range names {
		if name == "--" {
			continue
		}
		if m.Exists(name) && !strings.Contains(options, "p") {
			return Output{Stderr: "mkdir: cannot create directory '" + name + "': File exists\n", Exit: 1}, nil
		}
		m.Folder(name)
	}
	return Output{}, nil
}

func (m *Machine) rmdir(argv []string) (Output, error) {
	_, names := words(argv)
	for _, name := range names {
		if len(m.Names(name)) > 0 {
			return Output{Stderr: "rmdir: failed to remove '" + name + "': Directory not empty\n", Exit: 1}, nil
		}
		m.Remove(name)
	}
	return Output{}, nil
}

func (m *Machine) cat(argv []string) (Output, error) {
	_, names := words(argv)
	var out Output
	for _, name := range names {
		text, err := m.tree.text(name)
		if err != nil {
			out.Stderr, out.Exit = out.Stderr+"cat: "+name+": "+plain(err)+"\n", 1
		}
		out.Stdout += string(text)
	}
	return out, nil
}

func (m *Machine) realpath(argv []string) (Output, error) {
	options, names := words(argv)
	if argv[0] == "readlink" && !strings.Contains(options, "f") {
		return m.readlink(names), nil
	}
	var out Output
	for _, name := range names {
		m.tree.mu.Lock()
		_, full, err := m.tree.find(name, true)
		m.tree.mu.Unlock()
		if err != nil {
			out.Stderr, out.Exit = out.Stderr+argv[0]+": "+name+": "+plain(err)+"\n", 1
			continue
		}
		out.Stdout += full + "\n"
	}
	return out, nil
}

func (m *Machine) readlink(names []string) Output {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	var out Output
	for _, name := range names {
		n, _, err := m.tree.find(name, false)
		if err != nil || n.mode&fs.ModeSymlink == 0 {
			out.Exit = 1
			continue
		}
		out.Stdout += n.link + "\n"
	}
	return out
}
