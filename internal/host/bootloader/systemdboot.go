package bootloader

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

const systemdBootName = "systemd-boot"

// oneShotFile has a name that makes it the last entry in the menu and never the default. An entry without a sort key
// comes after all that have one. Entries without one are sorted by name in descending order, where digits are greater
// than letters and an A is the smallest letter. Source: UAPI.1 Boot Loader Specification, "Sorting"; UAPI.10 Version
// Format Specification.
const oneShotFile = "A-" + onceID + ".conf"

// oneShotFeature is the bit of LoaderFeatures that is set if the loader supports LoaderEntryOneShot, which it deletes
// before it starts the entry. Source: The Boot Loader Interface of systemd.
const oneShotFeature = 1 << 3

// systemdBoot adds an entry and chooses it for one boot by an EFI variable.
type systemdBoot struct {
	// entries is the folder loader/entries that has the running kernel's entry, on the EFI system partition or on the
	// extended boot loader partition.
	entries string
}

func findSystemdBoot(ctx context.Context, m machine, natural Record) (loader, error) {
	name, err := m.efiVariable(ctx, "LoaderInfo")
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(name, systemdBootName) {
		return nil, errors.New("the firmware did not start systemd-boot")
	}
	if stub, err := m.efiVariable(ctx, "StubInfo"); err != nil || stub != "" {
		return nil, errors.Join(err, errors.New("the kernel is a unified image, whose arguments are part of it"))
	}
	const features = "/sys/firmware/efi/efivars/LoaderFeatures-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
	files, err := m.ReadFiles(ctx, features)
	if err != nil {
		return nil, err
	}
	if files[features].Err != nil || parseEFINumber(files[features].Data)&oneShotFeature == 0 {
		return nil, errors.New("this systemd-boot does not take an entry for one boot")
	}
	if err := errors.Join(m.noOneShot(ctx), m.canWriteNew(ctx)); err != nil {
		return nil, err
	}
	for _, option := range []string{"--print-boot-path", "--print-esp-path"} {
		root, err := m.output(ctx, "bootctl", option)
		if err != nil {
			return nil, err
		}
		s := systemdBoot{entries: path.Join(root, "loader", "entries")}
		if _, err := s.entry(m, natural, ""); err != nil {
			continue
		}
		if p := path.Join(s.entries, oneShotFile); m.exists(p) {
			return nil, fmt.Errorf("there is a %s already; one that headroom left is removed by headroom restore", p)
		}
		return s, nil
	}
	return nil, fmt.Errorf("no loader/entries holds the running entry %q", natural.Entry)
}

// entry finds the loader entry of a kernel, or of the default kernel.
func (s systemdBoot) entry(m machine, natural Record, kernel string) (loaderEntry, error) {
	entries, err := loaderEntries(m.FS(), s.entries)
	if err != nil {
		return loaderEntry{}, err
	}
	for _, e := range entries {
		if e.kernel() != "" && (kernel == "" && e.id == entryID(natural.Entry) || kernel != "" && e.boots(kernel)) {
			return e, nil
		}
	}
	if kernel == "" {
		kernel = natural.Entry
	}
	return loaderEntry{}, &lab.Error{Kind: lab.Refused, What: "systemd-boot has no entry for " + kernel,
		Target: m.Name()}
}

func (s systemdBoot) plan(_ context.Context, m machine, natural Record, wanted cmdline, kernel string) (Record, error) {
	e, err := s.entry(m, natural, kernel)
	if err != nil {
		return Record{}, err
	}
	natural.Files = []NewFile{{path.Join(s.entries, oneShotFile), oneShot(e, wanted)}}
	natural.OneShot = oneShotFile
	return natural, nil
}

// oneShot writes a loader entry again with other arguments. The options line is passed to the kernel unchanged.
func oneShot(e loaderEntry, wanted cmdline) string {
	var b strings.Builder
	b.WriteString("# Written by headroom for one boot, and removed by it: headroom restore\n")
	b.WriteString("title headroom: one boot with other arguments\n")
	for _, l := range e.lines {
		switch l[0] {
		case "title", "sort-key", "version", "machine-id", "options":
			continue // titles and sort keys must differ, and options are changed
		}
		b.WriteString(l[0] + " " + l[1] + "\n")
	}
	b.WriteString("options " + wanted.String() + "\n")
	return b.String()
}

func (systemdBoot) arm(ctx context.Context, m machine, r Record) error {
	if err := m.noOneShot(ctx); err != nil {
		return err
	}
	if err := m.run(ctx, "bootctl", "set-oneshot", r.OneShot); err != nil {
		return err
	}
	chosen, err := m.efiVariable(ctx, "LoaderEntryOneShot")
	if err == nil && chosen != r.OneShot {
		err = fmt.Errorf("the entry for the next boot is %q after it was set to %q", chosen, r.OneShot)
	}
	return err
}

func (systemdBoot) boot(m machine) []string { return reboot(m) }

// noOneShot refuses a machine on which another program has chosen an entry.
func (m machine) noOneShot(ctx context.Context) error {
	chosen, err := m.efiVariable(ctx, "LoaderEntryOneShot")
	if err == nil && chosen != "" {
		err = fmt.Errorf("another entry is chosen for the next boot already: %s", chosen)
	}
	return err
}

// unsetOneShot removes the choice of headroom's entry; another's choice is left unchanged.
func (m machine) unsetOneShot(ctx context.Context, entry string) error {
	chosen, err := m.efiVariable(ctx, "LoaderEntryOneShot")
	if err != nil || chosen != entry {
		return err
	}
	return m.run(ctx, "bootctl", "set-oneshot", "") // an empty name deletes the variable: bootctl(1)
}
