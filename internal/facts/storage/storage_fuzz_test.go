package storage

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/testing/factstest"
)

func FuzzTargets(f *testing.F) {
	factstest.SeedCommands(f, "dmsetup ")
	f.Add("a: 0 1 multipath 0 0 999999999 1 rr 0 9223372036854775807 9223372036854775807\n")
	f.Fuzz(func(t *testing.T, text string) {
		for name, targets := range parseTargets(text) {
			if name == "" || len(targets) == 0 || stripes(targets) < 0 || len(kindsOf(targets)) > len(targets) {
				t.Errorf("%q: %+v", name, targets)
			}
			for _, target := range targets {
				if c, ok := parseCrypt(target.params); ok && (c.sectorSize < 512 || len(c.flags) > len(target.params)) {
					t.Errorf("%+v", c)
				}
				for _, parse := range []func([]string) (multipathMap, bool){parseMultipathTable, parseMultipathStatus} {
					m, ok := parse(target.params)
					if ok && (m.groups < 0 || m.groups > len(target.params) || m.active > len(target.params)) {
						t.Errorf("%v gives %+v", target.params, m)
					}
				}
			}
		}
	})
}

func FuzzDRBD(f *testing.F) {
	status, show := "", ""
	for _, m := range factstest.Machines(f) {
		if text, ok := m.Printed["drbdsetup status --json"]; ok {
			status, show = text, m.Printed["drbdsetup show --show-defaults --json"]
		}
	}
	if status == "" || show == "" {
		f.Fatal("no saved machine has DRBD 9")
	}
	f.Add(status, show)
	f.Add(drbd8, show)
	f.Fuzz(func(t *testing.T, status, show string) {
		for minor, r := range parseDRBD8(status) {
			if minor < 0 || strings.ContainsAny(r.role+r.disk+r.protocol, " \n") {
				t.Errorf("%d: %+v", minor, r)
			}
		}
		found, err := parseDRBD9(status, show)
		if err != nil && len(found) > 0 {
			t.Errorf("%v, and yet %+v", err, found)
		}
	})
}

func FuzzFormats(f *testing.F) {
	factstest.SeedCommands(f, "nvme id-ns")
	f.Fuzz(func(t *testing.T, text string) {
		formats, current, err := parseFormats([]byte(text))
		if err != nil {
			return
		}
		if current < 0 || current >= len(formats) {
			t.Fatalf("format %d of %d is in use", current, len(formats))
		}
		if b, ok := betterFormat(formats, current); ok && (b.performance >= formats[current].performance ||
			b.data < 512) {
			t.Errorf("%+v is no better than %+v", b, formats[current])
		}
	})
}

func FuzzSmartLog(f *testing.F) {
	factstest.SeedCommands(f, "nvme smart-log")
	f.Fuzz(func(t *testing.T, text string) {
		var log smartLog
		_ = json.Unmarshal([]byte(text), &log)
		in := collect.Scope{
			Printed: map[string]collect.Printed{"nvme smart-log --output-format=json /dev/nvme0n1": {Stdout: text}}}
		for _, fact := range health("nvme0n1", "", in) {
			if (fact.Value == "") == (fact.Unknown == "") || fact.Unknown == "" && !catalogue.Whole.Holds(fact.Value) {
				t.Errorf("%+v", fact)
			}
		}
	})
}

func FuzzSpaces(f *testing.F) {
	factstest.SeedCommands(f, "stat -f -c '%S %b %f %a %c %d %n'")
	f.Fuzz(func(t *testing.T, text string) {
		for point, s := range parseSpaces(text) {
			if s.Total < 0 || s.Available < 0 || strings.Contains(point, "\n") {
				t.Errorf("%q: %+v", point, s)
			}
		}
	})
}

func FuzzARCLimit(f *testing.F) {
	n := 0
	for _, m := range factstest.Machines(f) {
		if file := m.Files[collect.PathInFS(arcStatsPath)]; file != nil {
			f.Add(string(file.Data))
			n++
		}
	}
	if n == 0 {
		f.Fatal("no saved machine has ZFS")
	}
	f.Fuzz(func(t *testing.T, text string) {
		if limit, ok := parseARCLimit(text); ok && !catalogue.Whole.Holds(limit) {
			t.Errorf("%q", limit)
		}
	})
}

// FuzzDataMounts asks that no two mounts that facts are about have the same name.
func FuzzDataMounts(f *testing.F) {
	factstest.Seed(f, collect.MountInfoPath)
	f.Add([]byte("1 2 8:1 / / rw - ext4 a rw\n2 1 8:2 / / rw - ext4 b rw\n3 2 8:3 / /a rw - btrfs c rw\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		seen := map[string]bool{}
		for _, m := range dataMounts(collect.ParseMounts(data)) {
			if seen[m.Point] {
				t.Errorf("%s is there twice", m.Point)
			}
			seen[m.Point] = true
		}
	})
}
