//go:build bench && system

package guard_test

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/guard"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/figure/sampled"
)

// Measures how long a large blank device takes, and how fast it is read compared to dd.
func TestReadingFigures(t *testing.T) {
	needRoot(t)
	proved := func(node string, reread bool) (guard.Sample, float64) {
		start := time.Now()
		evidence, claim, err := guard.Inspect(context.Background(), host.NewLocal(t.TempDir()), node)
		if err != nil {
			t.Fatal(err)
		}
		defer claim.Close()
		if reread {
			start = time.Now()
		}
		if !evidence.Sample.Whole || reread {
			if err := claim.ReadAll(context.Background(), &evidence, func(guard.Progress) {}); err != nil {
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
	figure.Record(t, sampled.Median("guard/sparse", "s", times,
		figure.Lower).Saying("proving 100 GiB of a sparse loop device empty"))

	const size = 1 << 30
	for _, way := range []string{"off", "on"} {
		written := newDisk(t, size, "--direct-io="+way)
		written.run("coreutils", "dd", "if=/dev/zero", "of="+written.image, "bs=4M", fmt.Sprint("count=", size>>22),
			"conv=notrunc,fsync", "status=none")
		written.run("coreutils", "sync")
		var ours, dd, ratios []float64
		for range 20 {
			sample, took := proved(written.node, true)
			if sample.Bytes != size {
				t.Fatalf("%d bytes were read", sample.Bytes)
			}
			start := time.Now()
			if out, err := exec.Command("dd", "if="+written.node, "of=/dev/null", "iflag=direct",
				"bs=4M").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			beside := time.Since(start).Seconds()
			ours, dd, ratios = append(ours, size/took), append(dd, size/beside), append(ratios, beside/took)
		}
		what := "1 GiB of zeros of a loop device, direct-io=" + way
		figure.Record(t, sampled.Median("guard/read/direct-"+way, "B/s", ours, figure.Higher).Saying("reading %s",
			what))
		figure.Record(t, sampled.Median("guard/read-by-dd/direct-"+way, "B/s", dd,
			"").Saying("dd iflag=direct bs=4M of %s", what))
		figure.Record(t, sampled.Median("guard/read-over-dd/direct-"+way, "ratio", ratios,
			figure.Higher).Saying("rate of reading %s over that of dd", what))
	}
}
