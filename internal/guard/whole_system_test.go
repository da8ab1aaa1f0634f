//go:build system

package guard_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/guard"
	"github.com/headroom/headroom/internal/host"
)

// TestMapping is the program that maps a device, closes it and keeps running.
func TestMapping(t *testing.T) {
	node := os.Getenv("GUARD_MAP")
	if node == "" {
		t.Skip("only the layouts start it")
	}
	f, err := os.OpenFile(node, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	f.Close()
	fmt.Println("ready")
	time.Sleep(10 * time.Minute)
}

// TestAnyPlace writes 4 KiB at random places of large devices, one at a time: each time the device is refused and left
// unchanged, and afterwards, blank again, accepted.
func TestAnyPlace(t *testing.T) {
	needRoot(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 0))
	for _, size := range []int64{3 << 30, 20 << 30} {
		d := newDisk(t, size)
		for range 20 {
			at := draw.Int64N(size/4096) * 4096
			data := make([]byte, 4096)
			for i := range data {
				data[i] = byte(draw.Uint32())
			}
			data[0] = 'x'
			d.write(at, data)
			before := d.fingerprint()
			evidence, claim := inspected(t, d.node)
			v, err := guard.Judge(evidence, destructive(), false, guard.Consent{})
			mustRefuse(t, v, err, fmt.Sprintf("there are data at %#x ", at))
			if err := claim.Close(); err != nil {
				t.Error(err)
			}
			if after := d.fingerprint(); after != before {
				t.Errorf("the device changed:\nbefore %s\nafter  %s", before, after)
			}
			d.run("util-linux", "blkdiscard", "--force", "--offset", fmt.Sprint(at), "--length", "4096", d.node)
		}
		if _, v := claimed(t, d.node, ""); !v.Empty {
			t.Errorf("blank, and not accepted: %s", v)
		}
	}
}

// TestDataInMemory checks that data that was written to the device but not yet to the file underneath is found.
func TestDataInMemory(t *testing.T) {
	needRoot(t)
	d := newDisk(t, 3<<30)
	held, err := os.Open(d.node) // the last one to close it would flush it
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	d.writeUnflushed(1<<30, []byte("something"))
	evidence, claim := inspected(t, d.node)
	defer claim.Close()
	v, err := guard.Judge(evidence, destructive(), false, guard.Consent{})
	mustRefuse(t, v, err, "there are data at 0x40000000 ")
}

// TestSampledByName checks that a sample is never called empty, and allows nothing unless the drive was named for it.
func TestSampledByName(t *testing.T) {
	needRoot(t)
	d := newDisk(t, 1<<30+64*mib)
	d.removeImage() // so that its holes are not known
	evidence, claim, err := guard.Inspect(context.Background(), host.NewLocal(t.TempDir()), d.node)
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Close()
	v, err := guard.Judge(evidence, destructive(), false, guard.Consent{})
	mustRefuse(t, v, err, "the rest was not read")
	v, err = guard.Judge(evidence, destructive(), false, guard.Consent{Sampled: "1"})
	mustRefuse(t, v, err, "does not name it")
	v, err = guard.Judge(evidence, destructive(), false,
		guard.Consent{Sampled: guard.Override(evidence.Identity.Token())})
	if err != nil || !v.MayWrite || !v.Sampled || v.Empty || strings.Contains(v.String(), "empty") ||
		len(v.Sample.Misses) == 0 {
		t.Errorf("%+v, %v", v, err)
	}
	t.Log(v)
	if err := claim.ReadAll(context.Background(), &evidence, func(guard.Progress) {}); err != nil {
		t.Fatal(err)
	}
	if v, err = guard.Judge(evidence, destructive(), false, guard.Consent{}); err != nil || !v.Empty {
		t.Errorf("%+v, %v", v, err)
	}
	t.Log(v)
}

// TestInterruptedReading checks that an interrupted reading gives no verdict, and releases the device.
func TestInterruptedReading(t *testing.T) {
	needRoot(t)
	d := newDisk(t, 1<<30+64*mib)
	d.removeImage()
	evidence, claim, err := guard.Inspect(context.Background(), host.NewLocal(t.TempDir()), d.node)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := claim.ReadAll(ctx, &evidence, func(guard.Progress) {}); !errors.Is(err, context.Canceled) ||
		evidence.Sample.Whole {
		t.Errorf("%v, %+v", err, evidence.Sample)
	}
	if err := claim.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(d.node, os.O_RDONLY|exclusive, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// TestWhoComesMeanwhile checks that a program is found that opens the device while it is read.
func TestWhoComesMeanwhile(t *testing.T) {
	needRoot(t)
	d := newDisk(t, 1<<30+64*mib)
	d.removeImage()
	evidence, claim, err := guard.Inspect(context.Background(), host.NewLocal(t.TempDir()), d.node)
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Close()
	d.background("dash", "sh", "-c", `exec 3<>"$1"; echo ready; exec sleep 600`, "sh", d.node)
	if err := claim.ReadAll(context.Background(), &evidence, func(guard.Progress) {}); err != nil {
		t.Fatal(err)
	}
	v, err := guard.Judge(evidence, destructive(), false, guard.Consent{})
	mustRefuse(t, v, err, "is open for writing in process ")
}
