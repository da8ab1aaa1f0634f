//go:build guests

package bootloader

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Words that a guest prints unasked on its second serial line.
const (
	guestReady = "ready"
	guestHangs = "hangs"
)

// guestAgent runs the commands that arrive over the line, one at a time: a number and a command in base64. It answers
// with the number, the exit status, and both outputs in base64. Until the line is raw, it can echo a part of the input
// of the previous boot.
const guestAgent = `stty -F /dev/ttyS1 raw -echo
exec 3<>/dev/ttyS1
echo >&3
echo ` + guestReady + ` >&3
while read -r id code <&3; do
	echo "$code" | base64 -d >/tmp/command
	sh /tmp/command >/tmp/out 2>/tmp/err </dev/null 3<&-
	echo "$id $? $(base64 -w0 /tmp/out)-$(base64 -w0 /tmp/err)-" >&3
done
`

// serial is a target at the other end of a guest's serial line. A guest that reboots drops its running command, like a
// host whose connection breaks.
type serial struct {
	line  net.Conn
	said  chan string
	hangs chan struct{}

	mu   sync.Mutex
	next int
}

func newSerial(t *testing.T, line net.Conn) *serial {
	s := &serial{line: line, said: make(chan string, 1000), hangs: make(chan struct{}, 10)}
	go func() {
		defer close(s.said)
		r := bufio.NewReader(line)
		for {
			text, err := r.ReadString('\n')
			if err != nil {
				return
			}
			text = strings.TrimSpace(text)
			if text == guestHangs {
				s.hangs <- struct{}{}
			}
			s.said <- text
		}
	}()
	t.Cleanup(func() { _ = line.Close() })
	return s
}

func (s *serial) Name() string { return "guest" }

func (s *serial) Run(ctx context.Context, argv ...string) (host.Output, error) {
	return s.shell(ctx, lab.ShellQuote(argv))
}

// shell sends a line to the guest's shell, which prefers its builtin commands unless a function overrides them.
func (s *serial) shell(ctx context.Context, line string) (host.Output, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for drained := false; !drained; {
		select {
		case <-s.said:
		default:
			drained = true
		}
	}
	s.next++
	if _, err := fmt.Fprintf(s.line, "%d %s\n", s.next,
		base64.StdEncoding.EncodeToString(
			[]byte("dd() { /bin/dd \"$@\"; }; reboot() { /sbin/reboot; }\n"+line+"\n"))); err != nil {
		return host.Output{}, err
	}
	for {
		select {
		case <-ctx.Done():
			return host.Output{}, ctx.Err()
		case text, ok := <-s.said:
			if !ok {
				return host.Output{}, io.ErrUnexpectedEOF
			}
			if text == guestReady || text == guestHangs {
				return host.Output{}, errors.New("the guest has restarted")
			}
			var id, code int
			var both string
			if n, _ := fmt.Sscan(text, &id, &code, &both); n != 3 || id != s.next {
				continue
			}
			parts := strings.Split(both, "-")
			stdout, err := base64.StdEncoding.DecodeString(parts[0])
			stderr, err2 := base64.StdEncoding.DecodeString(parts[1])
			return host.Output{Stdout: stdout, Stderr: stderr, ExitCode: code}, errors.Join(err, err2)
		}
	}
}

func (s *serial) ReadFiles(ctx context.Context, paths ...string) (map[string]host.File, error) {
	files := map[string]host.File{}
	for _, p := range paths {
		out, err := s.Run(ctx, "cat", p)
		if err != nil {
			return nil, err
		}
		files[p] = host.File{Data: out.Stdout}
		if out.ExitCode != 0 {
			files[p] = host.File{Err: missing(p)}
		}
	}
	return files, nil
}

func missing(p string) error { return &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist} }

func (s *serial) FS() fs.FS { return serialFS{s} }

// serialFS is the part of a guest's file system that finding a boot loader needs.
type serialFS struct{ *serial }

func (f serialFS) run(argv ...string) (host.Output, error) {
	ctx, cancel := context.WithTimeout(context.Background(), guestTimeout)
	defer cancel()
	return f.Run(ctx, argv...)
}

func (f serialFS) Open(name string) (fs.File, error) { return nil, missing(name) }

func (f serialFS) ReadFile(name string) ([]byte, error) {
	out, err := f.run("cat", "/"+name)
	if err == nil && out.ExitCode != 0 {
		err = missing(name)
	}
	return out.Stdout, err
}

func (f serialFS) Stat(name string) (fs.FileInfo, error) {
	out, err := f.run("stat", "-c", "%s", "/"+name)
	if err == nil && out.ExitCode != 0 {
		err = missing(name)
	}
	size, _ := strconv.ParseInt(strings.TrimSpace(string(out.Stdout)), 10, 64)
	return serialInfo{path.Base(name), size}, err
}

func (f serialFS) ReadDir(name string) ([]fs.DirEntry, error) {
	out, err := f.run("ls", "-1A", "/"+name)
	if err == nil && out.ExitCode != 0 {
		err = missing(name)
	}
	var entries []fs.DirEntry
	for n := range strings.FieldsSeq(string(out.Stdout)) {
		entries = append(entries, fs.FileInfoToDirEntry(serialInfo{n, 0}))
	}
	return entries, err
}

type serialInfo struct {
	name string
	size int64
}

func (i serialInfo) Name() string       { return i.name }
func (i serialInfo) Size() int64        { return i.size }
func (i serialInfo) Mode() fs.FileMode  { return 0o644 }
func (i serialInfo) ModTime() time.Time { return time.Time{} }
func (i serialInfo) IsDir() bool        { return false }
func (i serialInfo) Sys() any           { return nil }

// Start runs a job at once and waits for it: the jobs of a boot are short.
func (s *serial) Start(ctx context.Context, spec host.JobSpec) (host.Job, error) {
	out, err := s.shell(ctx,
		"echo "+base64.StdEncoding.EncodeToString(spec.Stdin)+" | base64 -d | "+lab.ShellQuote(spec.Argv))
	j := &serialJob{done: make(chan struct{}), out: out}
	close(j.done)
	return j, err
}

type serialJob struct {
	done chan struct{}
	out  host.Output
}

func (j *serialJob) ID() string            { return onceID }
func (j *serialJob) Dir() string           { return "/" }
func (j *serialJob) Done() <-chan struct{} { return j.done }
func (j *serialJob) Poll(context.Context) (host.JobState, error) {
	return host.JobState{Done: true, ExitCode: j.out.ExitCode}, nil
}
func (j *serialJob) Size(context.Context, ...string) (int64, error)      { return 0, nil }
func (j *serialJob) Fetch(context.Context, string) ([]byte, error)       { return j.out.Stderr, nil }
func (j *serialJob) Tail(context.Context, string, int64) ([]byte, error) { return j.out.Stderr, nil }
func (j *serialJob) Kill(context.Context, time.Duration) error           { return nil }
func (j *serialJob) Remove(context.Context) error                        { return nil }
