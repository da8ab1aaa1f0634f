package facts

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"headroom/internal/facts/collect"
	"headroom/internal/facts/factstest"
	"headroom/internal/facts/hardware"
)

func FuzzDiskStats(f *testing.F) {
	factstest.Seed(f, diskStatsPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, c := range parseDiskStats(data, []string{"vda", "nvme0n1", "sda"}) {
			if !strings.Contains(string(data), name) && name != "nvme0n1" {
				t.Errorf("counters of %s come from nowhere", name)
			}
			if c.ReadIOs < 0 || c.ReadSeconds < 0 || c.BusySeconds < 0 || c.DiscardIOs < 0 {
				t.Errorf("a counter below zero: %+v", c)
			}
		}
	})
}

func FuzzStat(f *testing.F) {
	factstest.Seed(f, statPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		all, cores := parseStat(data)
		if all.User < 0 || all.Idle < 0 || math.IsNaN(all.Steal) || len(cores) > hardware.MaxCPUs {
			t.Errorf("%+v, %d cores", all, len(cores))
		}
	})
}

func FuzzPressure(f *testing.F) {
	factstest.Seed(f, pressureIOPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, ok := parsePressure(data); ok && s.total < 0 {
			t.Errorf("%+v", s)
		}
	})
}

func FuzzVMStat(f *testing.F) {
	factstest.Seed(f, vmStatPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		if in, out := parseVMStat(data); in < 0 || out < 0 {
			t.Errorf("%d in, %d out", in, out)
		}
	})
}

// FuzzWear reads what the two tools print, each with the other's parser, too.
func FuzzWear(f *testing.F) {
	n := 0
	for _, m := range factstest.Machines(f) {
		for command, text := range m.Printed {
			if strings.HasPrefix(command, "nvme") || strings.HasPrefix(command, "smartctl") {
				f.Add([]byte(text))
				n++
			}
		}
	}
	if n < 2 {
		f.Fatal("a tool's output is missing from the saved machines")
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, parse := range []func([]byte) (Wear, error){parseSmartLog, parseSmartctl} {
			w, err := parse(data)
			if err == nil && (w.Used < 0 || w.Written < 0 || w.Rated < 0 || math.IsNaN(w.Used)) {
				t.Errorf("%+v", w)
			}
		}
	})
}

func FuzzSpace(f *testing.F) {
	n := 0
	for _, m := range factstest.Machines(f) {
		for command, text := range m.Printed {
			if strings.HasPrefix(command, "stat ") {
				f.Add(text)
				n++
			}
		}
	}
	if n == 0 {
		f.Fatal("no saved machine shows what stat prints")
	}
	f.Add("stat: cannot read file system information")
	f.Add("4096 9223372036854775807 1 1 1 1")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSpace(collect.Printed{Stdout: text})
		if err == nil && (s.Total < 0 || s.Free < 0 || s.Available < 0) {
			t.Errorf("%q gives %+v", text, s)
		}
	})
}

func FuzzRedact(f *testing.F) {
	f.Add("root=UUID=0b1f2c3d-8a4e-4b57-9c11-aa55d2e3f401 S6CKNN0T000002 02:42:ac:11:00:02")
	r := Redactor{secrets: []string{"S6CKNN0T000002", "storage-17"}}
	f.Fuzz(func(t *testing.T, text string) {
		got := r.Text(text)
		for _, s := range r.secrets {
			if regexp.MustCompile(`(^|[^0-9A-Za-z])` + s + `($|[^0-9A-Za-z])`).MatchString(got) {
				t.Errorf("%q still names %s", got, s)
			}
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q became broken text %q", text, got)
		}
	})
}
