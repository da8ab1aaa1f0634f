package facts

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
)

// TestRedactMachines hides the names in every saved machine: no name may remain anywhere, and nothing else may change.
func TestRedactMachines(t *testing.T) {
	names := []string{"S6CKNN0T", "storage-17", "0b1f2c3d-8a4e", "c2a7a9a2-6b45", "192.0.2.", "5000c500c0000001",
		"36434b304e50",
		"23072F000003", "bench-7c9d8f5b6", "files.example.org", "11111111-2222", "VD0000000001", "198.51.100.",
		"203.0.113.",
		"2001:db8:", "ip-192-0-2-77", "0x1a2b3c4d", "7d1c2f7e-52a4", "00:00:5e:00:53:", "02:00:5e:", "f4:52:14:03",
		"f452:1403:",
		"BTLJ000000HV4P0", "S411000X2", "hv-03", "web1", "db1", "prod_vm3", "vm-101-disk-0",
		"36434b304e5001000025384700000001",
		"a1b2c3d4e5f60718", "5d4b1f0a-0000", "5002538b00000010", "5000c500e0000010", "IET_00010001", "store-4",
		"iqn.2003-01.org.example", "compute-3", "/home/user"}
	seen := map[string]bool{}
	for _, m := range factstest.Machines(t) {
		places := []string{m.Place}
		if m.Title == "stacked" {
			places = append(places, "/mnt/my share")
		}
		for _, p := range places {
			place, err := storage.ResolvePlace(t.Context(), m, p)
			if err != nil {
				t.Fatal(err)
			}
			before, err := SnapshotWithin(t.Context(), SnapshotLimit, m, place)
			if err != nil {
				t.Fatal(err)
			}
			after := Redact(before)
			for i := range before {
				plain, redacted := line(before[i]), line(after[i])
				named := false
				for _, n := range names {
					seen[n] = seen[n] || strings.Contains(plain, n)
					named = named || strings.Contains(plain, n)
					if strings.Contains(redacted, n) {
						t.Errorf("%s: %s is still in: %s", m.Title, n, redacted)
					}
				}
				if !named && redacted != plain && !catalogue.NewIndex().Secret(before[i].Key) {
					t.Errorf("%s: changed without need:\n%s%s", m.Title, plain, redacted)
				}
			}
		}
	}
	for _, n := range names {
		if !seen[n] {
			t.Errorf("no saved machine names %s, so nothing was shown", n)
		}
	}
}

func TestRedactText(t *testing.T) {
	r := NewRedactor([]lab.Fact{
		{Key: "disk.under-test.serial", Value: "S6CKNN0T"},
		{Key: "host.name", Value: "db1.example"},
		{Key: "os.name", Value: "Debian"},
	})
	got := r.Text("/dev/disk/by-id/nvme-X_S6CKNN0T on db1.example, Debian, mac 02:42:ac:11:00:02, 6.12.0")
	if got != r.Text(got) {
		t.Errorf("redacting twice changes %q", got)
	}
	if strings.Contains(got, "S6CKNN0T") || strings.Contains(got, "db1") || strings.Contains(got, "02:42") {
		t.Errorf("names are left: %q", got)
	}
	if !strings.HasPrefix(got, "/dev/disk/by-id/nvme-X_hidden-") || !strings.Contains(got, "Debian") ||
		!strings.HasSuffix(got, "6.12.0") {
		t.Errorf("more is gone than names: %q", got)
	}
	if hidden("a") == hidden("b") {
		t.Error("two names give the same text")
	}
}

// Names also occur in About, in a reason and in a source, and in options as addresses of both kinds.
func TestRedactFacts(t *testing.T) {
	for _, c := range []struct{ before, after lab.Fact }{
		{lab.Fact{Key: "nic.mtu", About: "enx0050b6123456", Value: "1500",
			Source: "/sys/class/net/enx0050b6123456/mtu"},
			lab.Fact{Key: "nic.mtu", About: hidden("enx0050b6123456"), Value: "1500",
				Source: "/sys/class/net/" + hidden("enx0050b6123456") + "/mtu"}},
		{lab.Fact{Key: "nic.speed", About: "enx0050b6123456", Unknown: "enx0050b6123456 has no link"},
			lab.Fact{Key: "nic.speed", About: hidden("enx0050b6123456"), Unknown: hidden("enx0050b6123456") +
				" has no link"}},
		{lab.Fact{Key: "mount.options", About: "/a",
			Value: "rw, addr=2001:db8::9, clientaddr=fe80::1%eth0, mountaddr=192.0.2.7, vers=4.2"},
			lab.Fact{Key: "mount.options", About: "/a", Value: "rw, addr=" + hidden("2001:db8::9") + ", clientaddr=" +
				hidden("fe80::1") +
				"%eth0, mountaddr=" + hidden("192.0.2.7") + ", vers=4.2"}},
		{lab.Fact{Key: "mount.source", About: "/a", Value: "[2001:db8::9]:/srv"},
			lab.Fact{Key: "mount.source", About: "/a", Value: hidden("2001:db8::9") + ":/srv"}},
		{lab.Fact{Key: "mount.source", About: "/a", Value: "alice@files:"}, lab.Fact{Key: "mount.source", About: "/a",
			Value: hidden("alice@files") + ":"}},
		{lab.Fact{Key: "mount.source", About: "/a", Value: "alice@cephfs=/"}, lab.Fact{Key: "mount.source", About: "/a",
			Value: hidden("alice") + "@cephfs=/"}},
		{lab.Fact{Key: "mount.source", About: "/a", Value: "/dev/sda:/dev/sdb"},
			lab.Fact{Key: "mount.source", About: "/a",
				Value: "/dev/sda:/dev/sdb"}},
		{lab.Fact{Key: "mount.options", About: "/a",
			Value: "rw, vers=3.1.1, username=alice, domain=CORP, uid=0, addr=192.0.2.7"},
			lab.Fact{Key: "mount.options", About: "/a", Value: "rw, vers=3.1.1, username=" + hidden("alice") +
				", domain=" +
				hidden("CORP") + ", uid=0, addr=" + hidden("192.0.2.7")}},
		{lab.Fact{Key: "mount.type", About: "/home/alice/data", Value: "ext4", Source: "/proc/self/mountinfo"},
			lab.Fact{Key: "mount.type", About: "/home/" + hidden("alice") + "/data", Value: "ext4",
				Source: "/proc/self/mountinfo"}},
		{lab.Fact{Key: "mount.type", About: "/home", Value: "ext4"},
			lab.Fact{Key: "mount.type", About: "/home", Value: "ext4"}},
		{lab.Fact{Key: "tool.fio.sha256", Value: strings.Repeat("0a", 32), Source: "/home/alice/bin/fio"},
			lab.Fact{Key: "tool.fio.sha256", Value: strings.Repeat("0a", 32), Source: "/home/" + hidden("alice") +
				"/bin/fio"}},
		{lab.Fact{Key: "kernel.cmdline", Value: "quiet BOOTIF=01-02-00-5e-10-00-01 root=/dev/mapper/db17-root"},
			lab.Fact{Key: "kernel.cmdline", Value: "quiet BOOTIF=" + hidden("01-02-00-5e-10-00-01") +
				" root=/dev/mapper/" +
				hidden("db17") + "-root"}},
		{lab.Fact{Key: "kernel.cmdline", Value: "netroot=iscsi:me:word@192.0.2.7::::iqn.2003-01.org.example:a " +
			"rd.iscsi.password=word rd.iscsi.initiator=iqn.1994-05.com.example:1 quiet"},
			lab.Fact{Key: "kernel.cmdline", Value: "netroot=iscsi:" + hidden("me:word") + "@" + hidden("192.0.2.7") +
				"::::" +
				hidden("iqn.2003-01.org.example:a") + " rd.iscsi.password=" + hidden("word") + " rd.iscsi.initiator=" +
				hidden("iqn.1994-05.com.example:1") + " quiet"}},
		{lab.Fact{Key: "module.netconsole.netconsole", Value: "@192.0.2.3/eth0,6666@192.0.2.9/"},
			lab.Fact{Key: "module.netconsole.netconsole", Value: "@" + hidden("192.0.2.3") + "/eth0,6666@" +
				hidden("192.0.2.9") + "/"}},
		{lab.Fact{Key: "guest.cpus", About: "vm1", Value: "4"},
			lab.Fact{Key: "guest.cpus", About: hidden("vm1"), Value: "4"}},
		{lab.Fact{Key: "drive.bus", About: "vm1/sda", Value: "ide"},
			lab.Fact{Key: "drive.bus", About: hidden("vm1") + "/sda", Value: "ide"}},
		{lab.Fact{Key: "port.layer", About: "mlx5_0/1", Value: "guid 24:8a:07:03:00:91:ba:21"},
			lab.Fact{Key: "port.layer", About: "mlx5_0/1", Value: "guid " + hidden("24:8a:07:03:00:91:ba:21")}},
	} {
		known := []lab.Fact{{Key: "guest.name", About: "vm1", Value: "vm1"}, {Key: "host.name", Value: "db17.example"}}
		got := Redact(append(known, c.before))[2]
		if got != c.after {
			t.Errorf("got  %+v\nwant %+v", got, c.after)
		}
		if twice := Redact(append(known, got))[2]; twice != got && !catalogue.NewIndex().Secret(c.before.Key) &&
			!strings.HasSuffix(c.before.Key, ".source") {
			t.Errorf("hiding twice gives %+v", twice)
		}
	}
	// Text that only looks like an address is kept.
	for _, text := range []string{"0000:41:00.0", "at 12:30:59", "::1", "::", "a: b: c", "8:0 8:16",
		"dm-0: 0 100 linear 8:0 0", "std::vector",
		"pci=resource_alignment=20@0000:41:00.0"} {
		if got := (Redactor{}).Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// The address of a target is hidden whether or not a fact contains it: a machine's name may differ from its address,
// which can be just a name in the user's configuration.
func TestRedactAddressesOfTargets(t *testing.T) {
	r := NewRedactor([]lab.Fact{{Key: "host.name", Value: "storage"}})
	for text, want := range map[string]string{
		"ssh://root@nas.example:2222":             "ssh://root@" + hidden("nas.example") + ":2222",
		"a=ssh://anna@nas, b":                     "a=ssh://" + hidden("anna") + "@" + hidden("nas") + ", b",
		"ssh://storage /srv":                      "ssh://" + hidden("storage") + " /srv",
		"ssh://[2001:db8::1]:22":                  "ssh://" + hidden("2001:db8::1") + ":22",
		"talos://10.0.0.2":                        "talos://" + hidden("10.0.0.2"),
		"run quick /srv --on fast-nas, and local": "run quick /srv --on fast-nas, and local",
	} {
		got := r.Text(text)
		if got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if again := r.Text(got); again != got {
			t.Errorf("%q becomes %q the second time", got, again)
		}
	}
}
