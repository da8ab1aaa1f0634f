//go:build system

package validity_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/facts/counters"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/validity"
)

// bench is this machine with a place to load: what headroom's runner knows of it.
type bench struct {
	t       *testing.T
	local   *host.Local
	place   lab.Place
	machine validity.Machine
	// written is the share of what the last load wrote that had reached the disks at its end.
	written float64
	layout  lab.LayoutState
}

// loopSize leaves room for a file of fileSize and for the metadata of btrfs. The backing file lies in memory, so that
// other users of this machine's disk do not show in the counters of the loop device.
const (
	loopSize = 300 << 20
	fileSize = 64 << 20
)

func must(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := host.NewLocal(t.TempDir()).Run(t.Context(), argv...)
	if err != nil || out.ExitCode != 0 {
		t.Fatalf("%s: %v, exit status %d\n%s%s", lab.ShellQuote(argv), err, out.ExitCode, out.Stdout, out.Stderr)
	}
	return strings.TrimSpace(string(out.Stdout))
}

func loop(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a loop device needs root")
	}
	dir, err := os.MkdirTemp("/dev/shm", "headroom-validity")
	if err != nil {
		t.Skip("needs a tmpfs on /dev/shm: ", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	image := filepath.Join(dir, "image")
	must(t, "truncate", "-s", strconv.Itoa(loopSize), image)
	device := must(t, "losetup", "--find", "--show", image)
	t.Cleanup(func() { detach(device) })
	return device
}

// detach and unmount run when the test's own context has ended.
func detach(device string)  { _ = exec.Command("losetup", "-d", device).Run() }
func unmount(folder string) { _ = exec.Command("umount", folder).Run() }

// onLoop mounts a new file system on a loop device; or takes the device itself, when no mkfs is given.
func onLoop(t *testing.T, options string, mkfs ...string) *bench {
	t.Helper()
	device := loop(t)
	if len(mkfs) == 0 {
		return at(t, device)
	}
	if _, err := exec.LookPath(mkfs[0]); err != nil {
		if _, err := os.Stat("/usr/sbin/" + mkfs[0]); err != nil {
			t.Skip(mkfs[0] + " is not installed")
		}
	}
	must(t, append(mkfs, device)...)
	folder := t.TempDir()
	must(t, "mount", "-o", options, device, folder)
	t.Cleanup(func() { unmount(folder) })
	return at(t, folder)
}

func at(t *testing.T, path string) *bench {
	t.Helper()
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is not installed")
	}
	b := &bench{t: t, local: host.NewLocal(t.TempDir())}
	place, err := storage.ResolvePlace(t.Context(), b.local, path)
	if err != nil {
		t.Fatal(err)
	}
	b.place = place
	known, err := facts.SnapshotWithin(t.Context(), 5*time.Minute, b.local, place)
	if err != nil {
		t.Fatal(err)
	}
	b.machine = facts.Machine(known)
	return b
}

// file lays a file out with data, and remembers it as the scratch file.
func (b *bench) file(data func(i int) byte) string {
	b.t.Helper()
	name := filepath.Join(b.place.Path, "scratch")
	f, err := os.Create(name)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for n := range fileSize / len(block) {
		for i := range block {
			block[i] = data(n*len(block) + i)
		}
		if _, err := f.Write(block); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		b.t.Fatal(err)
	}
	b.layout = lab.LayoutState{Kind: "file", ID: "1", Written: time.Now(), Bytes: fileSize}
	return name
}

// noise does not compress: a xorshift generator's bytes.
func noise() func(int) byte {
	x := uint64(88172645463325252)
	return func(int) byte {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		return byte(x)
	}
}

func zeros(int) byte { return 0 }

// fio carries out a load of a second and returns what the checks say of it.
func (b *bench) fio(filename string, params ...string) []lab.Warning {
	b.t.Helper()
	p := map[string]string{"rw": "randread", "bs": "4k", "ioengine": "psync", "direct": "1",
		"size":       strconv.Itoa(fileSize),
		"time_based": "1", "runtime": "1", "randrepeat": "0"}
	for i := 0; i+1 < len(params); i += 2 {
		if params[i+1] == "-" {
			delete(p, params[i])
		} else {
			p[params[i]] = params[i+1]
		}
	}
	ctx := b.t.Context()
	place := b.place
	if place.Kind == lab.Directory {
		place.Size = fileSize
	}
	before := b.read(ctx)
	argv := fio.Argv("test", p, fio.Options{Filename: filename})
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = b.t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // its exit status is evidence
	after := b.read(ctx)
	documents, err := fio.ParseBytes(stdout.Bytes())
	if err != nil || len(documents) != 1 || len(documents[0].Groups()) != 1 {
		b.t.Fatalf("%s: %d documents, %v\n%s%s", lab.ShellQuote(argv), len(documents), err, &stdout, &stderr)
	}
	group := documents[0].Groups()[0]
	b.written = 0
	for disk, c := range after.Disks {
		b.written += float64(c.WriteBytes-before.Disks[disk].WriteBytes) /
			max(1, group.Values[lab.Bandwidth(lab.Write)]*group.Seconds)
	}
	return validity.Repetition(validity.Evidence{
		Cell: lab.Cell{ID: "c1", Params: p}, Place: place, Group: group, Document: documents[0],
		ExitCode: cmd.ProcessState.ExitCode(),
		Stderr:   stderr.String(), Wanted: fio.WantedRuntime(p), Before: before, After: after, Machine: b.machine,
		Repetition: lab.Repetition{Cell: "c1", Number: 1, Start: before.Time, Seconds: group.Seconds,
			Values:  group.Values,
			Latency: group.Latency, Layout: b.layout},
	})
}

func (b *bench) read(ctx context.Context) validity.Counters {
	b.t.Helper()
	counters, err := counters.NewReader(ctx, b.local, b.place.Disks)
	if err != nil {
		b.t.Fatal(err)
	}
	c, err := counters.Read(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// codes are warnings that are wanted, or wanted not to be there.
type codes map[string]bool

// expect wants a load to bring these warnings, or none of them. A machine that does something else may come between:
// such a load is repeated, for what is wrong with a check is wrong each time.
func (b *bench) expect(want codes, filename string, params ...string) {
	b.t.Helper()
	var wrong []string
	for range 8 {
		if wrong = b.differ(want, b.fio(filename, params...)); len(wrong) == 0 {
			return
		}
	}
	b.t.Errorf("%s of %s %q", strings.Join(wrong, ", "), filename, params)
}

// differ names what is not as it is wanted.
func (b *bench) differ(want codes, warnings []lab.Warning) (wrong []string) {
	var all []string
	for _, w := range warnings {
		all = append(all, fmt.Sprintf("%s: %s", w.Code, w.Text))
	}
	b.t.Logf("%s\n", strings.Join(all, "\n"))
	for code, there := range want {
		if slices.ContainsFunc(warnings, func(w lab.Warning) bool { return w.Code == code }) != there {
			wrong = append(wrong, fmt.Sprintf("%s is there: %v", code, !there))
		}
	}
	return wrong
}

func TestHoles(t *testing.T) {
	t.Parallel()
	b := onLoop(t, "rw", "mkfs.ext4", "-q")
	sparse := filepath.Join(b.place.Path, "sparse")
	must(t, "truncate", "-s", strconv.Itoa(fileSize), sparse)
	b.expect(codes{"never-written": true}, sparse)
	// The same with space that is reserved, but not written.
	must(t, "fallocate", "-l", strconv.Itoa(fileSize), sparse)
	b.expect(codes{"never-written": true}, sparse)
	os.Remove(sparse)
	written := b.file(noise())
	b.layout = lab.LayoutState{} // nothing is known of it, and nothing is wrong with it
	b.expect(codes{"never-written": false}, written)
}

func TestPageCache(t *testing.T) {
	t.Parallel()
	b := onLoop(t, "rw", "mkfs.ext4", "-q")
	name := b.file(noise())
	// invalidate=0, or fio drops what is cached of the file first.
	b.expect(codes{"page-cache": true}, name, "direct", "0", "invalidate", "0")
	b.expect(codes{"page-cache": false, "direct-not-honoured": false, "small-file": false}, name)
	unsynced := b.fio(name, "rw", "write", "bs", "64k", "direct", "0", "invalidate", "0")
	if wrong := b.differ(codes{"unsynced-writes": true}, unsynced); b.written < 0.5 && len(wrong) > 0 {
		t.Error(wrong)
	} else { // whoever calls sync(2), or fills memory with data to be written, has that of everybody written
		t.Logf("somebody has had %.0f%% of it written meanwhile", 100*b.written)
	}
	b.expect(codes{"unsynced-writes": false}, name, "rw", "write", "bs", "64k", "direct", "0", "fsync", "16")
}

func TestSyncEngine(t *testing.T) {
	t.Parallel()
	b := onLoop(t, "rw", "mkfs.ext4", "-q")
	name := b.file(noise())
	b.expect(codes{"sync-engine": true}, name, "iodepth", "32")
	b.expect(codes{"sync-engine": false, "depth-not-reached": false}, name, "iodepth", "32", "ioengine", "libaio")
	b.expect(codes{"buffered-async": true}, name, "iodepth", "32", "ioengine", "libaio", "direct", "0")
}

func TestTmpfs(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("/dev/shm", "headroom-validity")
	if err != nil {
		t.Skip("needs a tmpfs on /dev/shm: ", err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	b := at(t, folder)
	b.expect(codes{"memory-backed": true}, b.file(noise()), "direct", "0")
}

func TestCompression(t *testing.T) {
	t.Parallel()
	b := onLoop(t, "compress=zstd", "mkfs.btrfs", "-q", "-M")
	name := b.file(zeros)
	b.expect(codes{"compressible": true}, name, "rw", "read", "bs", "64k")
	b.expect(codes{"compressible": true}, name, "rw", "write", "bs", "128k", "end_fsync", "1", "zero_buffers", "1",
		"time_based", "-", "runtime", "-")
	name = b.file(noise())
	b.expect(codes{"compressible": false}, name, "rw", "read", "bs", "64k")
}

func TestOtherLoad(t *testing.T) {
	t.Parallel()
	b := onLoop(t, "rw")
	b.expect(codes{"other-load": false}, b.place.Path, "rate_iops", "200")
	other := exec.CommandContext(t.Context(), "fio", "--name=other", "--filename="+b.place.Path, "--rw=read",
		"--bs=256k", "--direct=1", "--rate=60m", "--time_based", "--runtime=3600", "--output=/dev/null")
	other.Dir = t.TempDir()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Signal(os.Interrupt)
		_ = other.Wait()
	}()
	b.expect(codes{"other-load": true}, b.place.Path, "rate_iops", "200")
}

func TestEndedEarly(t *testing.T) {
	t.Parallel()
	b := onLoop(t, "rw")
	b.expect(codes{"ended-early": true}, b.place.Path, "time_based", "-", "runtime", "3600", "bs", "1M", "rw", "read")
	b.expect(codes{"errors": false}, b.place.Path)
}

func TestSectors(t *testing.T) {
	t.Parallel()
	b := onLoop(t, "rw")
	b.expect(codes{"errors": true, "block-below-sector": true}, b.place.Path, "bs", "1000", "rw", "write")
	b.expect(codes{"block-below-sector": false}, b.place.Path, "rw", "write")
}
