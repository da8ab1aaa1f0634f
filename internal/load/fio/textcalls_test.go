package fio

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// result returns the results of a job in fio's format: its process, the second in which they were printed, and the
// reads of one second.
func result(name string, pid, second, reads int) string {
	return fmt.Sprintf("%s: (groupid=0, jobs=1): err= 0: pid=%d: Sun Nov 29 10:11:%02d 2026\n"+
		"  read: IOPS=%d, BW=%dKiB/s (1kB/s)(%dKiB/1000msec)\n"+
		"     issued rwts: total=%d,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n",
		name, pid, second, reads, 4*reads, 4*reads, reads)
}

const summary = "\nRun status group 0 (all jobs):\n   READ: bw=1KiB/s (1kB/s), 1KiB/s-1KiB/s (1kB/s-1kB/s), io=1KiB (1kB), " +
	"run=1000-1000msec\n\nDisk stats (read/write):\n  sda: ios=1/0, merge=0/0, ticks=0/5, in_queue=5, util=9.9%\n"

// banner returns the lines that fio prints before it starts.
func banner(name, bs string) string {
	size := bs + "-" + bs
	return name + ": (g=0): rw=randread, bs=(R) " + size + ", (W) " + size + ", (T) " + size +
		", ioengine=psync, iodepth=1\nfio-3.33\nStarting 1 process\n"
}

// terse returns a line of terse output with only reads.
func terse(reads int) string {
	return fmt.Sprintf("3;fio-3.7;t;0;0;%d;%d;%d;1000", 4*reads, 4*reads, reads) +
		strings.Repeat(";0", 2*terseDirection-4+terseRest) + "\n"
}

// TestTerseLines checks possible faults of a line of terse output.
func TestTerseLines(t *testing.T) {
	whole := terse(5)
	for name, text := range map[string]string{"cut": whole[:len(whole)/2] + "\n", "of version 2": "2" + whole[1:],
		"without a name": strings.Replace(whole, ";t;", ";;", 1)} {
		if blocks, lost, err := ParseText(strings.NewReader(text)); err != nil || len(blocks) > 0 ||
			(len(lost) == 1) != (name == "cut") {
			t.Errorf("%s: %v, lines %v are lost, %v", name, blocks, lost, err)
		}
	}
	mixed := strings.TrimSuffix(whole, strings.Repeat(";0", terseDirection)+"\n")
	blocks, _, err := ParseText(strings.NewReader(mixed))
	if err != nil || len(blocks) != 1 || blocks[0].Document.Groups()[0].Values["mixed.iops"] != 5 {
		t.Errorf("reads and writes in one: %v, %v", blocks, err)
	}
}

// TestSeparateCalls checks which results of a text belong together. want has for each group of each block its name, its
// rate of reads and its block size.
func TestSeparateCalls(t *testing.T) {
	command := "root@pve1:~# fio --name=t --rw=randread --bs=4k\n"
	line := func(reads int) string {
		return fmt.Sprintf("  read: IOPS=%d, BW=%dKiB/s (1kB/s)(%dKiB/1000msec)\n", reads, 4*reads, 4*reads)
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"two calls without a header": {result("t", 1, 0, 100) + summary + result("t", 2, 30, 200) + summary,
			[]string{"t 100 ", "t 200 "}},
		"without a summary, at other times": {result("t", 1, 0, 100) + result("t", 2, 30, 200),
			[]string{"t 100 ", "t 200 "}},
		"two jobs of one call": {result("t", 1, 0, 100) + result("t", 2, 1, 200) + summary, []string{"t 300 "}},
		"two jobs, and another call of both": {result("t", 1, 0, 100) + result("u", 2, 0, 200) + summary +
			result("t", 3, 0, 300) + result("u", 4, 0, 400) + summary,
			[]string{"t 100 ", "u 200 ", "t 300 ", "u 400 "}},
		"a version between": {result("t", 1, 0, 100) + "fio-3.33\nStarting 1 process\n" + result("t", 2, 0, 200),
			[]string{"t 100 ", "t 200 "}},
		"a prompt between": {result("t", 1, 0, 100) + "root@pve2:~# cat result.txt\n" + result("t", 2, 0, 200),
			[]string{"t 100 ", "t 200 "}},
		"a script's prompt between": {result("t", 1, 0, 100) + "$ ./bench.sh\n" + result("t", 2, 0, 200),
			[]string{"t 100 ", "t 200 "}},
		"reports of one call": {command + banner("t", "4096B") + result("t", 1, 0, 100) + summary +
			result("t", 1, 1, 200) + summary + result("t", 1, 2, 300) + summary, []string{"t 300 4k"}},
		"reports of two jobs": {result("t", 1, 0, 100) + result("t", 2, 0, 200) + summary + result("t", 1, 5, 300) +
			result("t", 2, 5, 400) + summary, []string{"t 700 "}},
		"a loop with whole outputs": {"root@pve1:~# for i in 1 2; do fio --name=t --rw=randread --bs=4k; done\n" +
			banner("t", "4096B") + result("t", 1, 0, 100) + summary + banner("t", "4096B") + result("t", 2, 30, 200) +
			summary, []string{"t 100 4k", "t 200 4k"}},
		"a loop over nothing": {"# for bs in  ; do fio --name=t --rw=randread --bs=4k; done\n" +
			banner("t", "4096B") + result("t", 1, 0, 100) + summary, []string{"t 100 4k"}},
		"a loop over block sizes": {"# for bs in 4k 64k; do fio --name=t --rw=randread --bs=$bs | grep IOPS; done\n" +
			line(100) + line(200), []string{"t 100 4k", "t 200 64k"}},
		"a loop over block sizes and names": {"for b in 4k 64k; do\n  for n in t u; do\n    fio --name=$n --rw=randread " +
			"--bs=${b}\n  done\ndone\n" + result("t", 1, 0, 1) + summary + result("u", 2, 0, 2) + summary +
			result("t", 3, 0, 3) + summary + result("u", 4, 0, 4) + summary,
			[]string{"t 1 4k", "u 2 4k", "t 3 64k", "u 4 64k"}},
		"a loop whose values are not known": {"# for bs in $SIZES; do fio --name=t --rw=randread --bs=$bs; done\n" +
			line(100) + line(200), []string{"t, pass 1 100 ", "t, pass 2 200 "}},
		"such a loop with headers": {"# for bs in $(sizes); do fio --name=t --rw=randread --bs=$bs; done\n" +
			banner("t", "4096B") + result("t", 1, 0, 100) + summary + banner("t", "64.0KiB") + result("t", 2, 0, 200),
			[]string{"t 100 4k", "t 200 64k"}},
		"two lines below one command": {command + line(100) + "after tuning\n" + line(200),
			[]string{"t 100 4k", "t 200 4k"}},
		"what another command printed": {command + line(100) + "root@pve1:~# cat old.txt\n" + line(200),
			[]string{"t 100 4k"}},
		"a command that a terminal wrapped": {"$ fio --filename=/dev/vdb --name=t --rw=randread --direct=1 --runtim\n" +
			"e=60 --bs=4k\n" + line(100), []string{"t 100 4k"}},
		"a command that was wrapped before an option": {"$ fio --name=t --rw=randread --direct=1\n--bs=4k --runtime=60\n" +
			line(100), []string{"t 100 4k"}},
		"a wrapped command in a loop": {"for n in 1 2; do\n  fio --name=t --rw=randread --bs=${n}k --direct=1 --runtim\n" +
			"e=60 --time_based\ndone\n" + line(100) + line(200), []string{"t 100 1k", "t 200 2k"}},
		"indented": {"    " + strings.ReplaceAll(command+banner("t", "4096B")+result("t", 1, 0, 100), "\n", "\n    "),
			[]string{"t 100 4k"}},
		"jobs of one name, by their command": {"$ fio --name=t --rw=randread --bs=4k --numjobs=2 --name=t --rw=randread " +
			"--bs=64k\n" + result("t", 1, 0, 100) + result("t", 2, 0, 200) + result("t", 3, 0, 400),
			[]string{"t 300 4k", "t 400 64k"}},
		"jobs of one name, by their headers": {banner("t", "4096B") + banner("t", "64.0KiB") +
			result("t", 1, 0, 100) + result("t", 2, 0, 200), []string{"t 100 4k", "t 200 64k"}},
		"reports of jobs of one name": {"$ fio --name=t --rw=randread --bs=4k --name=t --rw=randread --bs=64k\n" +
			result("t", 1, 0, 100) + result("t", 2, 0, 200) + summary + result("t", 1, 1, 300) + result("t", 2, 1, 400),
			[]string{"t 300 4k", "t 400 64k"}},
		"terse output twice": {terse(100) + terse(200), []string{"t 100 ", "t 200 "}},
		"terse output of two jobs": {"$ fio --minimal --name=t --rw=randread --bs=4k --numjobs=2\n" + terse(100) + terse(200) +
			terse(300) + terse(400), []string{"t 300 4k", "t 700 4k"}},
		"clients and their sum": {"<a> " + banner("t", "4096B") + "<b> " + banner("t", "4096B") +
			result("t", 1, 0, 100) + result("t", 2, 0, 200) + result("All clients", 0, 0, 300), []string{"t 300 4k"}},
		"clients that end one after the other": {"<a> " + banner("t", "4096B") + "<b> " + banner("t", "4096B") +
			result("t", 1, 0, 100) + result("t", 2, 30, 200) + result("All clients", 0, 30, 300), []string{"t 300 4k"}},
		"a variable that is not of the load": {"$ fio --name=t --rw=randread --bs=4k --filename=$DEV\n" + line(100),
			[]string{"t 100 4k"}},
		"a summary alone": {strings.ReplaceAll(summary, "bw=1KiB", "bw=400KiB"), []string{"all jobs 0 "}},
	} {
		blocks, lost, err := ParseText(strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range blocks {
			for _, g := range b.Document.Groups() {
				got = append(got, fmt.Sprintf("%s %v %s", g.Name, g.Values["read.iops"], g.Params["bs"]))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q, of\n%s", name, got, c.want, c.text)
		}
		if (len(lost) > 0) != (name == "what another command printed") {
			t.Errorf("%s: lines %v are lost", name, lost)
		}
	}
}

// TestNothingIsLost combines results in many ways and checks that each is found once, in its block, or listed.
func TestNothingIsLost(t *testing.T) {
	pieces := []string{"root@pve1:~# fio --name=t --rw=randread --bs=4k\n", "root@pve2:~# ./bench.sh\n", summary,
		banner("t", "4096B"), "fio-3.33\n", "\n", "## after tuning\n", "RESULT", "RESULT", "LINE"}
	for seed := range 20000 {
		var text strings.Builder
		var rates []int
		for n := seed; n > 0; n /= len(pieces) {
			rate := 1 << len(rates)
			switch piece := pieces[n%len(pieces)]; piece {
			case "RESULT":
				rates = append(rates, rate)
				text.WriteString(result("t", 10+len(rates), 7*len(rates), rate))
			case "LINE":
				rates = append(rates, rate)
				fmt.Fprintf(&text, "  read: IOPS=%d, BW=4KiB/s (1kB/s)(4KiB/1000msec)\n", rate)
			default:
				text.WriteString(piece)
			}
		}
		blocks, lost, err := ParseText(strings.NewReader(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		var found []int
		for _, b := range blocks {
			for _, g := range b.Document.Groups() {
				if rate := g.Values["read.iops"]; rate > 0 { // a summary alone has none
					found = append(found, int(rate))
				}
			}
		}
		unknown := slices.ContainsFunc(found, func(rate int) bool { return !slices.Contains(rates, rate) })
		once := slices.Compact(slices.Sorted(slices.Values(found)))
		if unknown || len(once) != len(found) || len(found)+len(lost) != len(rates) {
			t.Fatalf("%d: found %v and lost %v, want %v, of\n%s", seed, found, lost, rates, text.String())
		}
	}
}
