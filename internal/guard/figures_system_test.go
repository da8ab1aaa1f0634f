//go:build system

package guard_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"headroom/internal/guard"
	"headroom/internal/stat"
	"headroom/internal/target"
)

// TestReadingFigures prints how long a large blank device takes, and how fast it is read beside dd. make bench asks for it.
func TestReadingFigures(t *testing.T) {
	if os.Getenv("HEADROOM_GUARD_FIGURES") == "" {
		t.Skip("HEADROOM_GUARD_FIGURES=1 has it measured")
	}
	needRoot(t)
	proved := func(node string, reread bool) (guard.Sample, float64) {
		start := time.Now()
		evidence, claim, err := guard.Inspect(context.Background(), target.NewLocal(t.TempDir()), node)
		if err != nil {
			t.Fatal(err)
		}
		defer claim.Close()
		if reread {
			start = time.Now()
		}
		if !evidence.Sample.Whole || reread {
			if err := claim.ReadWhole(context.Background(), &evidence, func(guard.Progress) {}); err != nil {
				t.Fatal(err)
			}
		}
		took := time.Since(start).Seconds()
		v, err := guard.Judge(evidence, destructive(), false, guard.Consent{})
		if err != nil || !v.Empty {
			t.Fatalf("%s, %v", v, err)
		}
		return v.Sample, took
	}

	large := newDisk(t, 100<<30)
	var times []float64
	for range 10 {
		_, took := proved(large.node, false)
		times = append(times, took)
	}
	fmt.Printf("figure: proving 100 GiB of a sparse loop device empty: %s s\n", spread(times))

	const size = 1 << 30
	for _, way := range []string{"off", "on"} {
		written := newDisk(t, size, "--direct-io="+way)
		written.run("coreutils", "dd", "if=/dev/zero", "of="+written.image, "bs=4M", fmt.Sprint("count=", size>>22), "conv=notrunc,fsync", "status=none")
		written.run("coreutils", "sync")
		var ours, dd, ratios []float64
		for range 20 {
			sample, took := proved(written.node, true)
			if sample.Bytes != size {
				t.Fatalf("%d bytes were read", sample.Bytes)
			}
			start := time.Now()
			if out, err := exec.Command("dd", "if="+written.node, "of=/dev/null", "iflag=direct", "bs=4M").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			beside := time.Since(start).Seconds()
			ours, dd, ratios = append(ours, size/took/(1<<30)), append(dd, size/beside/(1<<30)), append(ratios, beside/took)
		}
		fmt.Printf("figure: reading 1 GiB of zeros from a loop device, direct-io=%s: %s GiB/s; dd iflag=direct bs=4M: %s GiB/s; ratio %s\n", way, spread(ours), spread(dd), spread(ratios))
	}
}

// spread is the median with its interval of 95%, and how many there are.
func spread(values []float64) string {
	i := stat.MedianInterval(values, 0.95)
	return fmt.Sprintf("%.3g [%.3g, %.3g] (n=%d)", i.Center, i.Lo, i.Hi, len(values))
}
