package bootloader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

const grubName = "grub"

// grub is GRUB 2 with its configuration in a folder: /boot/grub, /boot/grub2, or on the EFI system partition.
//
// The one-time entry is in a file that headroom creates, custom.cfg, which every grub.cfg made by grub-mkconfig reads
// if it exists (41_custom). grub.cfg itself and /etc/default/grub are never changed. The entry is chosen like
// grub-reboot does, by next_entry in the environment block. grub.cfg deletes next_entry before it starts anything, so
// that a machine that does not come back starts its default entry at the next power cycle.
type grub struct {
	dir string
	// prefix of the commands: "grub-", or "grub2-" in the Red Hat and SUSE families.
	prefix string
}

func (g grub) config() string      { return path.Join(g.dir, "grub.cfg") }
func (g grub) custom() string      { return path.Join(g.dir, "custom.cfg") }
func (g grub) environment() string { return path.Join(g.dir, "grubenv") }

var (
	// The output of 00_header: next_entry is used, and deleted before anything is started.
	takesNext = prose.Pattern(
		`(?m)^\s*set default="\$\{next_entry\}"\s*\n\s*set next_entry=\s*\n\s*save_env next_entry\s*$`)
	takesFile  = prose.Pattern(`(?m)^\s*source\s+(\$\{config_directory\}|\$\{?prefix\}?)/custom\.cfg\s*$`)
	callsBLS   = prose.Pattern(`(?m)^\s*blscfg\b`)
	loadsVideo = prose.Pattern(`(?m)^\s*function load_video\b`)
)

func findGRUB(ctx context.Context, m machine, natural Record) (loader, error) {
	if _, err := bootImage(natural); err != nil {
		return nil, err
	}
	if name, err := m.efiVariable(ctx, "LoaderInfo"); err != nil {
		return nil, err
	} else if strings.HasPrefix(name, systemdBootName) {
		return nil, errors.New("the firmware started systemd-boot")
	}
	g, cfg, err := findGRUBFolder(ctx, m)
	if err != nil {
		return nil, err
	}
	switch {
	case !takesNext().MatchString(cfg):
		return nil, fmt.Errorf("%s does not take next_entry and delete it", g.config())
	case !takesFile().MatchString(cfg):
		return nil, fmt.Errorf("%s does not read custom.cfg", g.config())
	case m.exists(g.custom()):
		return nil, fmt.Errorf("there is a %s already; one that headroom left is removed by headroom restore",
			g.custom())
	}
	if err := g.writable(ctx, m); err != nil {
		return nil, err
	}
	if err := m.canWriteNew(ctx); err != nil {
		return nil, err
	}
	if _, err := g.entry(ctx, m, natural, ""); err != nil {
		return nil, err
	}
	return g, nil
}

// findGRUBFolder finds the configuration that GRUB reads. On the EFI system partition there is often a small one that
// only leads to another. Two real ones are refused, because one of them is outdated.
func findGRUBFolder(ctx context.Context, m machine) (grub, string, error) {
	dirs := []string{"/boot/grub", "/boot/grub2"}
	if vendors, err := fs.ReadDir(m.FS(), "boot/efi/EFI"); err == nil {
		for _, v := range vendors {
			dirs = append(dirs, path.Join("/boot/efi/EFI", v.Name()))
		}
	}
	var found []grub
	var text string
	var paths []string
	for _, d := range dirs {
		paths = append(paths, path.Join(d, "grub.cfg"))
	}
	files, err := m.ReadFiles(ctx, paths...)
	if err != nil {
		return grub{}, "", err
	}
	for i, d := range dirs {
		f := files[paths[i]]
		if f.Err != nil {
			if !errors.Is(f.Err, fs.ErrNotExist) {
				return grub{}, "", f.Err
			}
			continue
		}
		if cfg := string(f.Data); len(grubEntries(cfg)) > 0 || callsBLS().MatchString(cfg) {
			found, text = append(found, grub{dir: d}), cfg
		}
	}
	if len(found) != 1 {
		return grub{}, "",
			fmt.Errorf("%d folders hold a grub.cfg with entries; one is needed to know which counts (looked at %s)",
				len(found), strings.Join(dirs, ", "))
	}
	g := found[0]
	for _, g.prefix = range []string{"grub2-", "grub-"} {
		if _, err := m.output(ctx, g.prefix+"editenv", "--version"); err == nil {
			return g, text, nil
		}
	}
	return grub{}, "", errors.New("neither grub-editenv nor grub2-editenv can be run")
}

// writable refuses an environment block that GRUB can't write, because next_entry would never be deleted. GRUB writes
// the blocks of the file in place. It can't do that on a stack of devices (LVM, RAID, encryption), nor if blocks have
// checksums (btrfs, ZFS). It can write few file systems, so these are listed rather than the others. Source: GRUB
// manual, "Environment block".
func (g grub) writable(ctx context.Context, m machine) error {
	list, err := m.output(ctx, g.prefix+"editenv", g.environment(), "list")
	if err != nil {
		return fmt.Errorf("the environment block can't be read: %w", err)
	}
	set := parseEnvironment(list)
	if next := set["next_entry"]; next != "" {
		return fmt.Errorf("another entry is chosen for the next boot already (next_entry=%s in %s)",
			next, g.environment())
	}
	if set["prev_saved_entry"] != "" {
		return fmt.Errorf("prev_saved_entry is set in %s: the next boot will already be another", g.environment())
	}
	layers, err := m.output(ctx, g.prefix+"probe", "--target=abstraction", g.environment())
	if err != nil {
		return fmt.Errorf("can't tell whether GRUB can write %s: %w", g.environment(), err)
	}
	if layers != "" {
		return fmt.Errorf("%s is on %s, where GRUB can't delete the choice of an entry", g.environment(),
			strings.Join(strings.Fields(layers), ", "))
	}
	system, err := m.output(ctx, g.prefix+"probe", "--target=fs", g.environment())
	if err != nil {
		return fmt.Errorf("can't tell whether GRUB can write %s: %w", g.environment(), err)
	}
	if !slices.Contains([]string{"ext2", "xfs", "fat"}, system) { // GRUB's ext2 includes ext3 and ext4
		return fmt.Errorf("%s is on %s, where GRUB is not known to delete the choice of an entry", g.environment(),
			system)
	}
	return nil
}

// bootImage returns the kernel's path as GRUB received it.
func bootImage(natural Record) (string, error) {
	c, err := parseCmdline(natural.Cmdline)
	if err != nil {
		return "", err
	}
	image, ok := c.value("BOOT_IMAGE")
	if !ok {
		return "", errors.New("the running kernel was not started by GRUB: it has no BOOT_IMAGE among its arguments")
	}
	return withoutDevice(image), nil
}

// entry finds the menu entry of a kernel, or the entry of the default kernel.
func (g grub) entry(ctx context.Context, m machine, natural Record, kernel string) (grubEntry, error) {
	if kernel == "" {
		image, err := bootImage(natural)
		if err != nil {
			return grubEntry{}, err
		}
		kernel = image
	}
	text, err := m.read(ctx, g.config(), g.environment())
	if err != nil {
		return grubEntry{}, err
	}
	cfg := text[g.config()]
	for _, e := range grubEntries(cfg) {
		if namesKernel(e.kernel, kernel) {
			return e, nil // the first is the normal entry; recovery entries follow it
		}
	}
	if callsBLS().MatchString(cfg) {
		entries, err := loaderEntries(m.FS(), "/boot/loader/entries")
		if err != nil {
			return grubEntry{}, err
		}
		for _, e := range entries {
			if e.boots(kernel) {
				return fromLoaderEntry(e, grubVariables(cfg, text[g.environment()]), loadsVideo().MatchString(cfg)), nil
			}
		}
	}
	return grubEntry{}, &lab.Error{Kind: lab.Refused, What: "GRUB has no entry for the kernel " + kernel,
		Target: m.Name()}
}

func (g grub) plan(ctx context.Context, m machine, natural Record, wanted cmdline, kernel string) (Record, error) {
	e, err := g.entry(ctx, m, natural, kernel)
	if err != nil {
		return Record{}, err
	}
	was, err := parseCmdline(natural.Cmdline)
	if err != nil {
		return Record{}, err
	}
	words, err := grubWords(wanted, was)
	if err != nil {
		return Record{}, &lab.Error{Kind: lab.Refused, What: "can't boot with these arguments", Target: m.Name(),
			Err: err}
	}
	natural.Files = []NewFile{{g.custom(), "# Written by headroom for one boot, and removed by it: headroom restore\n" +
		e.menuentry(onceID, words)}}
	natural.Environment = g.environment()
	return natural, nil
}

func (g grub) arm(ctx context.Context, m machine, r Record) error {
	// After an error in the file, GRUB would continue with the machine's other entries, but a boot takes long.
	if out, err := m.Run(ctx, g.prefix+"script-check", g.custom()); err == nil && out.ExitCode == 1 {
		return &lab.Error{What: "GRUB would not read what was written", Target: m.Name(), Output: string(out.Stderr)}
	}
	list, err := m.output(ctx, g.prefix+"editenv", r.Environment, "list")
	if err != nil {
		return err
	}
	if next := parseEnvironment(list)["next_entry"]; next != "" {
		return &lab.Error{Kind: lab.Refused, What: "another program has chosen an entry for the next boot, " + next,
			Target: m.Name()}
	}
	if err := m.run(ctx, g.prefix+"editenv", r.Environment, "set", "next_entry="+onceID); err != nil {
		return err
	}
	list, err = m.output(ctx, g.prefix+"editenv", r.Environment, "list")
	if err == nil && parseEnvironment(list)["next_entry"] != onceID {
		err = fmt.Errorf("next_entry in %s does not have the value that was just set", r.Environment)
	}
	if err != nil {
		return err
	}
	return m.run(ctx, "sync")
}

func (grub) boot(m machine) []string { return reboot(m) }

// nextEntry returns the entry chosen for the next boot.
func (m machine) nextEntry(ctx context.Context, environment string) (string, error) {
	block, err := m.read(ctx, environment)
	return parseEnvironment(block[environment])["next_entry"], err
}

// unsetNextEntry removes headroom's entry from an environment block; another's entry is left unchanged.
func (m machine) unsetNextEntry(ctx context.Context, environment string) error {
	if next, err := m.nextEntry(ctx, environment); err != nil || next != onceID {
		return err
	}
	var errs []error
	for _, command := range []string{"grub2-editenv", "grub-editenv"} {
		err := m.run(ctx, command, environment, "unset", "next_entry")
		if err == nil {
			return m.run(ctx, "sync")
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
