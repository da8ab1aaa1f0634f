package host

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

func TestParseSSH(t *testing.T) {
	for name, want := range map[string]SSHOptions{
		"ssh://db1": {Name: "ssh://db1", Destination: "db1"},
		"ssh://ann@db1.lan:2222/": {Name: "ssh://ann@db1.lan:2222", Destination: "ann@db1.lan",
			Args: []string{"-p", "2222"}},
		"ssh://[fe80::1]:22": {Name: "ssh://[fe80::1]:22", Destination: "fe80::1", Args: []string{"-p", "22"}},
	} {
		got, err := ParseSSH(name)
		if err != nil || got.Name != want.Name || got.Destination != want.Destination ||
			!slices.Equal(got.Args, want.Args) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "db1", "ssh:", "ssh://", "ssh://@", "ssh://:22", "ssh://ann:secret@db1",
		"ssh://db1/srv", "ssh://-oProxyCommand=x", "ssh://-l@db1", "ssh://db1:x", "http://db1"} {
		if _, err := ParseSSH(name); lab.KindOf(err) != lab.Usage {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Every shell reads the line; this test tries all that are installed.
func TestTheLineReachesEveryShell(t *testing.T) {
	args := []string{"printf", `%s\0`, "plain", "two words", "it's", `"`, `\n`, "", "line\nbreak\n", "\x01\x7f\xff",
		"%d%%", "$x `id` *", "!", "ü"}
	shells := 0
	for _, shell := range [][]string{{"dash"}, {"bash"}, {"busybox", "sh"}, {"sh"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		shells++
		line := commandLine("MARK", args, false)
		if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r < ' ' || r > '~' }); i >=
			0 {
			t.Fatalf("the line holds %q", line[i])
		}
		inner := strings.TrimSuffix(strings.TrimPrefix(loginShellCommand, "exec /bin/sh -c '"), "'")
		cmd := exec.Command(shell[0], append(shell[1:], "-c", inner)...)
		cmd.Stdin = strings.NewReader(loop + line)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v %s", shell, err, stderr.Bytes())
		}
		out, begun, ended := readAnswer("MARK", append([]byte("banner"), stdout.Bytes()...), stderr.Bytes())
		if want := strings.Join(args[2:], "\x00") + "\x00"; !begun || !ended || string(out.Stdout) != want ||
			len(out.Stderr) != 0 {
			t.Errorf("%v: %q, want %q; %q", shell, out.Stdout, want, out.Stderr)
		}
	}
	if shells == 0 {
		t.Fatal("no shell is here")
	}
}

// The command line of the login shell contains nothing that shells quote differently.
func TestTheCrossingIsPlain(t *testing.T) {
	inner := strings.TrimSuffix(strings.TrimPrefix(loginShellCommand, "exec /bin/sh -c '"), "'")
	if strings.ContainsAny(inner, "'\\!\n\t") || len(loginShellCommand) > 500 {
		t.Errorf("%q", loginShellCommand)
	}
}

func TestAnswersAreCutOut(t *testing.T) {
	for _, c := range []struct {
		stdout, stderr, out, err string
		code                     int
		begun, ended             bool
	}{
		{"\nM 12\n\nM 0\n", "\nM\n\nM\n", "", "", 0, true, true},
		{"hi\n\nM 12\ntext\n\nM 255\n", "rc failed\nM\nbad\n\nM\nssh: closed\n", "text\n", "bad\n", 255, true, true},
		{"\nM 12\nhalf", "\nM\n", "half", "", 0, true, false},
		{"\nM 12\nhalf\nM 2", "", "half\nM 2", "", 0, true, false},
		{"a banner\n", "complaint\n", "", "", 0, false, false},
	} {
		out, begun, ended := readAnswer("M", []byte(c.stdout), []byte(c.stderr))
		if string(out.Stdout) != c.out && c.ended || string(out.Stderr) != c.err || out.ExitCode != c.code ||
			begun != c.begun || ended != c.ended {
			t.Errorf("%q: %q, %q, %d, %v, %v", c.stdout, out.Stdout, out.Stderr, out.ExitCode, begun, ended)
		}
	}
}

const startOfAJob = "8342.71\n4711 (a (b) c) S 1 4711 4711 0 -1 4194304 98 0 0 0 0 0 0 0 20 0 1 0 834271 2629632 200 " +
	"18446744073709551615\n"

func TestRecordsOfAJob(t *testing.T) {
	s, err := parseStart([]byte(startOfAJob))
	if err != nil || s != (started{8342.71, 4711, "834271"}) {
		t.Errorf("%+v, %v", s, err)
	}
	for _, damaged := range []string{"", "x\n", "1.0\n", "1.0\n12 (sh) S 1 2\n",
		strings.Replace(startOfAJob, ") S", ") Z", 1)} {
		if s, err := parseStart([]byte(damaged)); err == nil {
			t.Errorf("%q: %+v", damaged, s)
		}
	}
	state, up, err := parseEnd([]byte("3 8343.90\n0m0.00s 0m0.00s\n1m1.02s 0m0.11s\n"))
	if err != nil || up != 8343.90 || !state.Done || state.ExitCode != 3 || state.UserSeconds != 61.02 ||
		state.SystemSeconds != 0.11 {
		t.Errorf("%+v, %v, %v", state, up, err)
	}
	if state, _, err := parseEnd([]byte("137 1.5\n")); err != nil || state.ExitCode != -1 || state.Signal != "killed" {
		t.Errorf("%+v, %v", state, err)
	}
	if state, _, err := parseEnd([]byte("255 1.5\n")); err != nil || state.ExitCode != 255 || state.Signal != "" {
		t.Errorf("%+v, %v", state, err)
	}
	if _, _, err := parseEnd([]byte("\n")); err == nil {
		t.Error("a damaged record is taken")
	}
}

func TestFramesOfFiles(t *testing.T) {
	printed := "a\x00b\n\nM 0 \n\nM 1 cat: /x: No such file or directory\n\nM 1 cat: can't open '/y': Permission " +
		"denied\nend\nM 0 \n"
	files, err := readFrames("M", []byte(printed), []string{"/a", "/x", "/y", "/b"})
	if err != nil || string(files["/a"].Data) != "a\x00b\n" || !errors.Is(files["/x"].Err, fs.ErrNotExist) ||
		!errors.Is(files["/y"].Err, fs.ErrPermission) || string(files["/b"].Data) != "end" {
		t.Errorf("%+v, %v", files, err)
	}
	if _, err := readFrames("M", []byte(printed), []string{"/a", "/b", "/c", "/d", "/e"}); err == nil {
		t.Error("a missing frame is not missed")
	}
}

func TestStatusAndDate(t *testing.T) {
	info, err := parseStatus("x", "61b0 12 1763763960 7 6\n")
	if err != nil || info.Mode() != fs.ModeDevice|0o660 || info.Size() != 12 || info.ModTime().Unix() != 1763763960 ||
		info.user != 7 || info.group != 6 {
		t.Errorf("%v, %v", info, err)
	}
	at, step, err := parseDate("1763763960.000000500\n")
	if err != nil || step != 0 || at.UnixNano() != 1763763960000000500 {
		t.Errorf("%v, %v, %v", at, step, err)
	}
	if _, step, err := parseDate("1763763960.%N\n"); err != nil || step != time.Second {
		t.Errorf("%v, %v", step, err)
	}
	if at, step, err := parseDate("2025-11-21 23:26:00.500000000 +0100\n"); err != nil || step != tickStep ||
		at.UnixMilli() != 1763763960500 {
		t.Errorf("%v, %v, %v", at, step, err)
	}
}

func TestNumberOfADevice(t *testing.T) {
	for printed, want := range map[string][2]uint32{"7 0\n": {7, 0}, "103 1\n": {0x103, 1}, "fd 1f\n": {253, 31}} {
		if major, minor, ok := parseNumber(printed); !ok || [2]uint32{major, minor} != want {
			t.Errorf("%q: %d:%d, %v, want %d", printed, major, minor, ok, want)
		}
	}
	for _, printed := range []string{"", "7\n", "x y\n", "?t ?T\n"} {
		if major, minor, ok := parseNumber(printed); ok {
			t.Errorf("%q: %d:%d", printed, major, minor)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte(startOfAJob))
	f.Add([]byte("137 8343.90\n0m0.00s 0m0.00s\n1m1.02s 0m0.11s\n"))
	f.Add([]byte("a\n\nM 0 \n"))
	f.Add([]byte("\nM 12\ntext\nM 3\n"))
	f.Add([]byte("81a4 4096 1763763960 0 0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseStart(data); err == nil && (s.wrapper < 1 || s.ticks == "") {
			t.Errorf("%+v", s)
		}
		if s, _, err := parseEnd(data); err == nil &&
			(s.ExitCode == -1 && s.Signal == "" && !bytes.HasPrefix(data, []byte("-1"))) {
			t.Errorf("%+v", s)
		}
		if files, err := readFrames("M", data, []string{"/a"}); err == nil && len(files) != 1 {
			t.Errorf("%+v", files)
		}
		if out, begun, ended := readAnswer("M", data, data); ended && !begun || !begun && len(out.Stdout) > 0 {
			t.Errorf("%+v, %v, %v", out, begun, ended)
		}
		_, _ = parseStatus("x", string(data))
		_, _, _ = parseDate(string(data))
		_, _, _ = parseNumber(string(data))
	})
}

// A job that ended in time keeps its result, however long its wrapper takes to record it.
func TestKillLeavesTheRecordAlone(t *testing.T) {
	dir, slow := t.TempDir(), t.TempDir()
	mv, err := exec.LookPath("mv")
	if err != nil {
		t.Skip("there is no mv")
	}
	if err := os.WriteFile(filepath.Join(slow, "mv"),
		[]byte("#!/bin/sh\n[ \"$1\" = headroom.starting ] || sleep 0.5\nexec "+mv+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	wrapper := exec.Command("sh", "-c", wrapperScript, "sh", "0", "sh", "-c",
		"trap 'exit 7' TERM; echo ready; while :; do sleep 0.02; done")
	wrapper.Dir, wrapper.Env, wrapper.SysProcAttr = dir, append(os.Environ(), "PATH="+slow+":"+os.Getenv("PATH")),
		&syscall.SysProcAttr{Setsid: true}
	if err := wrapper.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- wrapper.Wait() }()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if printed, err := os.ReadFile(filepath.Join(dir, "stdout")); err == nil && string(printed) == "ready\n" {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the job does not begin")
		}
	}
	out, err := exec.Command("sh", "-c", killScript, "sh", dir, strconv.Itoa(wrapper.Process.Pid), "1").CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v, %s is left", err, out)
	}
	<-ended
	if record, err := os.ReadFile(filepath.Join(dir, "headroom.end")); err != nil ||
		!strings.HasPrefix(string(record), "7 ") {
		t.Errorf("%q, %v", record, err)
	}
}
