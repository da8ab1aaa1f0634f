package bootloader

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// hosts are the stand-ins, with what is made for them besides their files.
func hosts() map[string]func(t *testing.T, s *standIn) {
	none := func(*testing.T, *standIn) {}
	return map[string]func(t *testing.T, s *standIn){
		"debian-12": none, "ubuntu-24.04": none, "fedora-40": none,
		"systemd-boot-252": func(t *testing.T, s *standIn) {
			const features = "sys/firmware/efi/efivars/LoaderFeatures-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
			err := errors.Join(s.efi("LoaderInfo", "systemd-boot 252.31-1~deb12u1"),
				s.put(features, "\x06\x00\x00\x00\x7f\x00\x00\x00\x00\x00\x00\x00"),
				s.efi("LoaderEntrySelected", "0f2e6a4b9d1c4e7f8a3b5c6d7e8f9a0b-6.1.0-56-amd64.conf"))
			if err != nil {
				t.Fatal(err)
			}
		},
	}
}

// quick are options for a host that comes back at once, hopeless ones for a host that never does, in a bubble, whose
// clock takes no time.
func quick() Options    { return Options{Limit: time.Minute, Pause: time.Millisecond} }
func hopeless() Options { return Options{Limit: time.Minute, Pause: time.Second} }

func newHost(t *testing.T, s *standIn, o Options) *Host {
	t.Helper()
	h, err := New(t.Context(), s, o)
	if err != nil {
		if e, ok := errors.AsType[*lab.Error](err); ok {
			t.Fatal(err, e.Details())
		}
		t.Fatal(err)
	}
	return h
}

// disks is everything on a host but what a kernel makes up.
func disks(t *testing.T, s *standIn) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(s.at("boot"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		all[p] = string(data)
		if strings.HasSuffix(p, "grubenv") {
			all[p] = lab.ShellQuote([]string{parseEnvironment(string(data))["saved_entry"],
				parseEnvironment(string(data))["next_entry"]})
		}
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d files: %v", len(all), err)
	}
	all["one shot"] = s.efiText("LoaderEntryOneShot")
	all["kexec"] = s.text(kexecLoaded)
	return all
}

func TestAHostBootsOnceAndReturns(t *testing.T) {
	for fixture, prepare := range hosts() {
		for _, way := range []string{"", kexecName} {
			t.Run(fixture+" "+way, func(t *testing.T) {
				s := newStandIn(t, fixture)
				prepare(t, s)
				release := strings.TrimSpace(s.text(releasePath))
				for _, name := range []string{"/boot/vmlinuz-" + release, "/boot/initrd.img-" + release} {
					s.write(t, name, "x")
				}
				found := disks(t, s)
				var kept []Record
				o := quick()
				o.Method = way
				o.Before = func(r Record) error {
					if !reflect.DeepEqual(disks(t, s), found) {
						t.Error("something is on the host before it is recorded")
					}
					kept = append(kept, r)
					return nil
				}
				o.After = func(Record) error { kept = append(kept, Record{}); return nil }
				h := newHost(t, s, o)
				if want := map[string]string{"": grubName, kexecName: kexecName}[way]; fixture != "systemd-boot-252" &&
					h.Method() != want {
					t.Errorf("booted by %s", h.Method())
				}
				spec := host.BootSpec{Arguments: []string{"slub_debug=FZPU", `dyndbg="file drivers/nvme/* +p; $x"`},
					Without: []string{"quiet"}}
				for range 2 { // the second time it starts from the first one's arguments
					if err := h.Boot(t.Context(), spec); err != nil {
						t.Fatalf("%v\n%s", err, strings.Join(s.ran, "\n"))
					}
					now, err := parseCmdline(s.text(cmdlinePath))
					if err != nil {
						t.Fatal(err)
					}
					was, err := parseCmdline(s.natural)
					if err != nil {
						t.Fatal(err)
					}
					wanted, err := was.own().with(spec)
					if err != nil {
						t.Fatal(err)
					}
					if now.own().String() != wanted.String() {
						t.Errorf("booted with\n%s, want\n%s", now, wanted)
					}
					if !reflect.DeepEqual(disks(t, s), found) {
						t.Errorf("left on the host: %v", disks(t, s))
					}
				}
				if err := h.Boot(t.Context(), host.BootSpec{}); err != nil {
					t.Fatal(err)
				}
				if s.text(cmdlinePath) != s.natural || len(kept) != 3 || !reflect.DeepEqual(kept[2], Record{}) ||
					s.boots != 3 {
					t.Errorf("after all: %s; records %+v; %d boots", s.text(cmdlinePath), kept, s.boots)
				}
			})
		}
	}
}

// A host that hangs with the new arguments is started by its power switch, and then mended from the record alone.
func TestAHostThatHangsReturnsAtThePowerCycle(t *testing.T) {
	synctest.Test(t, testAHostThatHangsReturnsAtThePowerCycle)
}

func testAHostThatHangsReturnsAtThePowerCycle(t *testing.T) {
	for fixture, prepare := range hosts() {
		s := newStandIn(t, fixture)
		prepare(t, s)
		found := disks(t, s)
		var kept []byte
		o := hopeless()
		o.Before = func(r Record) (err error) { kept, err = json.Marshal(r); return err }
		h := newHost(t, s, o)
		s.hangs = true
		err := h.Boot(t.Context(), host.BootSpec{Arguments: []string{"mem=1M"}})
		if !errors.Is(err, errGone) || !strings.Contains(err.Error(), "did not come back in") {
			t.Fatalf("%s: %v", fixture, err)
		}
		if err := s.powerCycle(); err != nil {
			t.Fatal(err)
		}
		if s.text(cmdlinePath) != s.natural {
			t.Errorf("%s: after the power cycle: %s", fixture, s.text(cmdlinePath))
		}
		var r Record
		if err := json.Unmarshal(kept, &r); err != nil {
			t.Fatal(err)
		}
		running, err := Undo(t.Context(), s, r)
		if err != nil || running || !reflect.DeepEqual(disks(t, s), found) {
			t.Errorf("%s: running %v, %v, left %v", fixture, running, err, disks(t, s))
		}
	}
}

// The connection is cut at each command in turn, as by a crash; the record mends what is left.
func TestACutAnywhereIsMended(t *testing.T) { synctest.Test(t, testACutAnywhereIsMended) }

func testACutAnywhereIsMended(t *testing.T) {
	for fixture, prepare := range hosts() {
		cuts := 0
		for at := 1; ; at++ {
			s := newStandIn(t, fixture)
			prepare(t, s)
			found := disks(t, s)
			var kept *Record
			o := hopeless()
			o.Before = func(r Record) error { kept = &r; return nil }
			h := newHost(t, s, o)
			s.calls, s.failAt = 0, at
			err := h.Boot(t.Context(), host.BootSpec{Arguments: []string{"audit=0"}})
			if s.calls < at {
				break // the boot needs no more commands than that
			}
			cuts++
			if err == nil && s.text(cmdlinePath) == s.natural {
				t.Errorf("%s: cut at %d: no error, but not booted:\n%s", fixture, at, strings.Join(s.ran, "\n"))
			}
			s.failAt = 0
			if kept == nil {
				t.Fatalf("%s: no record at %d: %v", fixture, at, err)
			}
			if _, err := Undo(t.Context(), s, *kept); err != nil {
				t.Errorf("%s: cut at %d: %v", fixture, at, err)
			}
			if !reflect.DeepEqual(disks(t, s), found) {
				t.Errorf("%s: cut at %d: left on the host: %v", fixture, at, disks(t, s))
			}
		}
		if cuts < 4 {
			t.Errorf("%s: only %d cuts", fixture, cuts)
		}
	}
}

func TestTheEndsOfABoot(t *testing.T) { synctest.Test(t, testTheEndsOfABoot) }

func testTheEndsOfABoot(t *testing.T) {
	spec := host.BootSpec{Arguments: []string{"mitigations=off"}, Without: []string{"quiet"}}
	for name, c := range map[string]struct {
		odd  func(s *standIn)
		spec host.BootSpec
		want string
		kind lab.Kind
	}{
		"another entry": {func(s *standIn) { s.ignores = true }, spec, "came back without mitigations=off, with quiet",
			lab.Failure},
		"another kernel": {func(s *standIn) { s.ignores = true }, host.BootSpec{Kernel: "6.1.0-50-amd64"},
			"with Linux 6.1.0-56-amd64 instead of 6.1.0-50-amd64", lab.Failure},
		"by its path": {func(s *standIn) { s.ignores = true },
			host.BootSpec{Kernel: "/boot/vmlinuz-6.1.0-50-amd64"}, "instead of 6.1.0-50-amd64", lab.Failure},
		"no such kernel": {func(s *standIn) {}, host.BootSpec{Kernel: "6.6.6"}, "no entry for the kernel 6.6.6",
			lab.Refused},
		"next is kept": {func(s *standIn) { s.keepsNext = true }, spec, "did not delete the choice", lab.Refused},
		"no reboot": {func(s *standIn) {
			s.answers["systemctl reboot"] = host.Output{ExitCode: 1, Stderr: []byte("Access denied")}
		}, spec, "can't restart the machine", lab.Failure},
		"stays up": {func(s *standIn) { s.answers["systemctl reboot"] = host.Output{} }, spec, "did not go down",
			lab.Failure},
		"not one": {func(s *standIn) {}, host.BootSpec{Arguments: []string{"a b"}}, "not one boot argument",
			lab.Usage},
		"a virtual one": {func(s *standIn) {}, host.BootSpec{Machine: map[string]string{"cpus": "2"}},
			"virtual", lab.Usage},
		"too long": {func(s *standIn) {}, host.BootSpec{Arguments: []string{"a=" + strings.Repeat("x", 2048)}},
			"bytes long", lab.Refused},
		"for GRUB": {func(s *standIn) {}, host.BootSpec{Arguments: []string{`a=\x20`}}, "backslash", lab.Refused},
		"chosen meanwhile": {func(s *standIn) {
			if _, err := s.editEnvironment("/boot/grub/grubenv", "set", []string{"next_entry=memtest"}); err != nil {
				panic(err)
			}
		}, spec, "somebody else has chosen", lab.Refused},
	} {
		s := newStandIn(t, "debian-12")
		o := hopeless()
		h := newHost(t, s, o)
		c.odd(s)
		found := disks(t, s)
		err := h.Boot(t.Context(), c.spec)
		if err == nil || !strings.Contains(err.Error(), c.want) || lab.KindOf(err) != c.kind {
			t.Errorf("%s: %v (kind %d)", name, err, lab.KindOf(err))
		}
		if !reflect.DeepEqual(disks(t, s), found) {
			t.Errorf("%s: left on the host: %v", name, disks(t, s))
		}
	}
}

func TestAHostBootsAnotherInstalledKernel(t *testing.T) {
	others := map[string]string{"debian-12": "6.1.0-50-amd64", "ubuntu-24.04": "6.8.0-31-generic",
		"fedora-40": "6.8.4-200.fc40.x86_64", "systemd-boot-252": "6.1.0-50-amd64"}
	for fixture, prepare := range hosts() {
		for _, way := range []string{"", kexecName} {
			s := newStandIn(t, fixture)
			prepare(t, s)
			for _, name := range []string{"/boot/vmlinuz-", "/boot/initramfs-"} {
				s.write(t, name+others[fixture]+map[string]string{"/boot/initramfs-": ".img"}[name], "x")
			}
			o := quick()
			o.Method = way
			h := newHost(t, s, o)
			if err := h.Boot(t.Context(), host.BootSpec{Kernel: others[fixture]}); err != nil {
				t.Errorf("%s: %v %q", fixture, err, detailsOf(err))
			}
			if got := s.text(releasePath); got != others[fixture] {
				t.Errorf("%s: Linux %s", fixture, got)
			}
			if err := h.Boot(t.Context(), host.BootSpec{}); err != nil || s.text(releasePath) != s.release {
				t.Errorf("%s: back to Linux %s: %v", fixture, s.text(releasePath), err)
			}
		}
	}
}

func TestAHostThatStartsAnotherKernelByItself(t *testing.T) {
	s := newStandIn(t, "debian-12")
	h := newHost(t, s, quick())
	s.natural += " audit=1"
	if err := h.Boot(t.Context(), host.BootSpec{}); err == nil || !strings.Contains(err.Error(), "not as before") {
		t.Error(err)
	}
}

// What can't be booted safely is refused before anything is written, with the reason for each way.
func TestRefusals(t *testing.T) {
	change := func(file, from, to string) func(s *standIn) {
		return func(s *standIn) {
			if err := s.put(file, strings.ReplaceAll(s.text(file), from, to)); err != nil {
				panic(err)
			}
		}
	}
	answer := func(line, printed string) func(s *standIn) {
		return func(s *standIn) { s.answers[line] = host.Output{Stdout: []byte(printed)} }
	}
	for name, c := range map[string]struct {
		odd  func(s *standIn)
		want string
	}{
		"next_entry is not taken": {change("/boot/grub/grub.cfg", "save_env next_entry", "true"),
			"does not take next_entry"},
		"custom.cfg is not read": {change("/boot/grub/grub.cfg", "source", "#"), "does not read custom.cfg"},
		"custom.cfg is there": {func(s *standIn) {
			s.answers[""] = host.Output{}
			_ = s.put("/boot/grub/custom.cfg", "set timeout=1\n")
		}, "there is a /boot/grub/custom.cfg already"},
		"LVM": {answer("grub-probe --target=abstraction /boot/grub/grubenv", "diskfilter lvm\n"),
			"is on diskfilter, lvm, where GRUB can't"},
		"btrfs": {answer("grub-probe --target=fs /boot/grub/grubenv", "btrfs\n"),
			"is on btrfs, where GRUB is not known"},
		"chosen already": {answer("grub-editenv /boot/grub/grubenv list", "next_entry=memtest\n"),
			"chosen for the next boot already (next_entry=memtest"},
		"no GRUB": {change(cmdlinePath, "BOOT_IMAGE=/boot/vmlinuz-6.1.0-56-amd64", ""), "has no BOOT_IMAGE"},
		"its entry is gone": {change("/boot/grub/grub.cfg", "vmlinuz-6.1.0-56", "vmlinuz-6.1.0-57"),
			"no entry for the kernel /boot/vmlinuz-6.1.0-56-amd64"},
		"two": {func(s *standIn) {
			_ = s.put("/boot/efi/EFI/debian/grub.cfg", s.text("/boot/grub/grub.cfg"))
		}, "2 folders hold a grub.cfg"},
		"kexec is forbidden": {func(s *standIn) { _ = s.put(kexecDisabled, "1\n") }, "kexec_load_disabled forbids"},
		"kexec is taken":     {func(s *standIn) { _ = s.put(kexecLoaded, "1\n") }, "loaded for kexec already"},
		"locked down": {func(s *standIn) { _ = s.put(lockdown, "none [integrity] confidentiality\n") },
			"locked down (none [integrity]"},
		"nothing unmounts": {func(s *standIn) {
			_ = os.RemoveAll(s.at(systemdPath))
			_ = s.put("/proc/mounts", "/dev/sda1 / ext4 rw,relatime 0 0\n")
		}, "without systemd nothing unmounts /"},
		"BusyBox": {answer("dd --help", "BusyBox v1.35.0 (Debian 1:1.35.0-4) multi-call binary.\n"),
			"can't refuse to replace a file"},
		"not root": {answer("id -u", "1000\n"), "only root"},
	} {
		s := newStandIn(t, "debian-12")
		c.odd(s)
		found := disks(t, s)
		o := quick()
		if strings.Contains(name, "kexec") || strings.Contains(name, "locked") || strings.Contains(name, "unmounts") {
			o.Method = kexecName
		} else {
			o.Method = grubName
		}
		_, err := New(t.Context(), s, o)
		e, ok := errors.AsType[*lab.Error](err)
		if !ok || e.Kind != lab.Refused || !strings.Contains(e.Error()+strings.Join(e.Hints, "\n"), c.want) {
			t.Errorf("%s: %v\n%s", name, err, strings.Join(detailsOf(err), "\n"))
		}
		if !reflect.DeepEqual(disks(t, s), found) {
			t.Errorf("%s: left on the host: %v", name, disks(t, s))
		}
	}
}

func detailsOf(err error) []string {
	if e, ok := errors.AsType[*lab.Error](err); ok {
		return e.Details()
	}
	return nil
}

func TestThisMachineIsRefused(t *testing.T) {
	_, err := New(t.Context(), host.NewLocal(t.TempDir()), Options{})
	if lab.KindOf(err) != lab.Refused || !strings.Contains(err.Error(), "runs on this machine itself") {
		t.Error(err)
	}
}

func TestAnExperimentIsGoneOnWith(t *testing.T) { synctest.Test(t, testAnExperimentIsGoneOnWith) }

func testAnExperimentIsGoneOnWith(t *testing.T) {
	s := newStandIn(t, "debian-12")
	found := disks(t, s)
	var kept Record
	o := hopeless()
	o.Before = func(r Record) error { kept = r; return nil }
	h := newHost(t, s, o)
	s.hangs = true
	if err := h.Boot(t.Context(), host.BootSpec{Arguments: []string{"audit=0"}}); !errors.Is(err, errGone) {
		t.Fatal(err)
	}
	s.hangs, s.down = false, false // it was only slow, and has the arguments
	if running, err := Undo(t.Context(), s, kept); err != nil || !running {
		t.Errorf("running %v, %v", running, err)
	}
	o = quick()
	o.Resume = &kept
	h = newHost(t, s, o)
	if err := h.Boot(t.Context(), host.BootSpec{Arguments: []string{"nosmt"}}); err != nil {
		t.Fatal(err)
	}
	if want := s.natural + " nosmt"; strings.TrimSpace(s.text(cmdlinePath)) != strings.ReplaceAll(want, "\n", "") {
		t.Errorf("booted with %q", s.text(cmdlinePath))
	}
	if err := h.Boot(t.Context(), host.BootSpec{}); err != nil || !reflect.DeepEqual(disks(t, s), found) {
		t.Errorf("%v, left %v", err, disks(t, s))
	}
}

func TestWhatIsChangedSinceIsLeftAlone(t *testing.T) {
	s := newStandIn(t, "debian-12")
	r := Record{Method: grubName, Files: []NewFile{{"/boot/grub/custom.cfg", "ours\n"}}}
	s.write(t, "/boot/grub/custom.cfg", "ours\nand theirs\n")
	if _, err := Undo(t.Context(), s, r); lab.KindOf(err) != lab.Refused {
		t.Error(err)
	}
	s.write(t, "/boot/grub/custom.cfg", "ou") // cut off while it was written
	if _, err := Undo(t.Context(), s, r); err != nil || s.text("/boot/grub/custom.cfg") != "" {
		t.Error(err)
	}
}
