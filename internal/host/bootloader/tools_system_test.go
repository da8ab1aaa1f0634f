//go:build system

package bootloader

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// The real commands of GRUB and coreutils apply the record, on a folder of this machine.
func TestRealToolsArmAndUndo(t *testing.T) {
	needs(t, "grub-editenv", "grub-script-check", "dd")
	for _, fixture := range []string{"debian-12", "ubuntu-24.04", "fedora-40"} {
		s := newStandIn(t, fixture)
		h := newHost(t, s, quick())
		dir := t.TempDir()
		g := grub{dir: dir, prefix: "grub-"}
		run(t, "grub-editenv", g.environment(), "create")
		run(t, "grub-editenv", g.environment(), "set", "saved_entry=0")
		own, err := parseCmdline(h.defaultBoot.Cmdline)
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := own.own().with(host.BootSpec{Arguments: []string{`a="$b ; reboot } #"`, "quiet", "x=${y}"}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := h.loader.plan(t.Context(), machine{s}, h.defaultBoot, wanted, "")
		if err != nil {
			t.Fatal(err)
		}
		r.Environment, r.Files[0].Path = g.environment(), g.custom()
		m := machine{host.NewLocal(filepath.Join(t.TempDir(), "jobs"))}
		if err := m.writeNew(t.Context(), r.Files[0]); err != nil {
			t.Fatal(err, detailsOf(err))
		}
		if err := m.writeNew(t.Context(), r.Files[0]); err == nil {
			t.Error("a file that is there was replaced")
		}
		if err := g.arm(t.Context(), m, r); err != nil {
			t.Fatal(err, detailsOf(err))
		}
		if list := run(t, "grub-editenv", g.environment(), "list"); !strings.Contains(list, "next_entry="+onceID) ||
			!strings.Contains(list, "saved_entry=0") {
			t.Errorf("%s: the environment is %s", fixture, list)
		}
		if err := g.arm(t.Context(), m, r); lab.KindOf(err) != lab.Refused {
			t.Errorf("armed twice: %v", err)
		}
		for range 2 { // the second time there is nothing left to undo
			if _, err := Undo(t.Context(), m.Target, r); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(g.custom()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: custom.cfg: %v", fixture, err)
		}
		if list := run(t, "grub-editenv", g.environment(), "list"); strings.TrimSpace(list) != "saved_entry=0" {
			t.Errorf("%s: the environment is left as %s", fixture, list)
		}
		// A file that GRUB can't read is refused before it is chosen.
		broken := NewFile{g.custom(), "menuentry 'x' {\n\tlinux 'a\n}\n"}
		if err := m.writeNew(t.Context(), broken); err != nil {
			t.Fatal(err)
		}
		if err := g.arm(t.Context(), m, r); err == nil || !strings.Contains(err.Error(), "would not read") {
			t.Errorf("%s: %v", fixture, err)
		}
	}
}
