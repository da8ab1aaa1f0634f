package factor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// bundle is a set of sysctls that are recommended together.
type bundle struct {
	Name string
	// Levels are the variants of the bundle, and Sysctls has the values of each sysctl by level.
	Levels  []string
	Sysctls []bundled
}

type bundled struct {
	Name   string
	Values []string // of each level, in their order
}

// bundles are the known sets.
//
// esnet is what ESnet recommends for hosts that measure, by the speed of the adapter: fasterdata.es.net, "Linux Test &
// Measurement Host Tuning" (2025), as coded in fasterdata_tuning.py of one of its authors
// (github.com/bltierney/fasterdata-tuning) for 10 and 40 Gbit/s; for 100 Gbit/s another public script that quotes the
// page. It also recommends fq as net.core.default_qdisc, which affects only adapters that come up later; qdisc: sets
// the discipline of an existing adapter.
func bundles() []bundle {
	return []bundle{{Name: "esnet", Levels: []string{"10g", "40g", "100g"}, Sysctls: []bundled{
		{"net.core.rmem_max", []string{"268435456", "536870912", "2147483647"}},
		{"net.core.wmem_max", []string{"268435456", "536870912", "2147483647"}},
		{"net.ipv4.tcp_rmem", []string{"4096 87380 134217728", "4096 87380 268435456", "4096 65536 1073741824"}},
		{"net.ipv4.tcp_wmem", []string{"4096 65536 134217728", "4096 65536 268435456", "4096 65536 1073741824"}},
		{"net.ipv4.tcp_no_metrics_save", []string{"1", "1", "1"}},
		{"net.core.netdev_max_backlog", []string{"250000", "250000", "250000"}},
		{"net.ipv4.tcp_mtu_probing", []string{"1", "1", "1"}},
	}}}
}

func findBundle(name string) (bundle, error) {
	var names []string
	for _, b := range bundles() {
		if b.Name == name {
			return b, nil
		}
		names = append(names, b.Name)
	}
	return bundle{}, fmt.Errorf("bundle: knows %s, not %s", strings.Join(names, ", "), strconv.Quote(name))
}

// bundleScheme is bundle:, sysctls that are recommended together.
func bundleScheme() scheme.Scheme {
	return scheme.Scheme{Name: "bundle", Title: "sysctls that are recommended together", Class: scheme.Live,
		Needs:    "nothing",
		Syntax:   "bundle:NAME",
		Examples: []string{"bundle:esnet=found,10g"}, Levels: "variants of the bundle; of esnet 10g, 40g, 100g",
		Verified: "the files below /proc/sys", Check: checkBundle, Bind: bindBundle, Holds: sysctlsOf}
}

func checkBundle(name, level string) error {
	b, err := findBundle(name)
	if err != nil || level == "" || slices.Contains(b.Levels, level) {
		return err
	}
	return fmt.Errorf("bundle:%s is one of %s, not %s", name, strings.Join(b.Levels, ", "), strconv.Quote(level))
}

// sysctlsOf are the files of a bundle.
func sysctlsOf(_ context.Context, _ host.Target, name string) scheme.Holds {
	var patterns []string
	if b, err := findBundle(name); err == nil {
		for _, o := range b.Sysctls {
			patterns = append(patterns, sysctlPath(o.Name))
		}
	}
	return scheme.InFiles(patterns...)
}

// bindBundle binds a set of sysctls that are set together. It leaves out sysctls that are missing (on an
// older kernel) or read-only (in a container). The setting lists them in Lacks.
func bindBundle(ctx context.Context, w scheme.Scope, name string) (scheme.Setting, error) {
	b, err := findBundle(name)
	if err != nil {
		return scheme.Setting{}, &lab.Error{Kind: lab.Usage, What: err.Error()}
	}
	var s scheme.Setting
	var had []bundled
	var why error
	for _, o := range b.Sysctls {
		path := sysctlPath(o.Name)
		err := scheme.Writable(w.Target, path)
		switch {
		case ctx.Err() != nil:
			return scheme.Setting{}, ctx.Err()
		case err == nil:
			had, s.Spots = append(had, o), append(s.Spots, spot.Spot{Kind: spot.InFile, Path: path})
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, scheme.ErrReadOnly):
			s.Lacks, why = append(s.Lacks, "sysctl:"+o.Name), err
		default:
			return scheme.Setting{}, &lab.Error{What: "can't look at " + path, Target: host.RemoteName(w.Target),
				Err: err}
		}
	}
	if len(had) == 0 {
		return scheme.Setting{}, &lab.Error{What: "nothing of bundle:" + name + " can be set",
			Target: host.RemoteName(w.Target),
			Err:    why,
			Hints: []string{"a container or network namespace shows few of the kernel's settings: measure on the " +
				"host itself"}}
	}
	at := func(i int) []string {
		var values []string
		for _, o := range had {
			values = append(values, o.Values[i])
		}
		return values
	}
	s.Possible = b.Levels
	s.Values = func(level string) ([]string, error) {
		i := slices.Index(b.Levels, level)
		if i < 0 {
			return nil, checkBundle(name, level)
		}
		return at(i), nil
	}
	s.Level = func(values []string) string {
		for i, level := range b.Levels {
			if slices.EqualFunc(values, at(i), spot.Same) {
				return level
			}
		}
		return "none of " + strings.Join(b.Levels, ", ")
	}
	return s.Readable(ctx, w.Target)
}
