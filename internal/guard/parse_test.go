package guard

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseMountinfo(t *testing.T) {
	got, err := parseMountinfo(`27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 propagate_from:2 - ext3 /dev/my\134root rw,errors=continue
61 29 0:45 /@home /home rw - btrfs /dev/nvme0n1p3 rw
`)
	want := []mount{
		{"27", Number{254, 0}, "/", "ext4", "/dev/vda", "rw,discard"},
		{"36", Number{98, 0}, "/mnt 2", "ext3", `/dev/my\root`, "rw,errors=continue"},
		{"61", Number{0, 45}, "/home", "btrfs", "/dev/nvme0n1p3", "rw"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"27 1 254:0 / / rw", "27 1 254 / / rw - ext4 /dev/vda rw", "27 1 254:0 / / rw - ext4",
		"x"} {
		if got, err := parseMountinfo(bad); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}

func TestParseSwaps(t *testing.T) {
	got, err := parseSwaps("Filename\t\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1 0 -2\n/swap file 1 0 -3\n" +
		"/dev/a\\040b\\040(deleted) partition 1 0 -4\n")
	if want := []swap{{"/dev/sda2", false}, {"/swap", true}, {"/dev/a b", false}}; err != nil ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := parseSwaps("/dev/sda2 partition"); err == nil {
		t.Errorf("a line cut short was read as %v", got)
	}
}

func TestOverlayLayers(t *testing.T) {
	for options, want := range map[string][]string{
		"rw,lowerdir=/l/A:/l/B,upperdir=/u,workdir=/w,uuid=on": {"/l/A", "/l/B", "/u", "/w"},
		"ro,lowerdir+=/l/A:x,lowerdir+=/l/B,datadir+=/d":       {"/l/A:x", "/l/B", "/d"},
		`rw,lowerdir=/a\134:b::/data\040x\054y,upperdir=/u`:    {"/a:b", "/data x,y", "/u"},
		"rw": nil,
	} {
		if got := overlayLayers(options); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", options, got, want)
		}
	}
}

func FuzzOverlayLayers(f *testing.F) {
	f.Add(`rw,lowerdir=/l/with\134:colon::/data,upperdir=/u,workdir=/w`)
	f.Fuzz(func(_ *testing.T, options string) { overlayLayers(options) })
}

func TestParseWipefs(t *testing.T) {
	got, err := parseWipefs([]byte(`{"signatures": [
		{"device":"sdb", "offset":"0x438", "type":"ext4", "uuid":"5b33ee60", "label":null},
		{"device":"sdb", "offset":"0x1fe", "type":"dos", "uuid":null, "label":null}]}`))
	want := []Signature{{What: "an ext4 file system", Type: "ext4", Offset: 0x438},
		{What: "an MBR partition table", Type: "dos", Offset: 0x1fe}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, none := range []string{"", "\n", `{"signatures": []}`, "{\n   \"signatures\": [\n\n   ]\n}\n"} {
		if got, err := parseWipefs([]byte(none)); err != nil || len(got) > 0 {
			t.Errorf("%q: got %v, %v", none, got, err)
		}
	}
	for _, bad := range []string{"{}", "null", `{"signatures": null}`, `{"signatures": [{}]}`,
		`{"signatures": [{"offset":"x","type":"ext4"}]}`,
		`{"signatures": [{"offset":"0x0","type":""}]}`, `{"signatures": [`, "wipefs: error: /dev/sdb"} {
		if got, err := parseWipefs([]byte(bad)); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}

func TestWordsForSignatures(t *testing.T) {
	for kind, want := range map[string]string{
		"xfs": "an xfs file system", "udf": "a udf file system", "ntfs": "an ntfs file system",
		"linux_raid_member": "a member of a Linux RAID array",
		"isw_raid_member":   "a member of an array (isw_raid_member)", "LVM2_member": "an LVM physical volume",
		"sun": "a partition table (sun)",
	} {
		if got := inWords(kind); got != want {
			t.Errorf("%s: got %q, want %q", kind, got, want)
		}
	}
}

func TestParseDescriptor(t *testing.T) {
	for fdinfo, want := range map[string]bool{
		"pos:\t0\nflags:\t0100000\nmnt_id:\t19\n": false,
		"pos:\t0\nflags:\t0100001\n":              true,
		"pos:\t0\nflags:\t02\n":                   true,
		"pos:\t0\nflags:\t?\n":                    true,  // it is open, but the mode is unknown
		"":                                        false, // closed meanwhile
	} {
		if got := parseDescriptor(fdinfo).writable; got != want {
			t.Errorf("%q: got %v", fdinfo, got)
		}
	}
}

// seed adds every file of the fixtures whose name ends with suffix.
func seed(f *testing.F, suffix string) {
	f.Helper()
	seeds := 0
	for _, fixture := range fixtures(f) {
		for name, file := range fixture.files {
			if strings.HasSuffix(name, suffix) {
				f.Add(string(file.Data))
				seeds++
			}
		}
	}
	if seeds == 0 {
		f.Fatalf("no fixture has a file %s", suffix)
	}
}

func FuzzMountinfo(f *testing.F) {
	seed(f, "/mountinfo")
	f.Add("27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n36 35 98:0 /m /mnt\\0402 rw master:1 - ext3 /dev/r " +
		"rw\n")
	f.Add("61 29 0:45 /@home /home rw - btrfs /dev/nvme0n1p3")
	f.Fuzz(func(t *testing.T, text string) {
		mounts, err := parseMountinfo(text)
		lines := 0
		for line := range strings.Lines(text) {
			if strings.TrimSpace(line) != "" {
				lines++
			}
		}
		// A line that is silently skipped could be the decisive one.
		if err == nil && len(mounts) != lines {
			t.Errorf("%d lines, %d mounts", lines, len(mounts))
		}
	})
}

func TestParseShared(t *testing.T) {
	got := parseShared(`55d0c0a00000-55d0c0a21000 r-xp 00000000 fe:00 1180   /usr/bin/database
00400000-00500000 rw-s 00000000 00:3d 412                        /srv/a disk
7f3c63e00000-7f3c63f00000 rw-s 00000000 00:01 3
`)
	want := []sharedMapping{{"400000-500000", "0:61", "/srv/a disk"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func FuzzShared(f *testing.F) {
	seed(f, "/maps")
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range parseShared(text) {
			if from, to, ok := strings.Cut(m.addresses, "-"); !ok || from == "" || to == "" {
				t.Errorf("%q has no name in map_files", m)
			}
		}
	})
}

func FuzzDescriptor(f *testing.F) {
	seed(f, "/fdinfo/3")
	f.Fuzz(func(t *testing.T, text string) {
		if d := parseDescriptor(text); d.mount != strings.TrimSpace(d.mount) {
			t.Errorf("%q", d.mount)
		}
	})
}

func FuzzSwaps(f *testing.F) {
	seed(f, "/swaps")
	f.Add("Filename\t\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1 0 -2\n/dev/a\\040b\\040(deleted) partition " +
		"1 0 -4\n")
	f.Fuzz(func(t *testing.T, text string) {
		devices, err := parseSwaps(text)
		if err == nil && len(devices) > strings.Count(text, "\n")+1 {
			t.Errorf("more devices than lines: %v", devices)
		}
	})
}

func FuzzWipefs(f *testing.F) {
	f.Add([]byte(`{"signatures": [{"device":"sdb", "offset":"0x438", "type":"ext4", "uuid":"5b33ee60", "label":null}]}`))
	f.Add([]byte(`{"signatures": []}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		signatures, err := parseWipefs(data)
		for _, s := range signatures {
			if err == nil && (s.Type == "" || s.What == "") {
				t.Errorf("a signature of nothing: %+v", s)
			}
		}
		if err == nil && len(signatures) == 0 && strings.Contains(string(data), `"type"`) &&
			strings.Contains(string(data), `"signatures":[{`) {
			t.Errorf("%q was read as blank", data)
		}
	})
}

func FuzzUevent(f *testing.F) {
	seed(f, "/uevent")
	f.Fuzz(func(t *testing.T, text string) {
		fields := parseUevent(text)
		number, err := parseNumber(fields["MAJOR"] + ":" + fields["MINOR"])
		if again, e := parseNumber(number.String()); err == nil && (e != nil || again != number) {
			t.Errorf("%v came back as %v, %v", number, again, e)
		}
	})
}

func FuzzUdevSerial(f *testing.F) {
	seed(f, "run/udev/data/b8:0")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range udevSerial(text) {
			if r < ' ' || r > '~' {
				t.Errorf("a serial number that can't be typed: %q", udevSerial(text))
			}
		}
	})
}
