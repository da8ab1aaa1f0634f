package machine

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/kconfig"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unpack"
)

// maxConfig is the most that is read of a build's configuration, unpacked; real ones have 300 kB.
const maxConfig = 16 << 20

// configPaths are the places where the configuration of the running kernel may lie: in the kernel itself
// (IKCONFIG_PROC), and where Debian, Fedora and image-based systems put it.
func configPaths(release string) []string {
	return []string{"/proc/config.gz", "/boot/config-" + release, "/lib/modules/" + release + "/config",
		"/usr/lib/modules/" + release + "/config", "/usr/lib/kernel/config-" + release}
}

// BuildConfig reads the configuration that the running kernel was built with, from the first place that has one. The
// error is the one that says most: that a file was there but closed.
func BuildConfig(r collect.Reader) (config kconfig.Config, source string, err error) {
	release, err := r.Text(collect.ReleasePath)
	if err != nil {
		return nil, collect.ReleasePath, err
	}
	paths := configPaths(release)
	source, err = paths[0], fs.ErrNotExist
	for _, p := range paths {
		if wouldMount(r, p) {
			source, err = p, errWouldMount
			continue
		}
		c, perr := configAt(r, p)
		if perr == nil {
			return c, p, nil
		}
		if !errors.Is(perr, fs.ErrNotExist) {
			source, err = p, perr
		}
	}
	return nil, source, err
}

// errWouldMount says that something stays unread because a look at it would mount a file system.
var errWouldMount = errors.New("an automount point at which nothing is mounted now; mount it and ask again")

// wouldMount says whether a file lies where looking makes the kernel or systemd mount something, as /boot does on
// machines whose partitions systemd finds by itself. Source: systemd-gpt-auto-generator(8).
//
//	41 28 0:33 / /boot rw,relatime shared:20 - autofs systemd-1 rw,fd=66,pgrp=1,timeout=120,minproto=5,maxproto=5,direct
func wouldMount(r collect.Reader, name string) bool {
	m, ok := collect.MountOf(collect.ReadMounts(r), name)
	return ok && m.Kind == "autofs"
}

func configAt(r collect.Reader, name string) (kconfig.Config, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return nil, err
	}
	return parseConfig(data)
}

// parseConfig reads a configuration, packed or not.
func parseConfig(data []byte) (kconfig.Config, error) {
	unpacked, err := unpack.Reader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return kconfig.Parse(io.LimitReader(unpacked, maxConfig))
}

// CollectConfig names every option of the build.
func CollectConfig(r collect.Reader, _ collect.Scope) []lab.Fact {
	config, source, err := BuildConfig(r)
	if errors.Is(err, fs.ErrNotExist) {
		return []lab.Fact{collect.Unknown("kernel.config", source,
			"neither the kernel nor /boot nor /lib/modules holds the configuration of this build")}
	}
	if err != nil {
		return []lab.Fact{collect.Unknown("kernel.config", source, collect.Why(err))}
	}
	facts := make([]lab.Fact, 0, len(config)+1)
	facts = append(facts, collect.Known("kernel.config", source, source))
	options := make([]string, 0, len(config))
	for o := range config {
		options = append(options, o)
	}
	slices.Sort(options)
	for _, o := range options {
		if o != "" && len(strings.Fields(o)) == 1 && collect.OneLine(o) == o {
			facts = append(facts, collect.Known("kernel.config."+o, collect.OrNone(config[o]), source))
		}
	}
	return facts
}
