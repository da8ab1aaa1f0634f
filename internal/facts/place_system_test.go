//go:build system

package facts

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/counters"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
)

// TestLoopDevices resolves real stacks: a loop device over a file, a partition of it, file systems on both, and a btrfs
// over two devices.
func TestLoopDevices(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	local := host.NewLocal(t.TempDir())
	dir := t.TempDir()
	under, err := storage.ResolvePlace(t.Context(), local, dir)
	if err != nil {
		t.Fatal(err)
	}
	file := image(t, filepath.Join(dir, "image with a space"), 64<<20)
	loop := attach(t, local, file)
	name := filepath.Base(loop)
	// The disks under the loop device are those under its file; on a tmpfs, the loop device itself.
	disks := under.Disks
	if len(disks) == 0 {
		disks = []string{name}
	}

	place := resolved(t, local, loop)
	if place.Kind != lab.Device || place.Size != 64<<20 || !slices.Equal(place.Disks, disks) {
		t.Errorf("the loop device: %+v, disks %v wanted", place, disks)
	}
	link := filepath.Join(dir, "by-link")
	if err := os.Symlink(loop, link); err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(dir, "node of another name")
	var number unix.Stat_t
	if err := unix.Stat(loop, &number); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mknod(node, unix.S_IFBLK|0o600, int(number.Rdev)); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{link, node} {
		if p := resolved(t, local, other); p.Size != place.Size || !slices.Equal(p.Disks, place.Disks) ||
			p.Path != other {
			t.Errorf("%s: %+v", other, p)
		}
	}

	factstest.Run(t, local, "mkfs.ext4", "-q", loop)
	point := mounted(t, local, loop, "ext4")
	place = resolved(t, local, point)
	if place.Kind != lab.Directory || place.Filesystem != "ext4" || !slices.Equal(place.Disks, disks) {
		t.Errorf("ext4 on the loop device: %+v", place)
	}
	space, err := storage.Free(t.Context(), local, point)
	if err != nil || space.Total <= 32<<20 || space.Total > 64<<20 || space.Available > space.Free {
		t.Errorf("room on the loop device: %+v, %v", space, err)
	}
	same, err := storage.SameDevice(t.Context(), local, place, filepath.Join(dir, "not", "there"))
	if err != nil || same == (len(under.Disks) == 0) {
		t.Errorf("a folder beside the image: same device is %v, %v", same, err)
	}

	facts, err := SnapshotWithin(t.Context(), 5*time.Minute, local, place)
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, facts)
	if got, want := factstest.ValueOf(facts, "device.under-test.stack"),
		name+" (file "+file+")"; !strings.HasPrefix(got, want) {
		t.Errorf("the stack is %q, it should begin with %q", got, want)
	}

	second := attach(t, local, image(t, filepath.Join(dir, "second"), 128<<20))
	third := attach(t, local, image(t, filepath.Join(dir, "third"), 128<<20))
	factstest.Run(t, local, "mkfs.btrfs", "-q", "-d", "raid0", "-m", "raid1", second, third)
	point = mounted(t, local, second, "btrfs")
	s := storage.NewStack(collect.Reader{FS: local.FS()})
	m, ok := collect.MountOf(s.Mounts, point)
	both := []string{filepath.Base(second), filepath.Base(third)}
	if got := s.OfMount(m); !ok ||
		!slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(both))) {
		t.Errorf("btrfs over two devices is stored on %v, not %v", got, both)
	}
}

// TestInUse checks a loop device without and with a load, until it sees each: other programs may search for signatures
// on every disk meanwhile, and a busy machine may delay the load.
func TestInUse(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	local := host.NewLocal(t.TempDir())
	loop := attach(t, local, image(t, filepath.Join(t.TempDir(), "image"), 64<<20))
	disks := []string{filepath.Base(loop)}
	await := func(what string, right func(counters.Activity) bool) {
		t.Helper()
		var seen counters.Activity
		for end := time.Now().Add(5 * time.Minute); !right(seen); {
			var err error
			if seen, err = counters.InUse(t.Context(), local, disks); err != nil || time.Now().After(end) {
				t.Fatalf("%s, and it shows %v, %v", what, seen, err)
			}
		}
	}
	looked := false
	await("nobody uses the device", func(a counters.Activity) bool {
		defer func() { looked = true }()
		return looked && !a.Disturbing()
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_, _ = local.Run(ctx, "dd", "if="+loop, "of=/dev/null", "bs=4k", "count=1000", "iflag=direct")
		}
	}()
	defer func() {
		stop()
		<-done
	}()
	await("the device is read all the time", func(a counters.Activity) bool {
		if a.WriteIOPS != 0 {
			t.Errorf("nobody writes, and it shows %v", a)
		}
		return a.Disturbing() && a.ReadIOPS > 0
	})
}

func image(t *testing.T, name string, size int64) string {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	return name
}

func attach(t *testing.T, local *host.Local, file string) string {
	t.Helper()
	loop := factstest.Run(t, local, "losetup", "--find", "--show", file)
	t.Cleanup(func() { factstest.Cleanup(t, local, "losetup", "--detach", loop) })
	return loop
}

func mounted(t *testing.T, local *host.Local, device, kind string) string {
	t.Helper()
	point := t.TempDir()
	factstest.Run(t, local, "mount", "-t", kind, device, point)
	t.Cleanup(func() { factstest.Cleanup(t, local, "umount", point) })
	return point
}

func resolved(t *testing.T, local *host.Local, name string) lab.Place {
	t.Helper()
	place, err := storage.ResolvePlace(t.Context(), local, name)
	if err != nil {
		t.Fatal(err)
	}
	return place
}
