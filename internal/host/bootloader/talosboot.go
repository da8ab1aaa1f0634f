package bootloader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Boot reboots the node as specified. Talos takes boot arguments when it is installed, so this is an upgrade to the
// running version, with the arguments in machine.install.extraKernelArgs. The zero spec applies the original
// configuration again, with another such upgrade. If arguments are part of the image (UEFI installations since Talos
// 1.10), spec.Kernel names the installer image that includes them, from an Image Factory.
//
// An upgrade is permanent. Talos keeps the previous system and returns to it if the new one does not start.
//
// Sources: Talos documentation, "Boot Loader", "Editing Machine Configuration", "Upgrading Talos Linux";
// siderolabs/talos issue 13967 and the documentation's note on it: from 1.13 on, talosctl upgrade ignores
// extraKernelArgs without --legacy.
func (n *Talos) Boot(ctx context.Context, spec host.BootSpec) error {
	m := machine{n}
	if len(spec.Machine) > 0 {
		return &lab.Error{Kind: lab.Usage, What: "a real machine has no settings of a virtual one", Target: n.Name()}
	}
	if isEmpty(spec) {
		return n.bootDefault(ctx, m)
	}
	patch, image := "", n.defaultBoot.Installer
	if spec.Kernel != "" {
		image = spec.Kernel
	}
	switch arguments := len(spec.Arguments) + len(spec.Without); {
	case n.ukiCmdline && arguments > 0 && spec.Kernel == "":
		return n.imageNeeded(spec)
	case !n.ukiCmdline && arguments > 0:
		var err error
		if patch, err = talosPatch(spec); err != nil {
			return err
		}
	}
	record := n.defaultBoot
	record.Image = image
	if err := n.options.keep(record); err != nil {
		return err
	}
	n.defaultBoot.Image = image
	if patch != "" {
		if err := n.apply(ctx, n.defaultBoot.Config, patch); err != nil {
			return err
		}
	}
	if err := n.upgrade(ctx, m, image); err != nil {
		if patch != "" && !errors.Is(err, errGone) {
			err = errors.Join(err, n.apply(context.WithoutCancel(ctx), n.defaultBoot.Config, ""))
		}
		return err
	}
	now, err := m.read(ctx, cmdlinePath, releasePath)
	if err != nil {
		return err
	}
	// The name of an image does not tell the kernel in it.
	return checkBooted(n.Name(), spec, "", now[cmdlinePath], strings.TrimSpace(now[releasePath]))
}

// bootDefault restores the configuration and the image. It only reboots if no image was installed and the node already
// runs its default boot.
func (n *Talos) bootDefault(ctx context.Context, m machine) error {
	if err := n.options.reachable(ctx, m); err != nil {
		return err
	}
	now, err := m.read(ctx, cmdlinePath, releasePath)
	if err != nil {
		return err
	}
	if err := n.apply(ctx, n.defaultBoot.Config, ""); err != nil {
		return err
	}
	if n.defaultBoot.Image == "" && sameBoot(n.defaultBoot, now[cmdlinePath], now[releasePath]) {
		err = n.restart(ctx, m, n.argv("reboot"))
	} else {
		err = n.upgrade(ctx, m, n.defaultBoot.Installer)
	}
	if err != nil {
		return err
	}
	if now, err = m.read(ctx, cmdlinePath, releasePath); err != nil {
		return err
	}
	n.defaultBoot.Image = "" // the image was replaced
	return n.options.ended(n.defaultBoot, now[cmdlinePath], now[releasePath])
}

func (n *Talos) upgrade(ctx context.Context, m machine, image string) error {
	argv := n.argv("upgrade", "--image", image, "--preserve")
	if n.legacy && !n.ukiCmdline {
		argv = append(argv, "--legacy")
	}
	return n.restart(ctx, m, argv)
}

// restart runs a talosctl on this machine that reboots the node. talosctl waits for the node, so it can take as long as
// a boot.
func (n *Talos) restart(ctx context.Context, m machine, argv []string) error {
	err := n.options.restart(ctx, m, argv, func(ctx context.Context) (host.Output, error) {
		return n.local.Run(ctx, argv...)
	})
	if late, ok := errors.AsType[*lab.Error](err); ok && errors.Is(err, errGone) {
		late.Hints = []string{"Talos returns to the system before when a new one does not start; a power cycle may " +
			"be needed",
			"then headroom restore puts its configuration back", "if it only needs longer, allow more time"}
	}
	return err
}

// apply applies a machine configuration with a patch. The part below machine.install takes effect at the next upgrade,
// so no reboot is needed, and none is allowed. The configuration contains secrets: its file is readable only by the
// user, and deleted afterwards.
func (n *Talos) apply(ctx context.Context, config, patch string) error {
	file, err := os.CreateTemp("", "headroom-talos-*.yaml") // with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.WriteString(config)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	args := []string{"apply-config", "--file", file.Name(), "--mode=no-reboot"}
	if patch != "" {
		args = append(args, "--config-patch", patch)
	}
	_, err = n.talosctl(ctx, args...)
	return err
}

// talosPatch returns a strategic merge patch: lists are appended to, and a leading dash removes an argument.
//
//	{"machine":{"install":{"extraKernelArgs":["-quiet","mitigations=off"]}}}
func talosPatch(spec host.BootSpec) (string, error) {
	var list []string
	for _, name := range spec.Without {
		list = append(list, "-"+name)
	}
	if _, err := (cmdline{}).with(spec); err != nil {
		return "", err
	}
	list = append(list, spec.Arguments...)
	text, err := json.Marshal(
		map[string]any{"machine": map[string]any{"install": map[string]any{"extraKernelArgs": list}}})
	return string(text), err
}

func (n *Talos) imageNeeded(spec host.BootSpec) error {
	var list []string
	for _, name := range spec.Without {
		list = append(list, "-"+name)
	}
	return &lab.Error{Kind: lab.Refused, What: "boot arguments are part of this node's image, and can't be changed " +
		"without another one", Target: n.Name(),
		Hints: []string{fmt.Sprintf("have an Image Factory make an installer with customization: {extraKernelArgs: %q}",
			append(list, spec.Arguments...)),
			"then try it as a level of kernel:, such as factory.talos.dev/metal-installer/SCHEMATIC:VERSION"}}
}

// install is the part of machine.install in a machine configuration that is needed.
type install struct {
	Image             string `yaml:"image"`
	GRUBUseUKICmdline bool   `yaml:"grubUseUKICmdline"`
}

// installSection finds machine.install in the documents of a machine configuration.
//
//	version: v1alpha1
//	machine:
//	    install:
//	        image: ghcr.io/siderolabs/installer:v1.10.3
func installSection(config string) (install, error) {
	documents := yaml.NewDecoder(strings.NewReader(config))
	for {
		var d struct {
			Machine struct {
				Install *install `yaml:"install"`
			} `yaml:"machine"`
		}
		switch err := documents.Decode(&d); {
		case errors.Is(err, io.EOF):
			return install{}, &lab.Error{Kind: lab.Refused, What: "the machine configuration has no machine.install"}
		case err != nil:
			return install{}, fmt.Errorf("the machine configuration can't be read: %w", err)
		case d.Machine.Install != nil:
			return *d.Machine.Install, nil
		}
	}
}
