package fio

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

const sampleJobFile = `; a comment
[global]
bs=4k ; inline comment
size=64k # other
ioengine=null
[a]
[global]
rw=read
bs=8k
[b b]
description=x=y ; z
stonewall

  # indented
  [c]
	iodepth =4
iodepth=8
`

func TestParseJobFile(t *testing.T) {
	// The values that fio 3.33 itself printed for this file as the options of each job.
	want := []Section{
		{Name: "a", Line: 6, Params: map[string]string{"bs": "4k", "size": "64k", "ioengine": "null"}},
		{Name: "b b", Line: 10, Params: map[string]string{"bs": "8k", "size": "64k", "ioengine": "null", "rw": "read",
			"description": "x=y", "stonewall": "1"}},
		{Name: "c", Line: 15, Params: map[string]string{"bs": "8k", "size": "64k", "ioengine": "null",
			"rw": "read", "iodepth": "8"}},
	}
	for name, text := range map[string]string{"unix": sampleJobFile, "windows": "\ufeff" +
		strings.ReplaceAll(sampleJobFile, "\n", "\r\n")} {
		got, err := ParseJobFile(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d jobs", name, len(got))
		}
		for i, w := range want {
			if got[i].Name != w.Name || got[i].Line != w.Line || !maps.Equal(got[i].Params, w.Params) {
				t.Errorf("%s: got %v\nwant %v", name, got[i], w)
			}
		}
		if got[2].Lines["iodepth"] != 17 || got[2].Lines["bs"] != 9 {
			t.Errorf("%s: lines %v", name, got[2].Lines)
		}
	}
}

func TestJobFileFixtures(t *testing.T) {
	for _, file := range fixtures(t, "job") {
		sections, err := ParseJobFile(bytes.NewReader(read(t, file)))
		if err != nil || len(sections) == 0 {
			t.Errorf("%s: %d jobs, %v", file, len(sections), err)
		}
	}
}

func TestJobFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "line 1: the job file has no job",
		"[global]\nbs=4k\n":       "line 1: the job file has no job",
		"bs=4k\n[a]\n":            "line 1: bs=4k stands before the first section",
		"[a] x\n":                 "line 1: [a] x is not a section",
		"[a\n":                    "line 1: [a is not a section",
		"[]\n":                    "line 1: [] is not a section",
		"[a]\nbs= 4k\n":           "line 2: bs= 4k has a blank after =",
		"[a]\nbs=\n":              "line 2: bs= has no value",
		"[a]\nsize=${SIZE}\n":     "line 2: size=${SIZE} depends on ${SIZE}, which is not in the file",
		"[a]\nnumjobs=2*$ncpus\n": "line 2: numjobs=2*$ncpus depends on $ncpus, which is not in the file",
		"[a]\noutput=/dev/sda\n":  `line 2: "output" is an option of fio's command, not a parameter of a job`,
		"[a]\nBS=4k\n":            `line 2: "BS" can't be the name of a fio parameter`,
		"[a]\ninclude x\n":        "line 2: can't include x",
		"[a]\nbs= 4k\n\n[b\nsize=${S}\n": "line 2: bs= 4k has a blank after =\n" +
			"line 4: [b is not a section\nline 5: size=${S} depends on ${S}, which is not in the file",
	} {
		_, err := ParseJobFile(strings.NewReader(text))
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
			continue
		}
		if lab.KindOf(err) != lab.Usage {
			t.Errorf("%q: kind %v", text, lab.KindOf(err))
		}
	}
}
