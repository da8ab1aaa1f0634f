package app

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

func writesHello(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }

func TestOutputReplacesWhatHasItsName(t *testing.T) {
	dir := t.TempDir()
	p := New(Environment{Stderr: io.Discard})
	kept := filepath.Join(dir, "kept")
	for _, name := range []string{kept, filepath.Join(dir, "old")} {
		if err := os.WriteFile(name, []byte("before"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": kept, "broken": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"new", "old", "link", "broken"} {
		name = filepath.Join(dir, name)
		if err := p.WriteOutput(t.Context(), name, writesHello); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || info.Size() != 5 {
			t.Errorf("%s is %v, %v", name, info, err)
		}
	}
	if err := p.WriteOutput(t.Context(), filepath.Join(dir, "failed"), func(io.Writer) error {
		return io.ErrUnexpectedEOF
	}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want the error of what writes", err)
	}
	if data, err := os.ReadFile(kept); err != nil || string(data) != "before" {
		t.Errorf("what the link led to holds %q, %v", data, err)
	}
	if err := p.WriteOutput(t.Context(), dir, writesHello); err == nil {
		t.Error("wrote over a folder")
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 5 {
		t.Errorf("there are %v, %v", files, err)
	}
}

// What is no file is written to as it is: nothing takes the place of /dev/stdout.
func TestOutputToStreams(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		data, _ := os.ReadFile(pipe)
		read <- string(data)
	}()
	p := New(Environment{Stderr: io.Discard})
	if err := p.WriteOutput(t.Context(), pipe, writesHello); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "hello" {
		t.Errorf("the pipe's reader got %q", got)
	}
	before, err := os.Lstat("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WriteOutput(t.Context(), "/dev/null", writesHello); err != nil {
		t.Error(err)
	}
	if now, err := os.Lstat("/dev/null"); err != nil || !os.SameFile(before, now) {
		t.Errorf("another file is at /dev/null: %v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := errors.Join(p.WriteOutput(t.Context(), descriptorName(w), writesHello), w.Close()); err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(r); err != nil || string(data) != "hello" {
		t.Errorf("the descriptor's reader got %q, %v", data, err)
	}
	if !OwnOutput("/dev/stdout") || !OwnOutput("-") || OwnOutput("stdout") {
		t.Error("standard output is not known by its names")
	}
}

func descriptorName(f *os.File) string { return "/dev/fd/" + strconv.Itoa(int(f.Fd())) }
