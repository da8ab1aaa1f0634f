//go:build system

package guard_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/guard"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// claimed inspects and judges a device.
func claimed(t *testing.T, path string, override guard.Override) (*guard.Claim, guard.Verdict) {
	t.Helper()
	evidence, claim := inspected(t, path)
	t.Cleanup(func() { claim.Close() })
	verdict, err := guard.Judge(evidence, destructive(), false, guard.Consent{Destroy: override})
	if err != nil {
		t.Fatal(err)
	}
	return claim, verdict
}

// TestClaimKeepsOthersOut shows what is possible with a device while it is claimed, and that everything is possible
// once it is released.
func TestClaimKeepsOthersOut(t *testing.T) {
	needRoot(t)
	d := newDisk(t, 64*mib)
	claim, _ := claimed(t, d.node, "")
	upper := t.TempDir()
	kept := [][]string{
		{"blkdiscard", d.node},
		{"mkfs.ext4", "-q", d.node},
		{"mount", d.node, upper},
		{"swapon", d.node},
		{"wipefs", "--all", d.node},
		{"flock", "--nonblock", d.node, "true"},
	}
	for _, argv := range kept {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err == nil {
			t.Errorf("%q was let at a claimed device: %s", argv, out)
		}
	}
	let := [][]string{
		{"blkdiscard", "--force", d.node},
		{"wipefs", "--no-act", d.node},
		{"fio", "--name=x", "--filename=" + d.node, "--rw=randwrite", "--direct=1", "--size=1M", "--output=/dev/null"},
	}
	for _, argv := range let {
		d.run("util-linux fio", argv...)
	}
	if err := claim.StillTheSame(); err != nil {
		t.Error(err)
	}
	if err := claim.Close(); err != nil {
		t.Fatal(err)
	}
	d.run("e2fsprogs", "mkfs.ext4", "-q", d.node)
}

// TestStillTheSame removes or replaces the device in several ways while it is claimed.
func TestStillTheSame(t *testing.T) {
	needRoot(t)
	for name, change := range map[string]func(d *disk, link string){
		"the link leads to another device": func(d *disk, link string) {
			other := newDisk(d.t, 64*mib)
			relink(d, other.node, link)
		},
		"the link leads to a file": func(d *disk, link string) { relink(d, d.image, link) },
		"the link is gone":         func(d *disk, link string) { relink(d, "/dev/none", link) },
		"the device has grown": func(d *disk, _ string) {
			if err := os.Truncate(d.image, 65*mib); err != nil {
				d.t.Fatal(err)
			}
			d.run("mount", "losetup", "--set-capacity", d.node)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t, 64*mib)
			link := filepath.Join(t.TempDir(), "by-id")
			if err := os.Symlink(d.node, link); err != nil {
				t.Fatal(err)
			}
			claim, verdict := claimed(t, link, "")
			if err := claim.StillTheSame(); err != nil {
				t.Fatal(err)
			}
			change(d, link)
			before := d.fingerprint()
			err := claim.StillTheSame()
			if lab.KindOf(err) != lab.Refused {
				t.Errorf("got %v, want it refused", err)
			}
			t.Log(err)
			if err := claim.Discard(context.Background(), verdict); lab.KindOf(err) != lab.Refused {
				t.Errorf("discarded: %v", err)
			}
			if after := d.fingerprint(); after != before {
				t.Errorf("the device changed:\nbefore %s\nafter  %s", before, after)
			}
		})
	}
}

// TestStillTheSameMedium changes the kernel's description of a device whose path, number and size stay the same.
func TestStillTheSameMedium(t *testing.T) {
	needRoot(t)
	d := newDiskWithout(t, 64*mib, true)
	claim, verdict := claimed(t, d.node, "")
	if err := claim.StillTheSame(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("/sys/class/block", filepath.Base(d.node), "queue/rotational")
	if err := os.WriteFile(file, []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
	if err := claim.StillTheSame(); lab.KindOf(err) != lab.Refused {
		t.Errorf("got %v, want it refused", err)
	}
	if err := claim.Discard(context.Background(), verdict); lab.KindOf(err) != lab.Refused {
		t.Errorf("discarded: %v", err)
	}
}

// TestWhoComesDuringTheRun lets other programs begin to use a device after it was found to be free: the device is then
// left unchanged.
func TestWhoComesDuringTheRun(t *testing.T) {
	needRoot(t)
	for name, come := range map[string]func(d *disk){
		"a program opens it":            func(d *disk) { opened(d, d.node) },
		"a program maps it":             func(d *disk) { mapped(d, d.node) },
		"a program opens its file":      func(d *disk) { opened(d, d.image) },
		"a loop device is laid over it": func(d *disk) { d.attach(d.node) },
		"a loop device is laid beside it": func(d *disk) {
			node := d.attach(d.image, "again")
			opened(d, node)
		},
		"its file becomes swap space": func(d *disk) { d.swapFile(d.image) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t, 64*mib)
			claim, verdict := claimed(t, d.node, "")
			if err := claim.StillFree(); err != nil {
				t.Fatal(err)
			}
			come(d)
			before := d.fingerprint()
			_, err := claim.CleanUp(context.Background(), host.NewLocal(t.TempDir()), verdict)
			for doing, err := range map[string]error{"free": claim.StillFree(), "discarded": claim.Discard(
				context.Background(), verdict), "cleaned": err} {
				if lab.KindOf(err) != lab.Refused || !strings.Contains(err.Error(), " is left as it is: ") {
					t.Errorf("%s: %v", doing, err)
				}
			}
			t.Log(err)
			if after := d.fingerprint(); after != before {
				t.Errorf("the device changed:\nbefore %s\nafter  %s", before, after)
			}
		})
	}
}

// TestOwnJobsAreNobodyElse lets a job of headroom write to a device that headroom has claimed.
func TestOwnJobsAreNobodyElse(t *testing.T) {
	needRoot(t)
	d := newDisk(t, 64*mib)
	here := host.NewLocal(filepath.Join(t.TempDir(), "jobs"))
	e, claim, err := guard.Inspect(t.Context(), here, d.node)
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Close()
	if _, err := guard.Judge(e, destructive(), false, guard.Consent{}); err != nil {
		t.Fatal(err)
	}
	job, err := here.Start(t.Context(), host.JobSpec{ID: "own", Argv: []string{"sh", "-c",
		`exec 3<>"$1"; echo ready; exec sleep 600`, "sh", d.node}})
	if err != nil {
		t.Fatal(err)
	}
	for ready := false; !ready; {
		out, err := job.Fetch(t.Context(), "stdout")
		if ready = strings.Contains(string(out), "ready"); err != nil && !ready {
			t.Fatal(err)
		}
	}
	if err := claim.StillFree(); err != nil {
		t.Error(err)
	}
	if err := job.Kill(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if err := job.Remove(t.Context()); err != nil {
		t.Error(err)
	}
}

func relink(d *disk, to, link string) {
	if err := os.Remove(link); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Symlink(to, link); err != nil {
		d.t.Fatal(err)
	}
}

// TestLeaveClean dirties devices as a benchmark does, and worse, and cleans them.
func TestLeaveClean(t *testing.T) {
	needRoot(t)
	for name, c := range map[string]struct {
		size    int64
		options []string
		dirty   func(d *disk)
		how     string
	}{
		"random data":       {dirty: func(d *disk) { random(d, 0, 64*mib) }, how: "discarded"},
		"a partition table": {dirty: func(d *disk) { tables()[0].make(d) }, how: "discarded"},
		"odd size": {size: 64*mib + 3*512, dirty: func(d *disk) {
			random(d, 0, 64*mib+3*512)
		}, how: "discarded"},
		"blocks of 4096 bytes": {options: []string{"--sector-size", "4096"}, dirty: func(d *disk) {
			random(d, 0, 64*mib)
		}, how: "discarded"},
		"nothing":               {dirty: func(*disk) {}, how: "discarded"},
		"large, a little of it": {size: 3 << 30, dirty: func(d *disk) { random(d, 2<<30, 4*mib) }, how: "discarded"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.size == 0 {
				c.size = 64 * mib
			}
			d := newDisk(t, c.size, c.options...)
			claim, verdict := claimed(t, d.node, "")
			c.dirty(d)
			here := host.NewLocal(t.TempDir())
			done, err := claim.CleanUp(context.Background(), here, verdict)
			if err != nil || !done.Blank || done.How != c.how {
				t.Fatalf("got %+v, %v", done, err)
			}
			mustParseAsNothing(d)
			if err := claim.Close(); err != nil {
				t.Fatal(err)
			}
			if _, again := claimed(t, d.node, ""); !again.Empty {
				t.Error("the next run would not take it for empty")
			}
		})
	}
}

// TestLeaveCleanWithoutDiscard cleans devices without discards: small and non-rotating ones are zeroed, a large
// rotating one has its headers wiped.
func TestLeaveCleanWithoutDiscard(t *testing.T) {
	needRoot(t)
	for name, c := range map[string]struct {
		size       int64
		rotational bool
		how        string
	}{
		"small":       {64 * mib, true, "zeroed"},
		"no platters": {1<<30 + mib, false, "zeroed"},
		"platters":    {1<<30 + mib, true, "headers wiped"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDiskWithout(t, c.size, c.rotational)
			claim, verdict := claimed(t, d.node, "")
			random(d, 0, 6*mib)
			d.write(0x200000, []byte("SKUL\xba\xbe")) // the second header of a LUKS2 volume, after the first MiB
			random(d, c.size/2, mib)
			tables()[0].make(d)
			zfs(d, 0, 1, 2, 3)
			done, err := claim.CleanUp(context.Background(), host.NewLocal(t.TempDir()), verdict)
			if err != nil || done.How != c.how || done.Blank != (c.how == "zeroed") {
				t.Fatalf("got %+v, %v", done, err)
			}
			mustParseAsNothing(d)
			if err := claim.Close(); err != nil {
				t.Fatal(err)
			}
			evidence, again := inspected(t, d.node)
			defer again.Close()
			verdict, err = guard.Judge(evidence, destructive(), false, guard.Consent{})
			if done.Blank {
				if err != nil {
					t.Error(err)
				}
				return
			}
			mustRefuse(t, verdict, err, "there are data")
		})
	}
}

// TestLeaveCleanNeedsTheVerdict checks that cleaning is refused without a verdict, with one for another device, and
// with one that only allows reading.
func TestLeaveCleanNeedsTheVerdict(t *testing.T) {
	needRoot(t)
	d, other := newDisk(t, 64*mib), newDisk(t, 64*mib)
	claim, verdict := claimed(t, d.node, "")
	_, external := claimed(t, other.node, "")
	random(d, 0, mib)
	before := d.fingerprint()
	reading := verdict
	reading.MayWrite = false
	for _, v := range []guard.Verdict{{}, external, reading} {
		if _, err := claim.CleanUp(context.Background(), host.NewLocal(t.TempDir()), v); lab.KindOf(err) !=
			lab.Refused {
			t.Errorf("cleaned: %v", err)
		}
		if err := claim.Discard(context.Background(), v); lab.KindOf(err) != lab.Refused {
			t.Errorf("discarded: %v", err)
		}
	}
	if d.fingerprint() != before {
		t.Error("the device changed")
	}
	if err := claim.Discard(context.Background(), verdict); err != nil {
		t.Error(err)
	}
	if d.fingerprint() == before {
		t.Error("nothing was discarded")
	}
}

// mustParseAsNothing checks with programs other than the guard.
func mustParseAsNothing(d *disk) {
	d.t.Helper()
	var list struct{ Signatures []any }
	if err := json.Unmarshal([]byte(d.run("util-linux", "wipefs", "--no-act", "--json", d.node)), &list); err != nil ||
		len(list.Signatures) > 0 {
		d.t.Errorf("wipefs finds %v, %v", list, err)
	}
	out, err := exec.Command("blkid", "--probe", d.node).CombinedOutput()
	if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 2 { // blkid's "nothing found"
		d.t.Errorf("blkid: %v: %s", err, out)
	}
	if out := d.run("fdisk", "sfdisk", "--quiet", "--list", d.node); strings.TrimSpace(out) != "" {
		d.t.Errorf("sfdisk lists %s", out)
	}
}

// random writes data that do not repeat.
func random(d *disk, at, length int64) {
	d.t.Helper()
	p := make([]byte, length)
	if _, err := rand.Read(p); err != nil {
		d.t.Fatal(err)
	}
	d.write(at, p)
}

// TestPlainUser checks that a user without read permission for a device gets that error, and that no device is judged
// empty. The test runs itself again as another user.
func TestPlainUser(t *testing.T) {
	if node := os.Getenv("GUARD_DEVICE"); node != "" {
		asPlainUser(t, node)
		return
	}
	needRoot(t)
	d := newDisk(t, 64*mib)
	if err := os.Chmod(d.node, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "test")
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, data, 0o755); err != nil { // an unprivileged user must be able to run it
		t.Fatal(err)
	}
	for dir := filepath.Dir(binary); dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { // like above
			t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, "-test.run", "^TestPlainUser$", "-test.v")
	cmd.Env = append(os.Environ(), "GUARD_DEVICE="+d.node, "TMPDIR=/tmp")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("permission denied")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func asPlainUser(t *testing.T, node string) {
	evidence, claim, err := guard.Inspect(context.Background(), host.NewLocal(t.TempDir()), node)
	if err != nil || claim != nil {
		t.Fatalf("%v, claim %v", err, claim)
	}
	verdict, err := guard.Judge(evidence, destructive(), false, guard.Consent{})
	mustRefuse(t, verdict, err, "permission denied")
	t.Log(err)
}
