//go:build system

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"headroom/internal/ablation"
)

// What a boot takes is measured: a guest that is started anew for each visit takes longer to come up than two loads to follow each other.
func TestWhatABootTakes(t *testing.T) {
	v := newVictim(t)
	suite := filepath.Join(filepath.Dir(v.suite), "read.yaml")
	text := "version: 1\njobs:\n  - {name: read, fio: {rw: randread, bs: 4k, iodepth: 8, ioengine: libaio, direct: 1, runtime: 1s, time_based: 1}}\n"
	if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"ablate", suite, "/dev/nvme0n1", "--on", "qemu:" + guestFile(t), "--setting", "cmdline:slub_debug=FZPU", "--alone", "--blocks", "1"}
	if out, err := v.command(append(args, "--repeat", "2")...).CombinedOutput(); err != nil || !strings.Contains(string(out), "Boots differ by ") {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := v.command("ablate", "--show", "last", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var d ablation.Document
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	p := d.PerVisit
	if p == nil || !p.Boots || p.Visits != 3 || p.Repetitions != 2 || len(p.Numbers) != 1 || p.Numbers[0].Metric != "read.iops" || p.VisitSeconds == nil {
		t.Fatalf("%s", out)
	}
	t.Logf("a boot takes %.1f s, a load %.1f s; boots differ by %.1f%%, loads by %.1f%%", *p.VisitSeconds, *p.RepetitionSeconds, 100**p.Numbers[0].Between,
		100**p.Numbers[0].Within)
	if *p.VisitSeconds < 1 || *p.RepetitionSeconds < 1 || *p.Numbers[0].Within <= 0 {
		t.Errorf("%+v", p)
	}
}
