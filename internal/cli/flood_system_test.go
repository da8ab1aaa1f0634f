//go:build system

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// printing has one load that prints more than is read, one that prints more than it may and would go on, and one that
// does neither.
const printing = `version: 1
name: printing
title: commands that print much
place: directory
repetitions: 1
jobs:
  - name: long
    exec: [sh, -c, "head -c 70000000 /dev/zero | tr '\\0' x; echo; echo 'rate = 7'"]
    metrics: {rate: {match: 'rate = (\d+)', unit: 1/s, better: higher}}
  - name: flood
    exec: [sh, -c, "truncate -s 300M /proc/self/fd/1; sleep 3600"]
  - name: short
    exec: [echo, done]
`

func TestLoadsThatPrintTooMuch(t *testing.T) {
	t.Parallel()
	v := newFixture(t)
	if err := os.WriteFile(v.suite, []byte(printing), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := v.command("run", v.suite, v.place).CombinedOutput(); err == nil || len(out) > 64<<10 ||
		!strings.Contains(string(out), "1 of 3 loads failed") {
		t.Fatalf("%v, %d bytes: %.4000s", err, len(out), out)
	}
	reps := v.saved("last")
	codes, values := map[string][]string{}, map[string]map[string]float64{}
	for _, r := range reps {
		values[r.Cell] = r.Values
		for _, w := range r.Warnings {
			if slices.Contains([]string{"too-much-output", "output-cut"}, w.Code) { // others are about the machine
				codes[r.Cell] = append(codes[r.Cell], w.Code)
			}
		}
	}
	if len(reps) != 3 || !slices.Equal(codes["long"], []string{"output-cut"}) || values["long"]["rate"] != 7 {
		t.Errorf("%v, %v", codes, reps)
	}
	if !slices.Equal(codes["flood"], []string{"too-much-output", "output-cut"}) || len(values["flood"]) > 0 {
		t.Errorf("%v, %v", codes, reps)
	}
	if len(codes["short"]) != 0 || len(values["short"]) == 0 {
		t.Errorf("%v, %v", codes, reps)
	}
}

// A fio that prints something else without a line's end leaves a warning of a sentence, and both ends of what it
// printed.
func TestFioThatPrintsGarbage(t *testing.T) {
	t.Parallel()
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Fatal(err)
	}
	v := newFixture(t)
	programs := t.TempDir()
	script := `#!/bin/sh
case "$*" in
*rw=rand*) echo begin; head -c 70000000 /dev/zero | tr '\0' x; echo end ;;
*) exec ` + fio + ` "$@" ;;
esac
`
	writeProgram(t, filepath.Join(programs, "fio"), script)
	run := v.command("run", v.suite, v.place, "--repeat", "1")
	run.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
	if out, _ := run.CombinedOutput(); len(out) == 0 || len(out) > 64<<10 {
		t.Fatalf("%d bytes: %.4000s", len(out), out)
	}
	reps := v.saved("last")
	if len(reps) == 0 {
		t.Fatal("no repetition")
	}
	for _, r := range reps {
		if i := slices.IndexFunc(r.Warnings, func(w lab.Warning) bool { return w.Code == "no-result" }); i < 0 ||
			len(r.Warnings[i].Text) > 500 {
			t.Errorf("%.1000v", r.Warnings)
		}
	}
	raw, err := v.command("show", "last", "--raw").Output()
	if err != nil || len(raw) > 16<<20 || !bytes.Contains(raw, []byte("xend\n")) ||
		!bytes.Contains(raw, []byte("[headroom left out ")) {
		t.Errorf("%v, %d bytes: %.300q", err, len(raw), raw)
	}
	if out, err := v.command("show", "last").Output(); err != nil || len(out) > 64<<10 ||
		!strings.Contains(string(out), "no-result") {
		t.Errorf("%v, %d bytes: %.4000s", err, len(out), out)
	}
}

// A fio that fails with 5 MB of escape sequences on its standard error leaves a warning of a sentence. All of it is
// where raw output is, and none of it on the terminal.
func TestFioThatPrintsEscapes(t *testing.T) {
	t.Parallel()
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Fatal(err)
	}
	v := newFixture(t)
	programs := t.TempDir()
	line := "\x1b]0;owned\a\x1b[2K\r\u009b31m\u202efio: all is well"
	messages := strings.Repeat(line+"\n", 5<<20/len(line))
	if err := os.WriteFile(filepath.Join(programs, "messages"), []byte(messages), 0o644); err != nil {
		t.Fatal(err)
	}
	script := `#!/bin/sh
case "$*" in
*rw=rand*) cat ` + programs + `/messages >&2; exit 1 ;;
*) exec ` + fio + ` "$@" ;;
esac
`
	writeProgram(t, filepath.Join(programs, "fio"), script)
	run := v.command("run", v.suite, v.place, "--repeat", "1")
	run.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
	out, _ := run.CombinedOutput()
	if len(out) == 0 || len(out) > 64<<10 || !strings.Contains(string(out), `\u001b`) {
		t.Fatalf("%d bytes: %.4000s", len(out), out)
	}
	checkHarmless(t, []string{"run"}, "its output", string(out))
	reps := v.saved("last")
	if len(reps) == 0 {
		t.Fatal("no repetition")
	}
	for _, r := range reps {
		if len(r.Warnings) == 0 {
			t.Errorf("no warning: %+v", r)
		}
		for _, w := range r.Warnings {
			if len(w.Text) > 2500 || strings.Contains(w.Text, "\n") {
				t.Errorf("%d bytes: %.1000q", len(w.Text), w.Text)
			}
		}
	}
	kept := strings.ReplaceAll(messages, "\r", "\n") // which is what ends fio's status lines
	if raw, err := v.command("show", "last", "--raw").Output(); err != nil || !bytes.Contains(raw, []byte(kept)) {
		t.Errorf("%v, %d bytes of the %d that were printed: %.300q", err, len(raw), len(messages), raw)
	}
	for _, args := range [][]string{{"show", "last"}, {"show", "last", "--json"}, {"report", "last"}} {
		out, err := v.command(args...).Output()
		if err != nil || len(out) == 0 || len(out) > 1<<20 {
			t.Errorf("headroom %q: %v, %d bytes", args, err, len(out))
		}
		checkHarmless(t, args, "standard output", string(out))
	}
}

func (v fixture) saved(run string) []lab.Repetition {
	v.t.Helper()
	b, err := store.Open(v.store).Find(run)
	if err != nil {
		v.t.Fatal(err)
	}
	var all []lab.Repetition
	for r, err := range b.Repetitions() {
		if err != nil {
			v.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}
