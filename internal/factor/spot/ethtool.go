package spot

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// adapterParameter is a value that ethtool reads and sets.
type adapterParameter struct {
	Name string
	// page is the option that prints it, set the option that changes it.
	page, set string
	// label precedes its value on the page, and word precedes the new value when it is set.
	label, word string
	// Flag values are on and off, others are numbers.
	Flag bool
}

// AdapterParameters are in the order in which they are restored: the number of channels first, because drivers then
// recreate the rings, and offloads before those that depend on them. The level of tso is the level of its basic
// feature: the summary line says on as long as any feature is on, although none sends a segment without sg. Source:
// ethtool(8), and the pages that ethtool 6.1 prints.
func AdapterParameters() []adapterParameter {
	return []adapterParameter{
		{"channels", "-l", "-L", "Combined", "combined", false},
		{"channels-rx", "-l", "-L", "RX", "rx", false},
		{"channels-tx", "-l", "-L", "TX", "tx", false},
		{"ring-rx", "-g", "-G", "RX", "rx", false},
		{"ring-tx", "-g", "-G", "TX", "tx", false},
		{"adaptive-rx", "-c", "-C", "Adaptive RX", "adaptive-rx", true},
		{"rx-usecs", "-c", "-C", "rx-usecs", "rx-usecs", false},
		{"rx-frames", "-c", "-C", "rx-frames", "rx-frames", false},
		{"tx-usecs", "-c", "-C", "tx-usecs", "tx-usecs", false},
		{"tx-frames", "-c", "-C", "tx-frames", "tx-frames", false},
		{"rx", "-k", "-K", "rx-checksumming", "rx", true},
		{"tx", "-k", "-K", "tx-checksumming", "tx", true},
		{"sg", "-k", "-K", "tx-scatter-gather", "sg", true},
		{"tso", "-k", "-K", "tx-tcp-segmentation", "tso", true},
		{"gso", "-k", "-K", "generic-segmentation-offload", "gso", true},
		{"gro", "-k", "-K", "generic-receive-offload", "gro", true},
		{"lro", "-k", "-K", "large-receive-offload", "lro", true},
		{"rxhash", "-k", "-K", "receive-hashing", "rxhash", true},
		{"rxvlan", "-k", "-K", "rx-vlan-offload", "rxvlan", true},
		{"txvlan", "-k", "-K", "tx-vlan-offload", "txvlan", true},
		{"ntuple", "-k", "-K", "ntuple-filters", "ntuple", true},
	}
}

// OneFeature before a name makes it the kernel's name of an offload; one of ethtool's short names covers several.
const OneFeature = "feature:"

// MTU is the only parameter of an adapter that is a file.
const MTU = "mtu"

func FindAdapterParameter(name string) (adapterParameter, error) {
	all := []string{MTU}
	if feature, ok := strings.CutPrefix(name, OneFeature); ok {
		return adapterParameter{name, "-k", "-K", feature, feature, true}, nil
	}
	for _, p := range AdapterParameters() {
		if p.Name == name {
			return p, nil
		}
		all = append(all, p.Name)
	}
	return adapterParameter{}, fmt.Errorf("nic: varies %s, not %s", strings.Join(all, ", "), strconv.Quote(name))
}

// SingleFeatures returns the offloads on ethtool's page that can be changed one by one: the indented lines, and others
// without a short name.
func SingleFeatures(page string) []string {
	known := []string{"tx-checksumming", "scatter-gather", "tcp-segmentation-offload"}
	for _, p := range AdapterParameters() {
		known = append(known, p.label)
	}
	var names []string
	for line := range strings.Lines(page) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok && !strings.Contains(value, "[fixed]") && !slices.Contains(known, name) && !strings.Contains(name, " ") {
			names = append(names, name)
		}
	}
	return names
}

// page is one page of ethtool's output.
type page struct {
	values map[string]string
	err    error
}

// adapterPages runs ethtool once for each page of an adapter.
type adapterPages struct {
	target host.Target
	pages  map[string]page
}

func (a adapterPages) read(ctx context.Context, s Spot) Reading {
	p, err := FindAdapterParameter(s.Name)
	if err != nil {
		return Reading{Err: err}
	}
	key := p.page + " " + s.Path
	got, ok := a.pages[key]
	if !ok {
		got = askAdapter(ctx, a.target, p.page, s.Path)
		a.pages[key] = got
	}
	if got.err != nil {
		return Reading{Err: got.err}
	}
	value, _, _ := strings.Cut(got.values[p.label], " ") // "off [fixed]", "off  TX: n/a"
	if value == "" || value == "n/a" {
		return Reading{Err: &lab.Error{What: "the driver of " + s.Path + " has no " + p.Name,
			Target: host.RemoteName(a.target), Command: []string{"ethtool", p.page, s.Path}}}
	}
	return Reading{Value: value}
}

func askAdapter(ctx context.Context, t host.Target, option, device string) page {
	argv := []string{"ethtool", option, device}
	out, err := t.Run(ctx, argv...)
	if err != nil {
		return page{err: &lab.Error{What: "can't ask for the parameters of " + device, Target: host.RemoteName(t),
			Command: argv, Err: err,
			Hints: []string{"install ethtool there"}}}
	}
	if out.ExitCode != 0 {
		printed := strings.TrimSpace(string(out.Stderr))
		return page{err: &lab.Error{What: "can't read the parameters of " + device,
			Target: host.RemoteName(t), Command: argv,
			Output: printed, Hints: hintsFor(printed)}}
	}
	return page{values: parseAdapterPage(string(out.Stdout))}
}

// parseAdapterPage parses the output of ethtool -g, -l, -c and -k: a label, a colon and a value per line. Limits come
// first under "Pre-set maximums:", with the same labels as the current values, which come last and win.
//
//	Current hardware settings:
//	RX:		256
//	Adaptive RX: off  TX: n/a
//	tcp-segmentation-offload: on
//	large-receive-offload: off [fixed]
func parseAdapterPage(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if label, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			if value = strings.TrimSpace(value); value != "" {
				values[label] = value
			}
		}
	}
	return values
}

// adapterCommand returns the command that sets a parameter.
func adapterCommand(s Spot, value string) ([]string, error) {
	p, err := FindAdapterParameter(s.Name)
	if err != nil {
		return nil, err
	}
	return []string{"ethtool", p.set, s.Path, p.word, value}, nil
}
