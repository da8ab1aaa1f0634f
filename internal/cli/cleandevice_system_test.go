//go:build system

package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

const writtenSuite = `version: 1
name: written
title: writes to an empty device
place: any
repetitions: 1
jobs:
  - {name: write, fio: {rw: randwrite, bs: 64k, iodepth: 1, ioengine: psync, direct: 1, runtime: 1, time_based: 1}}
`

// Every design that writes to a device leaves it empty, so that the next run can use it.
func TestDesignsCleanTheirDevices(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"run":     "run {suite} {device}",
		"soak":    "soak {suite} {device} --for 2s --round 1s",
		"profile": "profile {suite} {device} --loads 1",
		"live":    "compare --live {suite} {suite} {device} --pairs 8 --confirm 0 --budget 8s",
		"sweep":   "sweep {suite} {device} --factor job:bs=4k,64k --blocks 1",
		"ablate":  "ablate {suite} {device} --setting job:bs=4k --blocks 1",
		"bisect": "bisect settings {suite} {device} --setting job:bs=64k,4k --setting job:numjobs=1,2 " +
			"--budget 10s",
	} {
		t.Run(name, func(t *testing.T) {
			f, device := newFixture(t), attachLoopOf(t, 32<<20, "")
			if err := os.WriteFile(f.suite, []byte(writtenSuite), 0o644); err != nil {
				t.Fatal(err)
			}
			line := strings.NewReplacer("{suite}", f.suite, "{device}", device).Replace(args)
			out, err := f.command(strings.Fields(line)...).CombinedOutput()
			if !bytes.Contains(out, []byte(" IOPS ")) {
				t.Fatalf("nothing was written: %v\n%s", err, out)
			}
			held, err := os.ReadFile(device)
			if err != nil || len(bytes.Trim(held, "\x00")) > 0 {
				t.Errorf("%s holds data, %v:\n%s", device, err, out)
			}
		})
	}
}

// A device is not discarded between the rounds of a soak: that would empty the cache whose end is looked for.
func TestASoakFillsItsDeviceOnce(t *testing.T) {
	t.Parallel()
	f, device := newFixture(t), attachLoopOf(t, 32<<20, "")
	if err := os.WriteFile(f.suite, []byte(writtenSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := f.command("soak", f.suite, device, "--for", "3s", "--round", "1s").CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("discarding")) || bytes.Count(out, []byte("filling")) != 1 {
		t.Errorf("%v\n%s", err, out)
	}
}
