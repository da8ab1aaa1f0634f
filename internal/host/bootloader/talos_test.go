package bootloader

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

const talosConfig = `version: v1alpha1
machine:
    type: worker
    token: secret.of-the-cluster
    install:
        disk: /dev/sda
        image: factory.talos.dev/installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.9.0
        wipe: false
---
apiVersion: v1alpha1
kind: HostnameConfig
hostname: db1
`

const talosImage = "factory.talos.dev/installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.10.3"

// talosStandIn puts a replacement for talosctl on the path, with a node. It was never compared with a real Talos.
func talosStandIn(t *testing.T, client, uki string) (dir string) {
	t.Helper()
	scripts, err := filepath.Abs("testdata/stand-in")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	t.Setenv("PATH", scripts+":"+os.Getenv("PATH"))
	t.Setenv("TALOS_STAND_IN", dir)
	for name, text := range map[string]string{
		"config": talosConfig, "patch": "", "client": client, "server": "v1.10.3", "uki": uki, "boot_id": "1",
		"own":     "talos.platform=metal console=tty0 init_on_alloc=1 slab_nomerge pti=on",
		"cmdline": "BOOT_IMAGE=/A/vmlinuz talos.platform=metal console=tty0 init_on_alloc=1 slab_nomerge pti=on",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(talosConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func lookAt(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

func newTalos(t *testing.T, o Options) *Talos {
	t.Helper()
	n, err := NewTalos(t.Context(), "10.5.0.2", o)
	if err != nil {
		t.Fatal(err, detailsOf(err))
	}
	return n
}

func TestTalosBootsWithOtherArgumentsAndReturns(t *testing.T) {
	for _, client := range []string{"v1.7.6", "v1.10.3", "v1.14.0"} {
		dir := talosStandIn(t, client, "false")
		var kept []Record
		o := quick()
		o.Before = func(r Record) error { kept = append(kept, r); return nil }
		o.After = func(Record) error { kept = nil; return nil }
		n := newTalos(t, o)
		if err := n.Boot(t.Context(), host.BootSpec{Arguments: []string{"mitigations=off"},
			Without: []string{"init_on_alloc"}}); err != nil {
			t.Fatal(client, err, detailsOf(err))
		}
		if got := lookAt(t, dir, "cmdline"); got != "talos.platform=metal console=tty0 slab_nomerge pti=on "+
			"mitigations=off" {
			t.Errorf("%s: booted with %s", client, got)
		}
		if len(kept) != 1 || kept[0].Config != talosConfig || kept[0].Installer != talosImage {
			t.Fatalf("%s: kept %+v", client, kept)
		}
		if running, err := Undo(t.Context(), n, kept[0]); err != nil || !running || lookAt(t, dir, "patch") != "" {
			t.Errorf("%s: running %v, %v", client, running, err)
		}
		if err := n.Boot(t.Context(), host.BootSpec{}); err != nil || kept != nil {
			t.Errorf("%s: %v, kept %v", client, err, kept)
		}
		if images := lookAt(t, dir, "images"); images != talosImage+"\n"+talosImage {
			t.Errorf("%s: upgraded to %s", client, images)
		}
		if legacy := strings.Contains(lookAt(t, dir, "log"), "--legacy"); legacy != (client == "v1.14.0") {
			t.Errorf("%s: the old way of upgrading: %v", client, legacy)
		}
	}
}

// If arguments are part of the image, another image is a level of kernel:, and the previous image is restored.
func TestTalosWithArgumentsInItsImage(t *testing.T) {
	dir := talosStandIn(t, "v1.14.0", "true")
	n := newTalos(t, quick())
	err := n.Boot(t.Context(), host.BootSpec{Arguments: []string{"mitigations=off"}})
	if lab.KindOf(err) != lab.Refused ||
		!strings.Contains(strings.Join(detailsOf(err), "\n"), `extraKernelArgs: ["mitigations=off"]`) {
		t.Errorf("%v %q", err, detailsOf(err))
	}
	if err := n.Boot(t.Context(),
		host.BootSpec{Kernel: "factory.talos.dev/metal-installer/SCHEMATIC:v1.10.3"}); err != nil {
		t.Fatal(err)
	}
	if got := lookAt(t, dir, "cmdline"); !strings.HasSuffix(got, "slab_nomerge") {
		t.Errorf("booted with %s", got)
	}
	if err := n.Boot(t.Context(), host.BootSpec{}); err != nil {
		t.Fatal(err)
	}
	if got := lookAt(t, dir, "images"); !strings.HasSuffix(got, talosImage) {
		t.Errorf("images %s", got)
	}
}

// An image that boots with the same arguments can't be distinguished from the node's image by its arguments.
func TestTalosInstallsItsOwnImageAgain(t *testing.T) {
	dir := talosStandIn(t, "v1.10.3", "false")
	var kept Record
	o := quick()
	o.Before = func(r Record) error { kept = r; return nil }
	n := newTalos(t, o)
	own := lookAt(t, dir, "cmdline")
	if err := n.Boot(t.Context(), host.BootSpec{Kernel: "registry/other:v1.10.3"}); err != nil {
		t.Fatal(err, detailsOf(err))
	}
	if running, err := Undo(t.Context(), n, kept); err != nil || !running {
		t.Errorf("running %v, %v", running, err)
	}
	o.Resume = &kept // as after a crash
	if err := newTalos(t, o).Boot(t.Context(), host.BootSpec{}); err != nil {
		t.Fatal(err, detailsOf(err))
	}
	if images := lookAt(t, dir, "images"); images != "registry/other:v1.10.3\n"+talosImage {
		t.Errorf("upgraded to %s", images)
	}
	if now := lookAt(t, dir, "cmdline"); strings.TrimPrefix(own, "BOOT_IMAGE=/A/vmlinuz ") != now {
		t.Errorf("it runs with %s", now)
	}
}

func TestTalosThatFails(t *testing.T) {
	dir := talosStandIn(t, "v1.10.3", "false")
	n := newTalos(t, quick())
	err := n.Boot(t.Context(), host.BootSpec{Kernel: "registry/missing:v1", Arguments: []string{"audit=0"}})
	if err == nil || !strings.Contains(err.Error(), "can't restart the machine") || lookAt(t, dir, "patch") != "" {
		t.Errorf("%v, left in the configuration: %q", err, lookAt(t, dir, "patch"))
	}
	if err := os.WriteFile(filepath.Join(dir, "hangs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n.options = quick()
	ctx, giveUp := context.WithCancel(t.Context())
	go func() { // like its user
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "down")); err == nil {
				giveUp()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if err := n.Boot(ctx, host.BootSpec{Arguments: []string{"audit=0"}}); !errors.Is(err, errGone) {
		t.Errorf("%v", err)
	}
	giveUp()
}

func TestTalosHasNoShell(t *testing.T) {
	talosStandIn(t, "v1.10.3", "false")
	n := newTalos(t, quick())
	if _, err := n.Run(t.Context(), "true"); lab.KindOf(err) != lab.Refused {
		t.Error(err)
	}
	if _, err := n.Start(t.Context(), host.JobSpec{Argv: []string{"fio"}}); lab.KindOf(err) != lab.Refused {
		t.Error(err)
	}
	files, err := n.ReadFiles(t.Context(), cmdlinePath, "/no/such")
	if err != nil || !strings.Contains(string(files[cmdlinePath].Data), "talos.platform=metal") ||
		!errors.Is(files["/no/such"].Err, fs.ErrNotExist) {
		t.Errorf("%v, %v", files, err)
	}
}

func TestTalosVersions(t *testing.T) {
	const printed = "Client:\n\tTag:         v1.14.0-alpha.1\nServer:\n\tNODE:        10.5.0.2\n\tTag:         v1.9.5\n"
	if c, s := talosTag(printed, "Client:"), talosTag(printed, "Server:"); c != "v1.14.0-alpha.1" || s != "v1.9.5" {
		t.Errorf("client %s, server %s", c, s)
	}
	if !talosAtLeast("v1.14.0-alpha.1", 1, 13) || talosAtLeast("v1.9.5", 1, 13) || talosAtLeast("", 1, 0) {
		t.Error("versions are compared as text")
	}
	for _, image := range []string{"", "ghcr.io:443/siderolabs/installer", "ghcr.io/x@sha256:00"} {
		if got, err := installer(image, "v1.9.5"); lab.KindOf(err) != lab.Refused {
			t.Errorf("%s is installed as %s", image, got)
		}
	}
}

func FuzzInstallSection(f *testing.F) {
	f.Add(talosConfig)
	f.Fuzz(func(t *testing.T, text string) {
		if i, err := installSection(text); err == nil {
			_, _ = installer(i.Image, talosTag(text, "Server:"))
		}
	})
}
