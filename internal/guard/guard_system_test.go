//go:build system

package guard_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/guard"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/targettest"
)

const exclusive = syscall.O_EXCL

// destructive are the steps of a job that writes.
func destructive() []lab.Step { return []lab.Step{lab.Discard, lab.Fill, lab.Load} }

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root: sudo go test -tags system ./internal/guard")
	}
	// Another run creates mount namespaces, in which mounts of this test persist, and flushes every file system.
	targettest.Exclusive(t, "guard")
}

// TestLayouts inspects and judges every layout: devices that are not empty are refused and left unchanged to the byte,
// blank ones are accepted. Naming the drive overrides data on it, but not its use.
func TestLayouts(t *testing.T) {
	needRoot(t)
	refused, accepted := 0, 0
	for _, l := range layouts() {
		ok := t.Run(l.name, func(t *testing.T) { l.judge(t) })
		switch {
		case ok && l.want != "":
			refused++
		case ok:
			accepted++
		}
	}
	t.Logf("%d layouts refused and unchanged, %d blank ones accepted", refused, accepted)
}

// TestManyLayouts counts the rows of the table, each of which is a way to lose data.
func TestManyLayouts(t *testing.T) {
	refused, accepted := 0, 0
	names := map[string]bool{}
	for _, l := range layouts() {
		if names[l.name] {
			t.Errorf("two layouts are called %q", l.name)
		}
		names[l.name] = true
		if l.want != "" {
			refused++
		} else {
			accepted++
		}
	}
	if refused < 45 || accepted < 10 {
		t.Errorf("the table has %d layouts to refuse and %d to accept, want 45 and 10", refused, accepted)
	}
}

// inspected inspects a device like a run that writes: it is read whole if there is no other reason against it.
func inspected(t *testing.T, path string) (guard.Evidence, *guard.Claim) {
	t.Helper()
	evidence, claim, err := guard.Inspect(context.Background(), host.NewLocal(t.TempDir()), path)
	if err == nil && guard.MustRead(evidence, destructive(), false, guard.Consent{}) {
		err = claim.ReadAll(context.Background(), &evidence, func(guard.Progress) {})
	}
	if err != nil {
		t.Fatal(errors.Join(err, claim.Close()))
	}
	return evidence, claim
}

func (l layout) judge(t *testing.T) {
	if l.size == 0 {
		l.size = 64 * mib
	}
	d := newDisk(t, l.size, l.options...)
	path := l.make(d)
	if path == "" {
		path = d.node
	}
	fingerprint := d.fingerprint
	if l.alive {
		fingerprint = d.header
	}
	before := fingerprint()
	start := time.Now()
	evidence, claim := inspected(t, path)
	defer claim.Close()
	t.Logf("inspected in %v", time.Since(start).Round(time.Millisecond))
	if after := fingerprint(); after != before {
		t.Errorf("inspecting changed the device:\nbefore %s\nafter  %s", before, after)
	}
	if _, err := guard.Judge(evidence, []lab.Step{lab.Load}, true, guard.Consent{}); err != nil {
		t.Errorf("a load that only reads is refused: %v", err)
	}
	verdict, err := guard.Judge(evidence, destructive(), false, guard.Consent{})
	if l.want == "" {
		if err != nil || !verdict.MayWrite || !verdict.Empty {
			t.Errorf("refused, want accepted: %v", err)
		}
		t.Log(verdict)
		if err := claim.StillTheSame(); err != nil {
			t.Error(err)
		}
		return
	}
	t.Log(err)
	mustRefuse(t, verdict, err, l.want)
	name := guard.Override(evidence.Identity.Token())
	verdict, err = guard.Judge(evidence, destructive(), false, guard.Consent{Destroy: name})
	if l.inUse {
		mustRefuse(t, verdict, err, l.want)
	} else if err != nil || !verdict.MayWrite || verdict.Empty {
		t.Errorf("refused although the drive was named: %v", err)
	}
	verdict, err = guard.Judge(evidence, destructive(), false, guard.Consent{Destroy: name + "0"})
	mustRefuse(t, verdict, err, "does not name it")
	if _, err := claim.CleanUp(context.Background(), host.NewLocal(t.TempDir()), verdict); lab.KindOf(err) !=
		lab.Refused {
		t.Errorf("cleaned without permission: %v", err)
	}
	if after := fingerprint(); after != before {
		t.Errorf("judging changed the device:\nbefore %s\nafter  %s", before, after)
	}
}

func mustRefuse(t *testing.T, v guard.Verdict, err error, want string) {
	t.Helper()
	if lab.KindOf(err) != lab.Refused || v.MayWrite || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want it refused with %q", err, want)
	}
	if e, ok := errors.AsType[*lab.Error](err); ok && len(e.Hints) == 0 {
		t.Error("the refusal has no hint")
	}
}

// TestNoDevice inspects paths that are no block devices; not even reading is allowed there.
func TestNoDevice(t *testing.T) {
	dir := t.TempDir()
	file, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "fifo")
	if err := os.WriteFile(file, make([]byte, mib), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file: "a regular file", dir: "a directory", fifo: "a named pipe", "/dev/null": "a character device",
		filepath.Join(dir, "missing"): "not there",
	} {
		evidence, claim, err := guard.Inspect(context.Background(), host.NewLocal(dir), path)
		if err != nil || claim != nil {
			t.Fatalf("%s: %v, claim %v", path, err, claim)
		}
		for _, onlyReads := range []bool{true, false} {
			v, err := guard.Judge(evidence, []lab.Step{lab.Load}, onlyReads, guard.Consent{})
			mustRefuse(t, v, err, want)
		}
		if err := claim.Close(); err != nil {
			t.Errorf("closing no claim: %v", err)
		}
	}
}
