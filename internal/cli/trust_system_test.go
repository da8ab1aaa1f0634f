//go:build system

package cli

import (
	"bytes"
	"fmt"
	"io/fs"
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

// What a store holds is carried out: settings are put back, commands undo others, folders are removed. Here another
// user has made it by hand.

// forgery is what another user wants root to do: to run a command, to write a file of root's, to remove a folder of
// root's and what a link leads to.
type forgery struct {
	otherUserFixture
	// ran is made by the command that root is to run; kept holds "kept", and is to be overwritten; below and behind are
	// folders with a file.
	ran, kept, below, behind string
}

func newForgery(t *testing.T) forgery {
	h := newOtherUserFixture(t)
	h.env = []string{config.Variable(config.SSHConfig) + "=" + sshtest.Start(t).Config}
	private := filepath.Join(h.base, "private")
	f := forgery{otherUserFixture: h, ran: filepath.Join(private, "ran"), kept: filepath.Join(private, "kept"),
		below:  filepath.Join(private, "headroom-FARGED0000.work"),
		behind: filepath.Join(private, "behind")}
	h.must(os.Mkdir(private, 0o755))
	h.must(os.WriteFile(f.kept, []byte("kept"), 0o644))
	for _, dir := range []string{f.below, f.behind} {
		h.must(os.Mkdir(dir, 0o755))
		h.must(os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	}
	return f
}

// forgedID names what is made by hand: an id as headroom gives them.
const forgedID = "FARGED0000"

// in makes the store: journals, what a cut-off run left, half of a bundle, pods and built commits. Its files and
// folders are root's, in modes that umask gives.
func (f forgery) in(dir, on string) {
	f.t.Helper()
	journal := fmt.Sprintf(`{"schema":"headroom/changes/v1","id":"%[1]s","target":%[2]q}
{"seq":1,"factor":"exec:a","level":"b","spots":[{"kind":"file","path":%[3]q,"old":"overwritten","new":"kept"}]}
{"seq":1,"did":"applied"}
{"seq":2,"factor":"event","level":"done","spots":[{"kind":"done","name":"event","commands":{"undo":["touch",%[4]q]}}]}
`, forgedID, on, f.kept, f.ran)
	header := fmt.Sprintf(
		`{"schema":"headroom/bundle/v1","run":{"id":%[1]q,"status":"running","source":"measured","suite":"quick",
"targets":[{"role":"storage","target":%[2]q,"place":{"kind":"directory","path":%[3]q}}],"arms":[{"id":"1","role":"storage","levels":{}}],"cells":[]}}`,
		forgedID, on, filepath.Dir(f.below))
	left := fmt.Sprintf(`{"target":%q,"jobs":%q,"folders":[%q]}`, on, forgedID, f.below)
	for name, text := range map[string]string{
		"changes/" + forgedID + ".changes":        journal,
		"runs/" + forgedID + "/run.json":          header,
		"runs/" + forgedID + "/active.json":       left,
		"runs/" + forgedID + "/repetitions/.x":    "",
		"runs/" + forgedID + "/raw/.x":            "",
		"runs/.removed-" + forgedID + "/run.json": header,
	} {
		name = filepath.Join(dir, name)
		f.must(os.MkdirAll(filepath.Dir(name), 0o755))
		f.must(os.WriteFile(name, []byte(text), 0o644))
	}
	f.must(os.Symlink(f.behind, filepath.Join(dir, "runs", ".removed-"+forgedID, "link")))
}

// did says what of it root has done; empty for nothing.
func (f forgery) did(dir string) string {
	f.t.Helper()
	var done []string
	if _, err := os.Lstat(f.ran); err == nil {
		done = append(done, "ran the command")
	}
	if data, err := os.ReadFile(f.kept); err != nil || string(data) != "kept" {
		done = append(done, "wrote the file")
	}
	if _, err := os.Lstat(filepath.Join(f.below, "file")); err != nil {
		done = append(done, "removed the folder")
	}
	if _, err := os.Lstat(filepath.Join(f.behind, "file")); err != nil {
		done = append(done, "followed the link")
	}
	if _, err := os.Lstat(filepath.Join(dir, "runs", ".removed-"+forgedID)); err != nil {
		done = append(done, "removed half a run")
	}
	return strings.Join(done, ", ")
}

// give makes another user the owner of all below a folder.
func (f forgery) give(name string) {
	f.t.Helper()
	f.must(filepath.WalkDir(name, func(name string, _ fs.DirEntry, err error) error {
		f.must(err)
		return os.Lchown(name, other, other)
	}))
}

// The commands that act on what a store holds, or clean up first.
func (f forgery) commands() [][]string {
	return [][]string{{"restore"}, {"rm", "NOTHING"}, {"run", f.writes, f.base}, {"import", f.writes},
		{"sweep", f.writes, f.base, "--factor", "job:bs=4k,8k"}}
}

func TestForgedStore(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		name string
		// make has the store changed, which lies in a folder of its own, and returns what is at fault.
		make func(f forgery, dir string) string
	}{
		{"everybody can write to it", func(f forgery, dir string) string {
			f.must(os.Chmod(dir, 0o777))
			f.give(filepath.Join(dir, "changes"))
			f.give(filepath.Join(dir, "runs"))
			return dir
		}},
		{"it belongs to somebody else", func(f forgery, dir string) string { f.give(dir); return dir }},
		{"its folder belongs to somebody else", func(f forgery, dir string) string {
			f.must(os.Lchown(filepath.Dir(dir), other, other))
			return filepath.Dir(dir)
		}},
		{"everybody can write to its folder", func(f forgery, dir string) string {
			f.must(os.Chmod(filepath.Dir(dir), 0o777))
			return filepath.Dir(dir)
		}},
		{"a group can write to it", func(f forgery, dir string) string {
			f.must(os.Chown(dir, 0, other))
			f.must(os.Chmod(dir, 0o775))
			return dir
		}},
		{"a link of somebody else's leads to it", func(f forgery, dir string) string {
			f.must(os.Rename(dir, dir+"-moved"))
			f.must(os.Symlink(dir+"-moved", dir))
			f.must(os.Lchown(dir, other, other))
			return dir
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newForgery(t)
			for _, on := range []string{app.LocalTarget, "ssh://under-test"} {
				base := filepath.Join(f.base, fmt.Sprint("data", i, on[:3]))
				dir := filepath.Join(base, "headroom")
				f.in(dir, on)
				fault := c.make(f, dir)
				for _, args := range f.commands() {
					for _, env := range [][]string{{"HEADROOM_STORE=" + dir},
						{"HEADROOM_STORE=", "XDG_DATA_HOME=" + base}} {
						cmd := exec.Command("headroom", args...)
						cmd.Env = append(append(os.Environ(), f.env...), env...)
						out, err := cmd.CombinedOutput()
						if done := f.did(dir); done != "" {
							t.Fatalf("%s on %s: root %s\n%s", args[0], on, done, out)
						}
						if err == nil || cmd.ProcessState.ExitCode() != 4 ||
							!strings.Contains(string(out), fault+" ") || !strings.Contains(string(out), "--store DIR") {
							t.Errorf("%s on %s: %v, want that it is refused, with %s as the reason: %s", args[0],
								on, err, fault, out)
						}
						if strings.Contains(string(out), "chown 0 "+base+"\n") {
							t.Errorf("%s on %s takes a folder from its owner: %s", args[0], on, out)
						}
					}
				}
				// To look at it is no danger.
				for command, want := range map[string]string{"list": "interrupted", "show": "The run was cut off"} {
					args := []string{command, forgedID, "--store", dir}
					if command == "list" {
						args = []string{command, "--store", dir}
					}
					out, err := exec.Command("headroom", args...).CombinedOutput()
					if err != nil || !strings.Contains(string(out), want) || f.did(dir) != "" {
						t.Errorf("%s: %v, want the run: %s", command, err, out)
					}
				}
				if _, err := os.Lstat(filepath.Join(dir, "index.jsonl")); err == nil {
					t.Error("to list it root wrote an index into it")
				}
			}
		})
	}
}

// Journals and leftovers are asked one by one, too: a file or a folder of somebody else's can lie in a store of root's.
func TestForgedFilesInOwnStore(t *testing.T) {
	t.Parallel()
	f := newForgery(t)
	dir := filepath.Join(f.base, "store")
	for _, c := range []struct{ name, fault string }{
		{"a journal", "changes/" + forgedID + ".changes"},
		{"the folder of journals", "changes"},
		{"a record of leftovers", "runs/" + forgedID + "/active.json"},
		{"a header", "runs/" + forgedID + "/run.json"},
		{"half a run", "runs/.removed-" + forgedID},
	} {
		for _, how := range []struct {
			name string
			do   func(string) error
		}{
			{"belongs to user 65534", func(name string) error { return os.Lchown(name, other, other) }},
			{"can be written to by everybody", func(name string) error { return os.Chmod(name, 0o777) }},
		} {
			f.must(os.RemoveAll(dir))
			f.in(dir, app.LocalTarget)
			name := filepath.Join(dir, c.fault)
			f.must(how.do(name))
			// What else is there may be carried out; so only that is left which is not.
			for _, part := range []string{"changes", "runs/" + forgedID, "runs/.removed-" + forgedID} {
				if !strings.HasPrefix(c.fault, part) {
					f.must(os.RemoveAll(filepath.Join(dir, part)))
				}
			}
			for _, args := range [][]string{{"restore"}, {"rm", "NOTHING"}, {"run", f.writes, f.base}} {
				out, err := f.command(args...).CombinedOutput()
				if done := strings.ReplaceAll(f.did(dir), "removed half a run", ""); strings.Trim(done, ", ") != "" {
					t.Fatalf("%s, which %s: %s: root %s\n%s", c.name, how.name, args[0], done, out)
				}
				if _, lost := os.Lstat(name); lost != nil || err == nil ||
					!strings.Contains(string(out), name+" "+how.name) {
					t.Errorf("%s, which %s: %s: %v, %v, want that it is refused, and left: %s", c.name, how.name,
						args[0], err, lost, out)
				}
			}
		}
	}
}

// kubeconfig names a program that makes credentials, which is run when the cluster is reached.
const kubeconfig = `{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [%q], interactiveMode: Never}}}]}`

// Records of pods lead to clusters, and with them to programs; those of built commits to folders that are removed.
func TestForgedRecordsOfPodsAndCommits(t *testing.T) {
	t.Parallel()
	f := newForgery(t)
	config := filepath.Join(f.base, "config")
	f.must(os.WriteFile(config, fmt.Appendf(nil, kubeconfig, f.ran), 0o644))
	dir := filepath.Join(f.base, "store")
	pods, built := filepath.Join(dir, "pods", "k3v9x2qa.pod.json"), filepath.Join(dir, "built", forgedID, "made.json")
	commit := filepath.Join(filepath.Dir(built), "0123456789", "file")
	for _, c := range []struct {
		change, fault string
		trusted       bool
	}{{"", "", true}, {pods, pods, false}, {filepath.Dir(pods), filepath.Dir(pods), false}, {built, built, false},
		{filepath.Dir(built), filepath.Dir(built), false}, {dir, dir, false}} {
		f.must(os.RemoveAll(dir))
		f.must(os.RemoveAll(f.ran))
		for name, text := range map[string]string{
			pods: fmt.Sprintf(
				`{"target":"kube:pod","session":"k3v9x2qa","server":"https://127.0.0.1:1","kubeconfig":%q,"namespace":"default","pods":["headroom-k3v9x2qa"]}`, config),
			built:  fmt.Sprintf(`{"schema":"headroom/built/v1","run":%q,"repository":"/nowhere"}`, forgedID),
			commit: "",
		} {
			f.must(os.MkdirAll(filepath.Dir(name), 0o755))
			f.must(os.WriteFile(name, []byte(text), 0o644))
		}
		if c.change != "" {
			f.must(os.Lchown(c.change, other, other))
		}
		for _, args := range [][]string{{"restore"}, {"rm", "NOTHING"}} {
			out, err := f.command(args...).CombinedOutput()
			_, ran := os.Lstat(f.ran)
			_, kept := os.Lstat(commit)
			switch {
			case c.trusted && (ran != nil || kept == nil): // or what follows would show nothing
				t.Errorf("%s: %v, %v: not all was carried out: %s", args[0], ran, kept, out)
			case !c.trusted && (strings.HasPrefix(pods, c.change) && ran == nil ||
				strings.HasPrefix(built, c.change) && kept != nil):
				t.Errorf("%s belongs to somebody else: %s carried it out: %s", c.change, args[0], out)
			case !c.trusted && (err == nil || !strings.Contains(string(out), c.fault+" belongs to user 65534")):
				t.Errorf("%s: %v, want that %s is at fault: %s", args[0], err, c.fault, out)
			}
			if c.trusted {
				break
			}
		}
	}
}

// The forgeries do what they are meant to where root trusts them: the tests above would be worth nothing otherwise.
func TestForgeriesAreEffective(t *testing.T) {
	t.Parallel()
	for _, on := range []string{app.LocalTarget, "ssh://under-test"} {
		f := newForgery(t)
		dir := filepath.Join(f.base, "store")
		f.in(dir, on)
		out, err := f.command("restore").CombinedOutput()
		if done := f.did(dir); err != nil ||
			done != "ran the command, wrote the file, removed the folder, removed half a run" {
			t.Errorf("on %s: %v, root %s\n%s", on, err, done, out)
		}
	}
}

// To label a run is to write its header, and a run may lie in no store.
func TestLabelOfRunOfAnother(t *testing.T) {
	t.Parallel()
	f := newForgery(t)
	dir := filepath.Join(f.place, "store")
	f.in(dir, app.LocalTarget)
	f.must(os.Remove(filepath.Join(dir, "runs", forgedID, "active.json")))
	run := filepath.Join(dir, "runs", forgedID)
	for _, store := range []string{dir, f.store} { // in its own, and beside another
		f.store = store
		out, err := f.command("label", run, "text").CombinedOutput()
		if data, _ := os.ReadFile(filepath.Join(run, "run.json")); err == nil ||
			!strings.Contains(string(out), f.place+" belongs to user 65534") || strings.Contains(string(data), "text") {
			t.Errorf("%v, want that it is refused: %s", err, out)
		}
	}
}

// In a store of root's own, a record of leftovers that names what headroom would not have made is not carried out.
func TestLeftoversNamedByOthers(t *testing.T) {
	t.Parallel()
	f := newForgery(t)
	dir := filepath.Join(f.base, "store")
	link := filepath.Join(f.base, "headroom-"+forgedID+".work")
	f.must(os.Symlink(f.behind, link))
	for _, left := range []string{
		fmt.Sprintf(`{"jobs":%q,"folders":[%q]}`, forgedID, f.behind),
		fmt.Sprintf(`{"jobs":%q,"scratch":[%q]}`, forgedID, f.kept),
		fmt.Sprintf(`{"jobs":%q,"folders":[%q]}`, forgedID,
			filepath.Dir(f.below)+"/../private/headroom-"+forgedID+".work"),
		fmt.Sprintf(`{"jobs":%q,"others":[{"target":"local","jobs":"","folders":[%q]}]}`, forgedID, f.below),
		fmt.Sprintf(`{"jobs":%q,"folders":["headroom-%s.work"]}`, forgedID, forgedID),
		fmt.Sprintf(`{"jobs":%q,"folders":[%q]}`, forgedID, link), // a link has a name like ours
	} {
		f.must(os.RemoveAll(dir))
		f.in(dir, app.LocalTarget)
		f.must(os.RemoveAll(filepath.Join(dir, "changes")))
		f.must(os.WriteFile(filepath.Join(dir, "runs", forgedID, "active.json"), []byte(left), 0o644))
		out, _ := f.command("restore").CombinedOutput()
		if done := f.did(dir); done != "removed half a run" {
			t.Errorf("%s: root %s\n%s", left, done, out)
		}
	}
}

// A command whose store is like /tmp, or in a folder of a group of the user's own, cleans up there as everywhere.
func TestTrustedStores(t *testing.T) {
	t.Parallel()
	f := newForgery(t)
	shared := filepath.Join(f.base, "shared")
	f.must(os.Mkdir(shared, 0o755))
	f.must(os.Chmod(shared, os.ModeSticky|0o777))
	for _, dir := range []string{filepath.Join(shared, "store"), filepath.Join(f.base, "new", "store"), shared} {
		f.store = dir
		if out, err := f.command("run", f.writes, f.base, "--repeat",
			"1").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		f.in(dir, app.LocalTarget)
		out, err := f.command("restore").CombinedOutput()
		if err != nil || !strings.Contains(f.did(dir), "ran the command") {
			t.Errorf("%s: %v, want that what was left is put right: %s", dir, err, out)
		}
		f.must(os.RemoveAll(f.ran))
	}
}

const commandsSuite = `version: 1
name: commands
title: commands that leave a line in a file, of which the third does not end before there is a fourth line
place: directory
repetitions: 4
jobs:
  - {name: line, prepare: [[touch, prepared]], exec: [sh, -c, 'echo line >> %[1]s; while [ $(wc -l < %[1]s) = 3 ]; do sleep 0.1; done'], environment: {WORD: secret}}
`

// A run that came from elsewhere has its commands shown, and carries none out before the user has said so.
func TestResumeOfImportedRun(t *testing.T) {
	t.Parallel()
	h := newOtherUserFixture(t)
	lines := filepath.Join(h.base, "lines")
	name := filepath.Join(h.base, "commands.yaml")
	h.must(os.WriteFile(name, fmt.Appendf(nil, commandsSuite, lines), 0o644))
	count := func() int {
		data, err := os.ReadFile(lines)
		h.must(err)
		return strings.Count(string(data), "line\n")
	}
	cmd := h.command("run", name, h.base)
	var printed bytes.Buffer
	cmd.Stderr = &printed
	h.must(cmd.Start())
	await(t, "two commands were run, and the third goes on", func() bool {
		data, _ := os.ReadFile(lines)
		return strings.Count(string(data), "line\n") == 3
	})
	h.must(cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Fatalf("%v, want exit code 130\n%s", err, printed.String())
	}
	b, err := store.Open(h.store).Find("last")
	h.must(err)
	exported := filepath.Join(h.base, "run.headroom")
	if out, err := h.command("export", "last", "--format", "run", "-o", exported).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h.store = filepath.Join(h.base, "another")
	if out, err := h.command("import", exported).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before := count()
	for _, args := range [][]string{{"run", "--resume", "last"}, {"run", "--resume", b.Run.ID, "--dry-run"}} {
		out, err := h.command(args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "was imported") ||
			!strings.Contains(string(out), "add --trust") ||
			!strings.Contains(string(out), `command: sh -c 'echo line >> `+lines+`; while [ `) ||
			!strings.Contains(string(out), "prepare: touch prepared") ||
			!strings.Contains(string(out), "environment: WORD=secret") {
			t.Errorf("%q: %v, want all commands and the flag: %s", args, err, out)
		}
	}
	// Nor by the folder of another store, which is no store of the user's.
	if out, err := h.command("run", "--resume", b.Dir()).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "import it first") {
		t.Errorf("%v, want that it is to be imported: %s", err, out)
	}
	if now := count(); now != before {
		t.Fatalf("%d commands were run", now-before)
	}
	out, err := h.command("run", "--resume", "last", "--trust").CombinedOutput()
	if err != nil || !strings.Contains(string(out), `command: sh -c 'echo line >> `) {
		t.Errorf("%v, want that it shows the commands, and goes on: %s", err, out)
	}
	if now := count(); now != before+2 {
		t.Errorf("%d commands were run of the two that are left", now-before)
	}
	if b, err = store.Open(h.store).Find("last"); err != nil || b.Run.Status != lab.Complete {
		t.Errorf("%v, want a complete run", err)
	}
}

// A run whose header somebody else can change is not gone on with, whatever flags say.
func TestResumeOfRunOfAnother(t *testing.T) {
	t.Parallel()
	f := newForgery(t)
	dir := filepath.Join(f.base, "store")
	for _, args := range [][]string{{"run"}, {"run", "--trust"}, {"sweep"}, {"net"}, {"ladder"}, {"nfs"},
		{"compare", "--live"}, {"compare", "--layers"}, {"net", "interference"}} {
		f.must(os.RemoveAll(dir))
		f.in(dir, app.LocalTarget)
		f.must(os.RemoveAll(filepath.Join(dir, "changes")))
		f.must(os.Remove(filepath.Join(dir, "runs", forgedID, "active.json")))
		name := filepath.Join(dir, "runs", forgedID, "run.json")
		f.must(os.Lchown(name, other, other))
		out, err := f.command(append(args, "--resume", forgedID)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), name+" belongs to user 65534") {
			t.Errorf("%q: %v, want that it is refused: %s", args, err, out)
		}
	}
}

// A store on a device that is full, or without a folder that can be written to, still says what is in it.
func TestListOfAStoreThatIsFull(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("mounting takes root")
	}
	h := newOtherUserFixture(t)
	if out, err := h.command("run", h.writes, h.base, "--repeat", "1", "--label",
		"kept").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	full := filepath.Join(h.base, "full")
	h.must(os.Mkdir(full, 0o755))
	h.must(syscall.Mount("tmpfs", full, "tmpfs", 0, "size=4m,mode=755"))
	t.Cleanup(func() {
		if err := syscall.Unmount(full, 0); err != nil {
			t.Error(err)
		}
	})
	if out, err := exec.Command("cp", "-r", filepath.Join(h.store, "runs"), full).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	filler, err := os.Create(filepath.Join(full, "filler"))
	h.must(err)
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	h.must(filler.Close())
	h.store = full
	for _, args := range [][]string{{"list"}, {"show", "last"}, {"history", "writes"}} {
		if out, err := h.command(args...).CombinedOutput(); err != nil || !strings.Contains(string(out), "writes") {
			t.Errorf("%s: %v, want the run: %s", args[0], err, out)
		}
	}
}

// What a user may not read is named, with the reason: no list says that there is nothing.
func TestListOfAStoreThatCannotBeRead(t *testing.T) {
	t.Parallel()
	h := newOtherUserFixture(t)
	if out, err := h.command("run", h.writes, h.base, "--repeat",
		"1").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := store.Open(h.store).Find("last")
	h.must(err)
	program := binary(t)
	for _, name := range []string{filepath.Join(b.Dir(), "run.json"), b.Dir(), filepath.Dir(b.Dir()), h.store} {
		h.must(os.Chmod(name, 0))
		for _, args := range [][]string{{"list"}, {"list", "--json"}, {"show", "last"}, {"show", b.Run.ID},
			{"history", "writes"}} {
			cmd := h.command(args...)
			cmd.Path, cmd.Dir = program, "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: other, Gid: other}}
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "permission denied") ||
				!strings.Contains(string(out), h.store) || strings.Contains(string(out), "no runs yet") {
				t.Errorf("%s may not be read: %q: %v, want the reason: %s", name, args, err, out)
			}
		}
		h.must(os.Chmod(name, 0o755))
	}
}
