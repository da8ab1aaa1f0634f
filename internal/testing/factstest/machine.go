package factstest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Machine is a saved machine: a text archive in testdata that is read as a target. Its files are the archive's files;
// six sections describe what an archive can't contain:
//
//	files    small files, "path = content" a line
//	bytes    files that are no text, "path = hexadecimal digits" a line
//	links    symbolic links, "path -> where" a line
//	folders  empty folders
//	nodes    device nodes, "b 259:0 /dev/nvme0n1" a line (b block, c character)
//	closed   files that may not be opened by this user
//
// A word in front of a file's name is the encoding of its text: "arguments proc/7/cmdline" has an argument a line,
// "hex" is hexadecimal, "gzip" is compressed.
//
// A file named "$ command" is the output of that command, or "exit status N: " and its output on failure; every other
// command is not installed. The archive's comment describes the machine and names the place to measure and a folder for
// a store.
type Machine struct {
	Title        string
	Place, store string
	Files        fstest.MapFS
	Closed       map[string]bool
	Printed      map[string]string
}

var _ host.Target = (*Machine)(nil)

// Machines reads every saved machine.
func Machines(t testing.TB) []*Machine {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder(t), "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no saved machines: %v", err)
	}
	all := make([]*Machine, len(paths))
	for i, p := range paths {
		all[i] = readMachine(t, p)
	}
	return all
}

// Saved reads one saved machine by name.
func Saved(t testing.TB, name string) *Machine {
	t.Helper()
	return readMachine(t, filepath.Join(folder(t), name+".txtar"))
}

// folder returns the folder of the machines, for tests of package facts and of packages below it.
func folder(t testing.TB) string {
	t.Helper()
	for _, dir := range []string{"testdata", "../testdata"} {
		if found, _ := filepath.Glob(filepath.Join(dir, "*.txtar")); len(found) > 0 {
			return dir
		}
	}
	t.Fatal("the saved machines in facts/testdata are neither here nor in the folder above")
	return ""
}

func readMachine(t testing.TB, file string) *Machine {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(data)
	m := &Machine{Title: strings.TrimSuffix(filepath.Base(file), ".txtar"), Files: fstest.MapFS{},
		Closed:  map[string]bool{},
		Printed: map[string]string{}}
	for line := range strings.Lines(string(archive.Comment)) {
		if v, ok := strings.CutPrefix(line, "place: "); ok {
			m.Place = strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(line, "store: "); ok {
			m.store = strings.TrimSpace(v)
		}
	}
	if m.Place == "" || m.store == "" {
		t.Fatalf("%s names no place or no store", file)
	}
	for _, f := range archive.Files {
		if command, ok := strings.CutPrefix(f.Name, "$ "); ok {
			m.Printed[command] = string(f.Data)
			continue
		}
		if !m.section(t, f) {
			name, data := encoded(t, f)
			m.Files[name] = &fstest.MapFile{Data: data, Mode: 0o444}
		}
	}
	return m
}

// encoded returns the content of a file that a text archive can't contain unchanged.
func encoded(t testing.TB, f txtar.File) (name string, data []byte) {
	t.Helper()
	how, name, ok := strings.Cut(f.Name, " ")
	if !ok {
		return f.Name, f.Data
	}
	switch how {
	case "arguments":
		return name, bytes.ReplaceAll(f.Data, []byte("\n"), []byte{0})
	case "hex":
		data, err := hex.DecodeString(strings.Join(strings.Fields(string(f.Data)), ""))
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		return name, data
	case "gzip":
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(f.Data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return name, b.Bytes()
	}
	t.Fatalf("%s: not a way to write a file", f.Name)
	return "", nil
}

// section reads one of the sections that are not files.
func (m *Machine) section(t testing.TB, f txtar.File) bool {
	t.Helper()
	put := func(name string, file *fstest.MapFile) { m.Files[collect.PathInFS(name)] = file }
	for line := range bytes.Lines(f.Data) {
		text := strings.TrimRight(string(line), "\n")
		switch f.Name {
		case "files":
			name, content, ok := strings.Cut(text, " = ")
			if !ok {
				t.Fatalf("%s: not a file: %q", m.Title, text)
			}
			put(name, &fstest.MapFile{Data: []byte(content + "\n"), Mode: 0o444})
		case "bytes":
			name, digits, _ := strings.Cut(text, " = ")
			data, err := hex.DecodeString(digits)
			if err != nil || len(data) == 0 {
				t.Fatalf("%s: not a file of bytes: %q: %v", m.Title, text, err)
			}
			put(name, &fstest.MapFile{Data: data, Mode: 0o444})
		case "links":
			name, to, ok := strings.Cut(text, " -> ")
			if !ok {
				t.Fatalf("%s: not a link: %q", m.Title, text)
			}
			put(name, &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777})
		case "folders":
			put(text, &fstest.MapFile{Mode: fs.ModeDir | 0o755})
		case "nodes":
			var kind, name string
			var major, minor uint32
			if _, err := fmt.Sscanf(text, "%1s %d:%d %s", &kind, &major, &minor, &name); err != nil {
				t.Fatalf("%s: not a node: %q: %v", m.Title, text, err)
			}
			mode := fs.ModeDevice | 0o660
			if kind == "c" {
				mode |= fs.ModeCharDevice
			}
			put(name, &fstest.MapFile{Mode: mode, Sys: &syscall.Stat_t{Rdev: unix.Mkdev(major, minor)}})
		case "closed":
			m.Closed[collect.PathInFS(text)] = true
			put(text, &fstest.MapFile{Mode: 0})
		default:
			return false
		}
	}
	return f.Name == "files" || f.Name == "bytes" || f.Name == "links" || f.Name == "folders" || f.Name == "nodes" ||
		f.Name == "closed"
}

func (m *Machine) Name() string { return "local" }

func (m *Machine) FS() fs.FS { return Guarded{m.Files, m.Closed} }

func (m *Machine) Run(_ context.Context, argv ...string) (host.Output, error) {
	text, ok := m.Printed[lab.ShellQuote(argv)]
	if !ok {
		return host.Output{}, &lab.Error{What: "can't run " + argv[0], Command: argv,
			Err: errors.New("executable file not found in $PATH")}
	}
	if status, rest, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(status, "exit status ") {
		code, err := strconv.Atoi(strings.TrimPrefix(status, "exit status "))
		return host.Output{Stderr: []byte(rest), ExitCode: code}, err
	}
	return host.Output{Stdout: []byte(text)}, nil
}

func (m *Machine) ReadFiles(_ context.Context, paths ...string) (map[string]host.File, error) {
	files := map[string]host.File{}
	for _, p := range paths {
		data, err := fs.ReadFile(m.FS(), collect.PathInFS(p))
		files[p] = host.File{Data: data, Err: err}
	}
	return files, nil
}

func (m *Machine) Start(context.Context, host.JobSpec) (host.Job, error) {
	return nil, errors.New("a saved machine runs no jobs")
}

// Guarded is a file system with files that may not be opened. MapFS has modes but ignores them.
type Guarded struct {
	fstest.MapFS
	Closed map[string]bool
}

func (g Guarded) Open(name string) (fs.File, error) {
	real, err := collect.Reader{FS: g.MapFS}.Resolve("/" + name)
	if err == nil && g.Closed[collect.PathInFS(real)] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return g.MapFS.Open(name)
}

func (g Guarded) ReadFile(name string) ([]byte, error) {
	f, err := g.Open(name)
	if err != nil {
		return nil, err
	}
	f.Close()
	return g.MapFS.ReadFile(name)
}

func (g Guarded) Lstat(name string) (fs.FileInfo, error) {
	for dir := range g.Closed {
		if strings.HasPrefix(name, dir+"/") {
			return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrPermission}
		}
	}
	return g.MapFS.Lstat(name)
}
