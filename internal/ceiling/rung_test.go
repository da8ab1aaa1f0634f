package ceiling

import (
	"os"
	"strings"
	"testing"
)

func TestParseCopySpeeds(t *testing.T) {
	for file, c := range map[string]struct {
		lines int
		rung  string
		speed float64
	}{"memcpytest": {44, "memcpy", 0}, "crctest": {17, "crc32c", 0}} {
		text, err := os.ReadFile("testdata/" + file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		speeds := ParseCopySpeeds(string(text))
		if len(speeds) != c.lines {
			t.Errorf("%s: %d speeds, want %d", file, len(speeds), c.lines)
		}
		r, err := Rung{Name: c.rung}.Measured(speeds)
		if err != nil || r.Value < 1<<30 {
			t.Errorf("%s: %+v, %v", file, r, err)
		}
	}
	if _, err := (Rung{Name: "memcpy"}).Measured(ParseCopySpeeds("fio: unknown option\n")); err == nil {
		t.Error("no speeds, and no error")
	}
}

func TestRungsArePinned(t *testing.T) {
	for _, r := range Rungs(3) {
		if strings.Join(r.Command[:3], " ") != "taskset --cpu-list 3" || r.Core != 3 {
			t.Errorf("%+v", r)
		}
	}
	for _, r := range Rungs(-1) {
		if r.Command[0] != "fio" && r.Command[0] != "iperf3" {
			t.Errorf("%+v", r)
		}
	}
}

func FuzzParseCopySpeeds(f *testing.F) {
	for _, file := range []string{"memcpytest", "crctest"} {
		text, err := os.ReadFile("testdata/" + file + ".txt")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range ParseCopySpeeds(text) {
			if s.Test == "" || !(s.Speed > 0) || s.Block < 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}
