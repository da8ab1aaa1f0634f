package bootloader

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/headroom/headroom/internal/host"
)

func TestCommandLines(t *testing.T) {
	for text, want := range map[string]string{
		"BOOT_IMAGE=/vmlinuz root=UUID=1f2e ro  quiet\n": "root=UUID=1f2e ro quiet",
		`initrd=\EFI\initrd ro dyndbg="module a +p"`:     `ro dyndbg="module a +p"`,
		`"dyndbg=module a +p" ro`:                        `dyndbg="module a +p" ro`,
		"ro -- single -- x":                              "ro -- single -- x",
		"console=tty0 console=ttyS0,115200n8":            "console=tty0 console=ttyS0,115200n8",
		`a="" b=`:                                        "a= b=",
	} {
		c, err := parseCmdline(text)
		if err != nil || c.own().String() != want {
			t.Errorf("%q: %q, %v; want %q", text, c.own(), err, want)
		}
	}
	for _, text := range []string{`a="b`, `a=b"c d"`, `a=\"b\"`, "\"a b\"", `=x`} {
		if c, err := parseCmdline(text); err == nil {
			t.Errorf("%q is read as %q", text, c)
		}
	}
}

func TestWhatASpecMakesOfACommandLine(t *testing.T) {
	c, err := parseCmdline("root=/dev/sda1 ro quiet console=tty0 console=ttyS0 iommu.strict=1 slub-debug=F -- single")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		spec host.BootSpec
		want string
	}{
		{host.BootSpec{Arguments: []string{"mitigations=off"}},
			"root=/dev/sda1 ro quiet console=tty0 console=ttyS0 iommu.strict=1 slub-debug=F mitigations=off -- single"},
		{host.BootSpec{Without: []string{"quiet", "console"}},
			"root=/dev/sda1 ro iommu.strict=1 slub-debug=F -- single"},
		{host.BootSpec{Without: []string{"console=tty0"}},
			"root=/dev/sda1 ro quiet console=ttyS0 iommu.strict=1 slub-debug=F -- single"},
		{host.BootSpec{Without: []string{"slub_debug", "iommu.strict"}, Arguments: []string{"iommu.strict=0"}},
			"root=/dev/sda1 ro quiet console=tty0 console=ttyS0 iommu.strict=0 -- single"},
		{host.BootSpec{Without: []string{"nothing"}}, c.String()},
	} {
		got, err := c.with(x.spec)
		if err != nil || got.String() != x.want {
			t.Errorf("%+v: %q, %v", x.spec, got, err)
		}
		if lacks, keeps := got.missing(x.spec); len(lacks) > 0 || len(keeps) > 0 {
			t.Errorf("%+v: lacks %q, keeps %q", x.spec, lacks, keeps)
		}
	}
}

// Arguments in which GRUB inserts backslashes were written without them, and are written so again.
func TestGRUBEscapesOnce(t *testing.T) {
	was, err := parseCmdline(`BOOT_IMAGE=/vmlinuz systemd.unit=dev-by\\x2duuid.device it=isn\'t a=b\c`)
	if err != nil {
		t.Fatal(err)
	}
	words, err := grubWords(cmdline{kernel: was.own().kernel[:2]}, was)
	if err != nil || !slices.Equal(words, []string{`systemd.unit=dev-by\x2duuid.device`, "it=isn't"}) {
		t.Errorf("%q, %v", words, err)
	}
	if words, err := grubWords(was.own(), was); err == nil {
		t.Errorf("a backslash that GRUB can't have written became %q", words)
	}
}

func TestKernelsByName(t *testing.T) {
	for _, x := range []struct {
		path, name string
		want       bool
	}{
		{"/boot/vmlinuz-6.1.0-50-amd64", "6.1.0-50-amd64", true}, {"/boot/vmlinuz-6.1.0-50-amd64", "6.1.0-50", false},
		{"($root)/vmlinuz-6.8.5", "(hd0,gpt2)/vmlinuz-6.8.5", true}, {"/vmlinuz-6.8.5", "/boot/vmlinuz-6.8.5", true},
		{"/0f2e/6.1.0-50-amd64/linux", "6.1.0-50-amd64", true}, {"", "6.1", false}, {"/boot/vmlinuz-6.1", "", false},
	} {
		if namesKernel(x.path, x.name) != x.want {
			t.Errorf("%s for %s: %v", x.path, x.name, !x.want)
		}
	}
}

func TestEntryIDs(t *testing.T) {
	for name, want := range map[string]string{"a-6.1+3.conf": "a-6.1.conf", "a+2-1.conf": "a.conf",
		"a-6.1+deb12.conf": "a-6.1+deb12.conf", "a+.conf": "a+.conf",
		"a+-1.conf": "a+-1.conf", "a.efi": "a.efi"} {
		if got := entryID(name); got != want {
			t.Errorf("%s is the entry %s, want %s", name, got, want)
		}
	}
}

func TestGRUBEntries(t *testing.T) {
	s := newStandIn(t, "debian-12")
	var kernels []string
	for _, e := range grubEntries(s.text("boot/grub/grub.cfg")) {
		kernels = append(kernels, strings.TrimPrefix(e.kernel, "/boot/vmlinuz-"))
	}
	if want := []string{"6.1.0-56-amd64", "6.1.0-56-amd64", "6.1.0-56-amd64", "6.1.0-50-amd64",
		"6.1.0-50-amd64"}; !slices.Equal(kernels, want) {
		t.Errorf("%q", kernels)
	}
	e := grubEntries(s.text("boot/grub/grub.cfg"))[0]
	const want = `menuentry 'headroom: one boot with other arguments' --unrestricted --id 'headroom-once' {
	load_video
	insmod gzio
	if [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi

	echo	'Loading Linux 6.1.0-56-amd64 ...'
	linux /boot/vmlinuz-6.1.0-56-amd64 'root=/dev/vda1' 'a=$b "; reboot'
	echo	'Loading initial ramdisk ...'
	initrd	/boot/initrd.img-6.1.0-56-amd64
}
`
	if got := e.menuentry(onceID, []string{"root=/dev/vda1", `a=$b "; reboot`}); got != want {
		t.Errorf("got\n%s", got)
	}
}

// A menu entry made from a loader entry of the Red Hat family is complete: variables that only blscfg sees are
// resolved.
func TestGRUBEntryOfALoaderEntry(t *testing.T) {
	e := parseLoaderEntry("x.conf", "title X\nlinux /vmlinuz-6.8.5\ninitrd /initramfs-6.8.5.img $tuned_initrd "+
		"$other\noptions $kernelopts\n")
	variables := grubVariables("set tuned_initrd=\"/tuned.img\"\nset other=$tuned_initrd\n", "other=\n")
	const want = `menuentry 'headroom: one boot with other arguments' --unrestricted --id 'headroom-once' {
	load_video
	set gfxpayload=keep
	insmod gzio
	linux ($root)/vmlinuz-6.8.5 'ro'
	initrd ($root)/initramfs-6.8.5.img ($root)/tuned.img
}
`
	if got := fromLoaderEntry(e, variables, true).menuentry(onceID, []string{"ro"}); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestOneShotEntry(t *testing.T) {
	s := newStandIn(t, "systemd-boot-252")
	entries, err := loaderEntries(s.FS(), "/boot/efi/loader/entries")
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d entries: %v", len(entries), err)
	}
	c, err := parseCmdline(`root=/dev/sda1 ro dyndbg="module a +p"`)
	if err != nil {
		t.Fatal(err)
	}
	const want = `# Written by headroom for one boot, and removed by it: headroom restore
title headroom: one boot with other arguments
linux /0f2e6a4b9d1c4e7f8a3b5c6d7e8f9a0b/6.1.0-56-amd64/linux
initrd /0f2e6a4b9d1c4e7f8a3b5c6d7e8f9a0b/6.1.0-56-amd64/initrd.img-6.1.0-56-amd64
options root=/dev/sda1 ro dyndbg="module a +p"
`
	if got := oneShot(entries[1], c); got != want {
		t.Errorf("got\n%s", got)
	}
}

// fixtures adds to the fuzz corpus the files of all hosts whose names end in suffix.
func fixtures(f *testing.F, suffix string) {
	f.Helper()
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		f.Fatalf("no fixtures: %v", err)
	}
	found := 0
	for _, a := range archives {
		data, err := os.ReadFile(a)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			if strings.HasSuffix(file.Name, suffix) {
				f.Add(string(file.Data))
				found++
			}
		}
	}
	if found == 0 {
		f.Fatalf("no fixture ends in %s", suffix)
	}
}

// A parsed line is written so that it parses to the same, by the kernel from every loader.
func FuzzCommandLine(f *testing.F) {
	fixtures(f, "proc/cmdline")
	f.Add(`a="b c" -- "d=e f"`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCmdline(text)
		if err != nil {
			return
		}
		again, err := parseCmdline(c.String())
		if err != nil || again.String() != c.String() || !slices.Equal(again.kernel, c.kernel) ||
			!slices.Equal(again.init, c.init) {
			t.Fatalf("%q is read as %q, and that as %q (%v)", text, c, again, err)
		}
		words, err := grubWords(c, cmdline{})
		if err != nil {
			return
		}
		line := "linux /vmlinuz"
		for _, w := range words {
			line += " " + grubQuote(w)
		}
		handed, err := parseCmdline(asGRUB(line))
		if err != nil || handed.String() != c.String() {
			t.Fatalf("%q comes from GRUB as %q (%v)", c, handed, err)
		}
	})
}

func FuzzGRUBEntries(f *testing.F) {
	fixtures(f, "grub.cfg")
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range grubEntries(text) {
			again := grubEntries(e.menuentry(onceID, []string{"ro"}))
			if len(again) != 1 || again[0].kernel != e.kernel {
				t.Fatalf("an entry for %s became %d entries", e.kernel, len(again))
			}
		}
		grubVariables(text, text)
	})
}

func FuzzLoaderEntry(f *testing.F) {
	fixtures(f, ".conf")
	f.Fuzz(func(t *testing.T, text string) {
		e := parseLoaderEntry("x+1.conf", text)
		if again := parseLoaderEntry("x.conf", oneShot(e, cmdline{})); again.kernel() != e.kernel() {
			t.Fatalf("the kernel %q became %q", e.kernel(), again.kernel())
		}
	})
}

func FuzzEnvironment(f *testing.F) {
	fixtures(f, "grubenv")
	f.Fuzz(func(t *testing.T, text string) { parseEnvironment(text) })
}
