// Package targettest contains the tests that every kind of target must pass.
package targettest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// patience is how long to wait for an expected event. It is not a measure of speed, so it is long enough for an
// emulated guest.
const patience = 2 * time.Minute

// Run runs all tests on a target. open opens the target for each test, and arranges that it is closed. Every target
// must have Leftovers.
func Run(t *testing.T, open func(t *testing.T) host.Target) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, host.Target)
	}{
		{"arguments", arguments},
		{"a long argument vector", longArguments},
		{"exit codes", exitCodes},
		{"signals", signals},
		{"what can't be run", programMissing},
		{"large output", largeOutput},
		{"output without an end of line", bareOutput},
		{"surroundings of a command", environment},
		{"a cancelled command ends", cancelled},
		{"files", files},
		{"files of the kernel", kernelFiles},
		{"file system", fileSystem},
		{"a job in its folder", jobInFolder},
		{"a file of a job that is too long", longFile},
		{"a job's input and environment", jobInput},
		{"exit codes of jobs", jobExits},
		{"a job that can't be started", jobNotStarted},
		{"a job is followed", jobFollowed},
		{"kill ends all that a job started", killAll},
		{"a killed job has time to end", killGrace},
		{"two jobs at a time", twoJobs},
		{"leftovers", leftovers},
		{"files are received", received},
		{"clock", clock},
	} {
		t.Run(test.name, func(t *testing.T) {
			tg := open(t)
			test.run(t, tg)
			if left := jobs(t, tg, ownJobs()); len(left) > 0 {
				t.Errorf("jobs are left: %q", left)
			}
		})
	}
}

// jobs returns the IDs of all jobs that have a folder there.
func jobs(t *testing.T, tg host.Target, prefix string) []string {
	t.Helper()
	l, ok := tg.(host.Leftovers)
	if !ok {
		t.Fatalf("%T has no Leftovers", tg)
	}
	ids, err := l.JobsBelow(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	return ids
}

// run runs a command that must succeed.
func run(t *testing.T, tg host.Target, argv ...string) string {
	t.Helper()
	out, err := tg.Run(t.Context(), argv...)
	if err != nil || out.ExitCode != 0 {
		t.Fatalf("%q: exit status %d, %s, %v", argv, out.ExitCode, out.Stderr, err)
	}
	return string(out.Stdout)
}

// folder makes a folder there that is removed after the test.
func folder(t *testing.T, tg host.Target) string {
	t.Helper()
	dir := strings.TrimSuffix(run(t, tg, "mktemp", "-d", "/tmp/headroom-test.XXXXXX"), "\n")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own context has ended by now
		defer cancel()
		if out, err := tg.Run(ctx, "rm", "-rf", dir); err != nil || out.ExitCode != 0 {
			t.Errorf("%s is left: %s %v", dir, out.Stderr, err)
		}
	})
	return dir
}

// specialArguments returns strings that a shell, or faulty quoting, would misinterpret.
func specialArguments() []string {
	every := make([]byte, 0, 255)
	for b := 1; b < 256; b++ {
		every = append(every, byte(b))
	}
	return []string{
		"two words", "  spaces  ", `"double"`, "it's", "'", `''`, `\`, `\\`, `back\slash`, "line\nbreak", "\n",
		"ends\n", "ends\n\n", "", "tab\there",
		"$HOME", "$(id)", "`id`", "${x}", "*", "?", "[a-z]", "~", "~root", "{a,b}", "!", "!!", "!$", "#", "a#b", "&",
		"|", ";", "<", ">", "(", ")", "=", "A=b",
		"%", "%s", "%%", `%\n`, `\n`, `\0`, `\101`, "-n", "-e", "--", "^", "^a^b", "\r", "\x01", "\x7f", "\x1b[0m", "ü",
		"日本", "\xff\xfe", "\x81\x88", string(every),
	}
}

func arguments(t *testing.T, tg host.Target) {
	args := specialArguments()
	got := run(t, tg, append([]string{"printf", `%s\0`}, args...)...)
	if list := strings.Split(strings.TrimSuffix(got, "\x00"), "\x00"); !slices.Equal(list, args) {
		for i := range min(len(list), len(args)) {
			if list[i] != args[i] {
				t.Errorf("%q became %q", args[i], list[i])
			}
		}
		t.Fatalf("%d arguments became %d", len(args), len(list))
	}
}

func longArguments(t *testing.T, tg host.Target) {
	args := []string{"printf", "%s|"}
	var want strings.Builder
	for i := range 5000 {
		args = append(args, fmt.Sprintf("argument %d\n", i))
		fmt.Fprintf(&want, "argument %d\n|", i)
	}
	args = append(args, strings.Repeat("x", 100_000)) // the kernel accepts 128 KiB in one argument
	want.WriteString(strings.Repeat("x", 100_000) + "|")
	if got := run(t, tg, args...); got != want.String() {
		t.Errorf("%d bytes arrived, %d were sent", len(got), want.Len())
	}
}

func exitCodes(t *testing.T, tg host.Target) {
	for _, code := range []int{0, 1, 2, 42, 100, 125, 126, 127, 254, 255} {
		out, err := tg.Run(t.Context(), "sh", "-c", fmt.Sprintf("echo said; echo complained >&2; exit %d", code))
		if err != nil || out.ExitCode != code || string(out.Stdout) != "said\n" ||
			string(out.Stderr) != "complained\n" {
			t.Errorf("exit %d: %d, %q, %q, %v", code, out.ExitCode, out.Stdout, out.Stderr, err)
		}
		silent, err := tg.Run(t.Context(), "sh", "-c", fmt.Sprintf("exit %d", code))
		if err != nil || silent.ExitCode != code || len(silent.Stdout)+len(silent.Stderr) != 0 {
			t.Errorf("exit %d in silence: %+v, %v", code, silent, err)
		}
	}
}

func signals(t *testing.T, tg host.Target) {
	// not HUP and INT: the process that started the tests may ignore them
	for _, signal := range []string{"TERM", "KILL", "USR1", "SEGV"} {
		out, err := tg.Run(t.Context(), "sh", "-c", "echo said; kill -"+signal+" $$; sleep 100")
		if err != nil || out.ExitCode == 0 || string(out.Stdout) != "said\n" {
			t.Errorf("%s: %+v, %v", signal, out, err)
		}
	}
}

func programMissing(t *testing.T, tg host.Target) {
	dir := folder(t, tg)
	run(t, tg, "sh", "-c", `echo text >"$1"/text; chmod 644 "$1"/text`, "sh", dir)
	for _, argv := range [][]string{{"no-such-command-anywhere", "x"}, {"/no/such/command"}, {dir + "/text"}} {
		_, err := tg.Run(t.Context(), argv...)
		if e, ok := errors.AsType[*lab.Error](err); !ok || !slices.Equal(e.Command, argv) {
			t.Errorf("%q: %v", argv, err)
		}
	}
}

func largeOutput(t *testing.T, tg host.Target) {
	// All byte values, incompressible and without lines.
	const size = 32 << 20
	out, err := tg.Run(t.Context(), "sh", "-c",
		fmt.Sprintf(`f=$(mktemp) && head -c %d /dev/urandom >"$f" && sha256sum <"$f" >&2 && cat "$f"; rm -f "$f"`,
			size))
	sum := sha256.Sum256(out.Stdout)
	if printed, _, _ := strings.Cut(string(out.Stderr), " "); err != nil || len(out.Stdout) != size ||
		printed != hex.EncodeToString(sum[:]) {
		t.Errorf("%d bytes of sum %x; sent were %d of sum %s; %v", len(out.Stdout), sum, size, printed, err)
	}
}

func bareOutput(t *testing.T, tg host.Target) {
	for _, text := range []string{"", "\n", "\n\n", "a", "a\n", "\na", "\x00", "\xff\x00\n"} {
		out, err := tg.Run(t.Context(), "sh", "-c", `printf "$1"; printf "$1" >&2`, "sh", octal(text))
		if err != nil || string(out.Stdout) != text || string(out.Stderr) != text {
			t.Errorf("%q: %q, %q, %v", text, out.Stdout, out.Stderr, err)
		}
	}
}

// octal returns a printf(1) format that prints a text.
func octal(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, `\%03o`, text[i])
	}
	return b.String()
}

func environment(t *testing.T, tg host.Target) {
	got := run(t, tg, "sh", "-c", `echo "$LC_ALL"; wc -c; case $PATH in */usr/sbin*) echo sbin;; esac`)
	if strings.Join(strings.Fields(got), " ") != "C 0 sbin" {
		t.Errorf("locale, bytes of input, path: %q", got)
	}
}

// A cancelled command must not continue there.
func cancelled(t *testing.T, tg host.Target) {
	dir := folder(t, tg)
	ctx, cancel := contextWith(t)
	ended := make(chan error, 1)
	go func() {
		_, err := tg.Run(ctx, "sh", "-c", `echo $$ >"$1"/pid.new; mv "$1"/pid.new "$1"/pid; exec sleep 1000`, "sh", dir)
		ended <- err
	}()
	var pid string
	eventually(t, "the command begins", func() bool {
		f, err := tg.ReadFiles(t.Context(), dir+"/pid")
		pid = strings.TrimSpace(string(f[dir+"/pid"].Data))
		return err == nil && pid != ""
	})
	cancel()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it says nothing of its end")
		}
	case <-time.After(patience):
		t.Fatal("it does not return")
	}
	eventually(t, "the command ends", func() bool { return gone(t, tg, pid) })
	if _, err := tg.Run(ctx, "true"); err == nil {
		t.Error("a command with a cancelled context is carried out")
	}
}

// gone reports whether there is no such process, except for a zombie.
func gone(t *testing.T, tg host.Target, pid string) bool {
	t.Helper()
	name := "/proc/" + pid + "/stat"
	f, err := tg.ReadFiles(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(f[name].Data), ") ")
	return f[name].Err != nil || strings.HasPrefix(rest, "Z") || rest == ""
}
