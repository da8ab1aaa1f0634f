//go:build system

package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/sshtest"
)

// What root measures in may belong to somebody else, who can rename what is there and put links in its place. nobody is
// the other user here.

const writingSuite = `version: 1
name: writes
title: short writes
place: directory
repetitions: 4
size: 16m
defaults: {ioengine: psync, bs: 64k, io_size: 4m}
jobs:
  - {name: write, fio: {rw: randwrite}}
`

const usersSuite = `version: 1
name: user
title: a command of another user
place: directory
repetitions: 1
jobs:
  - {name: touch, exec: [touch, made], user: nobody}
`

// otherUserFixture is a directory of nobody's, beside things of root's that everybody can reach and nobody else can
// read or write.
type otherUserFixture struct {
	t                    *testing.T
	base, place, secret  string
	store, writes, users string
	env                  []string
}

func newOtherUserFixture(t *testing.T) otherUserFixture {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("what root does for others is tested as root")
	}
	base := t.TempDir()
	h := otherUserFixture{t: t, base: base, place: filepath.Join(base, "theirs"), secret: filepath.Join(base, "secret"),
		store:  filepath.Join(base, "store"),
		writes: filepath.Join(base, "writes.yaml"), users: filepath.Join(base, "users.yaml")}
	for _, dir := range []string{base, filepath.Dir(base)} {
		h.must(os.Chmod(dir, 0o755))
	}
	h.must(os.Mkdir(h.place, 0o755))
	h.must(os.Chown(h.place, other, other))
	h.must(os.WriteFile(h.secret, bytes.Repeat([]byte("secret\n"), 20<<20/7), 0o600))
	h.must(os.WriteFile(h.writes, []byte(writingSuite), 0o644))
	h.must(os.WriteFile(h.users, []byte(usersSuite), 0o644))
	return h
}

// other is the number of the user nobody and of the group nogroup.
const other = 65534

func (h otherUserFixture) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h otherUserFixture) command(args ...string) *exec.Cmd {
	cmd := exec.Command("headroom", append(args, "--store", h.store)...)
	cmd.Env = append(os.Environ(), h.env...)
	return cmd
}

// as has nobody run a script until the function that is returned is called; it says what the script printed.
func (h otherUserFixture) as(script string, args ...string) func() string {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: other, Gid: other}}
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &printed, &printed, "/"
	h.must(cmd.Start())
	return func() string {
		cancel()
		_ = cmd.Wait() // it was killed, or has done its work
		return printed.String()
	}
}

// swap puts a link in the place of a scratch file that was laid out.
const swap = `cd "$1" || exit
while :; do
	for f in headroom-*.scratch; do
		[ -L "$f" ] || [ ! -f "$f" ] || [ "$(stat -c %b "$f")" -lt 32768 ] || { mv "$f" moved && ln -s "$2" "$f" && echo swapped && exit; }
	done
	sleep 0.02
done`

func (h otherUserFixture) sum(name string) [sha256.Size]byte {
	h.t.Helper()
	data, err := os.ReadFile(name)
	h.must(err)
	return sha256.Sum256(data)
}

// In a directory of another user's, a link that takes the place of the scratch file is not followed: not to a file, not
// to a device.
func TestScratchFileSwappedByItsOwner(t *testing.T) {
	t.Parallel()
	h := newOtherUserFixture(t)
	device := attachLoopOf(t, 64<<20, "ext4")
	h.env = []string{config.Variable(config.SSHConfig) + "=" + sshtest.Start(t).Config}
	for _, c := range []struct {
		name, to, on, says string
	}{
		{"a file", h.secret, app.LocalTarget, "another user or program has replaced"},
		{"a device", device, app.LocalTarget, "another user or program has replaced"},
		{"a file, over ssh", h.secret, "ssh://under-test", "nothing is written to " + h.place + " as root"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.t = t
			before := h.sum(c.to)
			stop := h.as(swap, h.place, c.to)
			// It ends when the file is swapped, for which its owner may take a while.
			out, err := h.command("run", h.writes, h.place, "--on", c.on, "--repeat", "500").CombinedOutput()
			swapped := stop()
			if h.sum(c.to) != before {
				t.Errorf("%s was overwritten:\n%s", c.to, out)
			}
			if err == nil || !strings.Contains(string(out), c.says) ||
				!strings.Contains(string(out), "install -d -m 755 DIR") {
				t.Errorf("%v, want an error with the reason and the way out: %s", err, out)
			}
			if (swapped == "swapped\n") != (c.on == app.LocalTarget) {
				t.Errorf("the owner said %q", swapped)
			}
			if info, err := os.Stat(filepath.Join(h.place, "moved")); c.on == app.LocalTarget &&
				(err != nil || info.Size() != 0) {
				t.Errorf("the file that was moved away still takes space: %v", err)
			}
			h.must(exec.Command("find", h.place, "-mindepth", "1", "-delete").Run())
			if out, err := h.command("restore").CombinedOutput(); err != nil {
				t.Errorf("restore: %v\n%s", err, out)
			}
		})
	}
}

// Where its owner leaves it alone a directory of another user's can be measured by root: the record has the name of the
// file, and says how fio got it.
func TestRootMeasuresInDirectoryOfAnother(t *testing.T) {
	t.Parallel()
	h := newOtherUserFixture(t)
	if out, err := h.command("run", h.writes, h.place).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if files, err := os.ReadDir(h.place); err != nil || len(files) != 0 {
		t.Errorf("left in the directory: %v, %v", files, err)
	}
	b, err := store.Open(h.store).Find("last")
	h.must(err)
	if b.Run.Status != lab.Complete {
		t.Errorf("it is %s", b.Run.Status)
	}
	n := 0
	for r, err := range b.Repetitions() {
		h.must(err)
		if n++; n == 1 && !strings.Contains(strings.Join(r.Did, "\n"), " open, and hand it to fio as /proc/") {
			t.Errorf("it does not say how fio got the file: %q", r.Did)
		}
		if line := strings.Join(r.Command, " "); !strings.Contains(line,
			"--filename="+h.place+"/headroom-"+b.Run.ID+".scratch ") {
			t.Errorf("not the name of the file: %s", line)
		}
	}
	if n != 4 {
		t.Errorf("%d repetitions, want 4", n)
	}
}

// In a directory like /tmp a name can be taken: that of a run that was interrupted is known.
func TestNameOfScratchFileTaken(t *testing.T) {
	t.Parallel()
	h := newOtherUserFixture(t)
	shared := filepath.Join(h.base, "shared")
	h.must(os.Mkdir(shared, 0o755))
	h.must(os.Chmod(shared, os.ModeSticky|0o777))
	server, here := sshtest.Start(t), t.TempDir()
	h.env = []string{config.Variable(config.SSHConfig) + "=" + server.Config, "PATH=" + here + ":" + os.Getenv("PATH")}
	before := h.sum(h.secret)
	for on, programs := range map[string]string{app.LocalTarget: here, "ssh://under-test": server.Programs} {
		loads := holdCalls(t, programs, "fio", loadsOfFio, 1)
		cmd := h.command("run", h.writes, shared, "--on", on, "--repeat", "2")
		var printed bytes.Buffer
		cmd.Stderr = &printed
		h.must(cmd.Start())
		await(t, "a scratch file is made", func() bool {
			files, _ := filepath.Glob(filepath.Join(shared, "headroom-*.scratch"))
			return len(files) == 1
		})
		h.must(cmd.Process.Signal(os.Interrupt))
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
			t.Fatalf("%v, want exit code 130\n%s", err, printed.String())
		}
		loads.release()
		b, err := store.Open(h.store).Find("last")
		h.must(err)
		name := filepath.Join(shared, "headroom-"+b.Run.ID+".scratch")
		h.as(`ln -s "$1" "$2"; exec sleep 60`, h.secret, name)
		await(t, "the name is taken", func() bool {
			_, err := os.Lstat(name)
			return err == nil
		})
		out, err := h.command("run", "--resume", b.Run.ID).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "can't make the scratch file "+name) {
			t.Errorf("%s: %v, want that the name is taken: %s", on, err, out)
		}
		if h.sum(h.secret) != before {
			t.Fatalf("%s: a link was followed: %s", on, out)
		}
		if err := os.Remove(name); err != nil && on == app.LocalTarget {
			t.Error(err)
		}
		if out, err := h.command("run", "--resume", b.Run.ID).CombinedOutput(); err != nil {
			t.Errorf("%s: %v, when the name is free: %s", on, err, out)
		}
	}
}

// Commands go by names, so that root runs none where others can change what a name stands for.
func TestCommandsInDirectoryOfAnother(t *testing.T) {
	t.Parallel()
	h := newOtherUserFixture(t)
	h.env = []string{config.Variable(config.SSHConfig) + "=" + sshtest.Start(t).Config}
	own := filepath.Join(h.base, "own")
	h.must(os.Mkdir(own, 0o755))
	for _, on := range []string{app.LocalTarget, "ssh://under-test"} {
		out, err := h.command("run", h.users, h.place, "--on", on).CombinedOutput()
		if err == nil || !strings.Contains(string(out), h.place+" belongs to user 65534") ||
			!strings.Contains(string(out), "install -d -m 755 DIR") {
			t.Errorf("%s: %v, want the reason and the way out: %s", on, err, out)
		}
		if files, err := os.ReadDir(h.place); err != nil || len(files) != 0 {
			t.Errorf("%s: left in the directory: %v, %v", on, files, err)
		}
		if out, err := h.command("run", h.users, own, "--on", on).CombinedOutput(); err != nil {
			t.Errorf("%s: in a directory of root's: %v\n%s", on, err, out)
		}
	}
}

// A folder on the way to an output may be a link of somebody else's, and so lead anywhere.
func TestOutputThroughLinkOfAnother(t *testing.T) {
	t.Parallel()
	h := newOtherUserFixture(t)
	if out, err := h.command("run", h.writes, h.base).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	private := filepath.Join(h.base, "private")
	h.must(os.Mkdir(private, 0o700))
	h.must(os.WriteFile(filepath.Join(private, "output"), []byte("kept"), 0o600))
	for link, to := range map[string]string{"folder": private, "output": h.secret} {
		link = filepath.Join(h.place, link)
		h.must(os.Symlink(to, link))
		h.must(os.Lchown(link, other, other))
	}
	before := h.sum(h.secret)
	for _, args := range [][]string{{"report", "last"}, {"export", "last", "--format", "run"}} {
		out, err := h.command(append(args, "-o", filepath.Join(h.place, "folder", "output"))...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "folder is a link of user 65534") {
			t.Errorf("%s: %v, want the reason: %s", args[0], err, out)
		}
		if out, err := h.command(append(args, "-o", filepath.Join(h.place, "output"))...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", args[0], err, out)
		}
	}
	if data, err := os.ReadFile(filepath.Join(private, "output")); err != nil || string(data) != "kept" {
		t.Errorf("the file behind the link holds %.40q, %v", data, err)
	}
	if h.sum(h.secret) != before {
		t.Error("what the link at its name led to was overwritten")
	}
}
