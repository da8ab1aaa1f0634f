// Package targettest is what every target must pass, whatever lies between it and headroom.
package targettest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"headroom/internal/lab"
	"headroom/internal/safepath"
	"headroom/internal/target"
)

// patience is how long something may take that is to come: no measure of speed, so it is long enough for an emulated
// guest.
const patience = 2 * time.Minute

// Run has a target pass all of it. open returns the target again for each test; it must see to closing it. Every target
// must have Leftovers.
func Run(t *testing.T, open func(t *testing.T) target.Target) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, target.Target)
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

// jobs are the IDs of all jobs that have a folder there.
func jobs(t *testing.T, tg target.Target, prefix string) []string {
	t.Helper()
	l, ok := tg.(target.Leftovers)
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

// run carries out a command that must succeed.
func run(t *testing.T, tg target.Target, argv ...string) string {
	t.Helper()
	out, err := tg.Run(t.Context(), argv...)
	if err != nil || out.ExitCode != 0 {
		t.Fatalf("%q: exit status %d, %s, %v", argv, out.ExitCode, out.Stderr, err)
	}
	return string(out.Stdout)
}

// folder makes a folder there that is gone after the test.
func folder(t *testing.T, tg target.Target) string {
	t.Helper()
	dir := strings.TrimSuffix(run(t, tg, "mktemp", "-d", "/tmp/headroom-test.XXXXXX"), "\n")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own is over by now
		defer cancel()
		if out, err := tg.Run(ctx, "rm", "-rf", dir); err != nil || out.ExitCode != 0 {
			t.Errorf("%s is left: %s %v", dir, out.Stderr, err)
		}
	})
	return dir
}

// specialArguments are strings that a shell, or a bad imitation of quoting, takes for something else.
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

func arguments(t *testing.T, tg target.Target) {
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

func longArguments(t *testing.T, tg target.Target) {
	args := []string{"printf", "%s|"}
	var want strings.Builder
	for i := range 5000 {
		args = append(args, fmt.Sprintf("argument %d\n", i))
		fmt.Fprintf(&want, "argument %d\n|", i)
	}
	args = append(args, strings.Repeat("x", 100_000)) // the kernel takes 128 KiB in one
	want.WriteString(strings.Repeat("x", 100_000) + "|")
	if got := run(t, tg, args...); got != want.String() {
		t.Errorf("%d bytes arrived, %d were sent", len(got), want.Len())
	}
}

func exitCodes(t *testing.T, tg target.Target) {
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

func signals(t *testing.T, tg target.Target) {
	// not HUP and INT: who started the tests may ignore them
	for _, signal := range []string{"TERM", "KILL", "USR1", "SEGV"} {
		out, err := tg.Run(t.Context(), "sh", "-c", "echo said; kill -"+signal+" $$; sleep 100")
		if err != nil || out.ExitCode == 0 || string(out.Stdout) != "said\n" {
			t.Errorf("%s: %+v, %v", signal, out, err)
		}
	}
}

func programMissing(t *testing.T, tg target.Target) {
	dir := folder(t, tg)
	run(t, tg, "sh", "-c", `echo text >"$1"/text; chmod 644 "$1"/text`, "sh", dir)
	for _, argv := range [][]string{{"no-such-command-anywhere", "x"}, {"/no/such/command"}, {dir + "/text"}} {
		_, err := tg.Run(t.Context(), argv...)
		if e, ok := errors.AsType[*lab.Error](err); !ok || !slices.Equal(e.Command, argv) {
			t.Errorf("%q: %v", argv, err)
		}
	}
}

func largeOutput(t *testing.T, tg target.Target) {
	// Of every kind of byte, and nothing that could be compressed or taken for a line.
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

func bareOutput(t *testing.T, tg target.Target) {
	for _, text := range []string{"", "\n", "\n\n", "a", "a\n", "\na", "\x00", "\xff\x00\n"} {
		out, err := tg.Run(t.Context(), "sh", "-c", `printf "$1"; printf "$1" >&2`, "sh", octal(text))
		if err != nil || string(out.Stdout) != text || string(out.Stderr) != text {
			t.Errorf("%q: %q, %q, %v", text, out.Stdout, out.Stderr, err)
		}
	}
}

// octal is a format for printf(1) that prints a text.
func octal(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, `\%03o`, text[i])
	}
	return b.String()
}

func environment(t *testing.T, tg target.Target) {
	got := run(t, tg, "sh", "-c", `echo "$LC_ALL"; wc -c; case $PATH in */usr/sbin*) echo sbin;; esac`)
	if strings.Join(strings.Fields(got), " ") != "C 0 sbin" {
		t.Errorf("locale, bytes of input, path: %q", got)
	}
}

// A command that is given up must not go on there.
func cancelled(t *testing.T, tg target.Target) {
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

// gone says that there is no such process, but for one that nobody has taken note of.
func gone(t *testing.T, tg target.Target, pid string) bool {
	t.Helper()
	name := "/proc/" + pid + "/stat"
	f, err := tg.ReadFiles(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(f[name].Data), ") ")
	return f[name].Err != nil || strings.HasPrefix(rest, "Z") || rest == ""
}

func files(t *testing.T, tg target.Target) {
	dir := folder(t, tg)
	run(t, tg, "sh", "-c",
		`cd "$1"; : >empty; printf 'a\0b\n\377' >binary; head -c 300000 /dev/zero >large; printf 'no end' >'two words'; mkdir sub; echo x >closed; chmod 0 closed; ln -s binary link; ln -s nowhere broken`, "sh", dir)
	names := []string{"empty", "binary", "large", "two words", "link", "sub", "missing", "closed", "broken",
		"binary/below", "sub/missing"}
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = path.Join(dir, n)
	}
	got, err := tg.ReadFiles(t.Context(), paths...)
	if err != nil || len(got) != len(paths) {
		t.Fatalf("%d files of %d, %v", len(got), len(paths), err)
	}
	for name, want := range map[string]string{"empty": "", "binary": "a\x00b\n\xff", "link": "a\x00b\n\xff",
		"two words": "no end", "large": strings.Repeat("\x00", 300000)} {
		if f := got[path.Join(dir, name)]; f.Err != nil || string(f.Data) != want {
			t.Errorf("%s: %d bytes, %v", name, len(f.Data), f.Err)
		}
	}
	for name, want := range map[string]error{"missing": fs.ErrNotExist, "broken": fs.ErrNotExist,
		"sub/missing": fs.ErrNotExist, "closed": fs.ErrPermission} {
		f := got[path.Join(dir, name)]
		if name == "closed" && strings.TrimSpace(run(t, tg, "id", "-u")) == "0" {
			continue // root may
		}
		if !errors.Is(f.Err, want) || len(f.Data) != 0 {
			t.Errorf("%s: %q, %v", name, f.Data, f.Err)
		}
	}
	for _, name := range []string{"sub", "binary/below"} {
		if f := got[path.Join(dir, name)]; f.Err == nil {
			t.Errorf("%s can be read: %q", name, f.Data)
		}
	}
	if none, err := tg.ReadFiles(t.Context()); err != nil || len(none) != 0 {
		t.Errorf("no file: %v, %v", none, err)
	}
}

// Files of /proc say that they are empty, those of /sys that they have 4096 bytes.
func kernelFiles(t *testing.T, tg target.Target) {
	names := []string{"/proc/sys/kernel/osrelease", "/proc/cpuinfo", "/proc/zoneinfo", "/proc/self/mountinfo",
		"/sys/kernel/mm/transparent_hugepage/enabled", "/proc/version", "/proc/stat"}
	got, err := tg.ReadFiles(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	release := strings.TrimSpace(run(t, tg, "uname", "-r"))
	if f := got[names[0]]; f.Err != nil || strings.TrimSpace(string(f.Data)) != release {
		t.Errorf("%q, %v; uname says %q", f.Data, f.Err, release)
	}
	for _, name := range names[1:] {
		f := got[name]
		if errors.Is(f.Err, fs.ErrNotExist) {
			continue // kernels differ
		}
		if f.Err != nil || len(f.Data) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(f.Data), f.Err)
		}
		data, err := fs.ReadFile(tg.FS(), name[1:])
		if err != nil || len(data) == 0 {
			t.Errorf("%s over FS: %d bytes, %v", name, len(data), err)
		}
	}
	if n := strings.TrimSpace(run(t, tg, "sh", "-c", "wc -l </proc/zoneinfo")); n !=
		fmt.Sprint(bytes.Count(got["/proc/zoneinfo"].Data, []byte("\n"))) {
		t.Errorf("/proc/zoneinfo has %s lines, %d arrived", n, bytes.Count(got["/proc/zoneinfo"].Data, []byte("\n")))
	}
}

func fileSystem(t *testing.T, tg target.Target) {
	dir := folder(t, tg)
	run(t, tg, "sh", "-c",
		`cd "$1"; mkdir -p sub/deeper empty; printf text >file; head -c 100000 /dev/zero >sub/large; ln -s ../file sub/link; ln -s nowhere broken; printf x >'two words'; printf x >.hidden`, "sh", dir)
	fsys := tg.FS()
	tree, err := fs.Sub(fsys, dir[1:])
	if err != nil {
		t.Fatal(err)
	}
	plain := path.Join(dir, "plain")
	run(t, tg, "sh", "-c",
		`mkdir "$1" && cp "$2"/file "$2"/'two words' "$2"/.hidden "$1" && cp -r "$2"/sub/deeper "$1"`, "sh", plain, dir)
	sub, err := fs.Sub(fsys, plain[1:])
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(sub, "file", "two words", ".hidden", "deeper"); err != nil {
		t.Error(err)
	}
	if to, err := fs.ReadLink(tree, "sub/link"); err != nil || to != "../file" {
		t.Errorf("a link leads to %q, %v", to, err)
	}
	if data, err := fs.ReadFile(tree, "sub/link"); err != nil || string(data) != "text" {
		t.Errorf("through the link: %q, %v", data, err)
	}
	if _, err := fs.Stat(tree, "broken"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link that leads nowhere: %v", err)
	}
	if info, err := fs.Lstat(tree, "broken"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link itself: %v, %v", info, err)
	}
	run(t, tg, "chmod", "1773", path.Join(dir, "empty"))
	id := func(what string) int {
		n, err := strconv.Atoi(strings.TrimSpace(run(t, tg, "id", what)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	owned := safepath.Info{Owner: id("-u"), Group: id("-g"), Mode: fs.ModeDir | fs.ModeSticky | 0o773}
	if got, err := target.Owners(t.Context(), tg).Lstat(path.Join(dir, "empty")); err != nil || got != owned {
		t.Errorf("a folder's owner and mode: %+v, %v, want %+v", got, err, owned)
	}
	if info, err := fs.Stat(tree, "sub/large"); err != nil || info.Size() != 100000 || info.IsDir() {
		t.Errorf("a file of 100000 bytes: %v, %v", info, err)
	}
	if _, err := fs.ReadLink(tree, "file"); err == nil {
		t.Error("a file that is no link leads somewhere")
	}
	for _, missing := range []string{"missing", "file/below"} {
		if _, err := fs.ReadFile(tree, missing); err == nil {
			t.Errorf("%s can be read", missing)
		}
	}
	if _, err := fs.ReadDir(tree, "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if entries, err := fs.ReadDir(tree, "empty"); err != nil || len(entries) != 0 {
		t.Errorf("an empty folder: %v, %v", entries, err)
	}
	if info, err := fs.Stat(fsys, "dev/null"); err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		t.Errorf("/dev/null: %v, %v", info, err)
	}
	if names, err := fs.Glob(fsys, "sys/class/net/l?"); err != nil || !slices.Contains(names, "sys/class/net/lo") {
		t.Errorf("the loopback interface: %v, %v", names, err)
	}
	f, err := fsys.Open("proc/version")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head := make([]byte, 5)
	if _, err := io.ReadFull(f, head); err != nil || string(head) != "Linux" {
		t.Errorf("/proc/version begins with %q, %v", head, err)
	}
}
