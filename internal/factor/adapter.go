package factor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/target"
)

// adapterParameter is a value that ethtool reads and sets.
type adapterParameter struct {
	name string
	// page is the option that prints it, set the one that changes it.
	page, set string
	// label before its value on the page, and the word that set takes before the new one.
	label, word string
	// flag values are on and off, others are numbers.
	flag bool
}

// adapterParameters are in the order in which they are put back: the number of channels first, because drivers make
// rings again with them, and offloads from those that others stand on. The level of tso is that of its plain feature:
// the line that sums it up says on as long as any feature is, although none sends a segment without sg. Source:
// ethtool(8), and the pages that ethtool 6.1 prints.
func adapterParameters() []adapterParameter {
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

// oneFeature before a name makes it the kernel's own for an offload, of which ethtool's short words sum up several.
const oneFeature = "feature:"

// mtu is the one parameter of an adapter that is a file.
const mtu = "mtu"

func findAdapterParameter(name string) (adapterParameter, error) {
	all := []string{mtu}
	if feature, ok := strings.CutPrefix(name, oneFeature); ok {
		return adapterParameter{name, "-k", "-K", feature, feature, true}, nil
	}
	for _, p := range adapterParameters() {
		if p.name == name {
			return p, nil
		}
		all = append(all, p.name)
	}
	return adapterParameter{}, fmt.Errorf("nic: varies %s, not %s", strings.Join(all, ", "), strconv.Quote(name))
}

var adapterName = regexp.MustCompile(`^[^-/\s:][^/\s:]{0,14}$`)

// adapterScheme is nic:, a parameter of a network adapter.
func adapterScheme() Scheme {
	return Scheme{Name: "nic", Title: "a parameter of a network adapter", Class: Live, Needs: "nothing",
		Syntax:   "nic:ADAPTER/PARAMETER",
		Examples: []string{"nic:eth0/mtu=1500,9000", "nic:eth0/ring-rx=512,4096", "nic:eth0/gro=on,off"},
		Levels:   "on and off for adaptive-rx and offloads, numbers for mtu, ring, channels and coalescing",
		Verified: "ethtool -g, -l, -c, -k; for mtu /sys/class/net/ADAPTER/mtu", check: checkNIC, bind: bindNIC,
		holds: parametersOf}
}

func checkNIC(name, level string) error {
	device, param, _ := strings.Cut(name, "/")
	if !adapterName.MatchString(device) || device == "." || device == ".." {
		return errors.New("nic: takes ADAPTER/PARAMETER, not " + strconv.Quote(name))
	}
	flag := false
	if param != mtu {
		p, err := findAdapterParameter(param)
		if err != nil {
			return err
		}
		flag = p.flag
	}
	if level == "" {
		return nil
	}
	if _, err := strconv.ParseUint(level, 10, 32); err != nil && !flag {
		return errors.New("nic:" + name + " is a number, not " + strconv.Quote(level))
	}
	if flag && level != "on" && level != "off" {
		return errors.New("nic:" + name + " is on or off, not " + strconv.Quote(level))
	}
	return nil
}

// parametersOf are the parameters that a name stands for; the MTU is a file.
func parametersOf(_ context.Context, _ target.Target, name string) Holds {
	device, param, _ := strings.Cut(name, "/")
	file := inFiles("/sys/*/net/" + device + "/mtu")
	match := wildcard(name)
	return func(s Spot, resolved string) bool {
		return s.Kind == inAdapter && match.MatchString(s.Path+"/"+s.Name) || match.MatchString(device+"/mtu") &&
			(param == mtu || strings.Contains(param, "*")) && file(s, resolved)
	}
}

func bindNIC(ctx context.Context, w Scope, name string) (Setting, error) {
	device, param, _ := strings.Cut(name, "/")
	device, err := w.AdapterName(device)
	if err != nil {
		return Setting{}, err
	}
	if param == mtu {
		s := oneFile("/sys/class/net/" + device + "/mtu")
		s.Companions = adapterCompanions(ctx, w.Target, device)
		s.Values = func(level string) ([]string, error) {
			// net/ipv6/addrconf.c, addrconf_notify: below IPV6_MIN_MTU an adapter loses its IPv6 addresses and routes.
			if n, err := strconv.Atoi(level); err == nil && n < 1280 && !w.allows("nic:"+name) {
				return nil, refusal("nic:"+name, "below 1280 the kernel takes the IPv6 addresses from the adapter")
			}
			return []string{level}, nil
		}
		return s.Readable(ctx, w.Target)
	}
	s := Setting{Spots: []Spot{{Kind: inAdapter, Path: device, Name: param}},
		Companions: adapterCompanions(ctx, w.Target, device)}
	if p, err := findAdapterParameter(param); err == nil && p.flag {
		s.Possible = []string{"on", "off"}
	}
	return s.Readable(ctx, w.Target)
}

// adapterCompanions are all the parameters of an adapter: drivers set some again when others change, and offloads
// depend on each other.
func adapterCompanions(ctx context.Context, t target.Target, device string) []Spot {
	spots := []Spot{{Kind: inFile, Path: "/sys/class/net/" + device + "/mtu"}}
	for _, p := range adapterParameters() {
		spots = append(spots, Spot{Kind: inAdapter, Path: device, Name: p.name})
	}
	out, err := t.Run(ctx, "ethtool", "-k", device)
	if err != nil || out.ExitCode != 0 {
		return spots // what can't be read now can't be put back either; a setting that needs ethtool says so itself
	}
	for _, feature := range singleFeatures(string(out.Stdout)) {
		spots = append(spots, Spot{Kind: inAdapter, Path: device, Name: oneFeature + feature})
	}
	return spots
}

// singleFeatures are the offloads on ethtool's page that can be changed one by one: the indented lines, and the others
// that are not known by a word of their own.
func singleFeatures(page string) []string {
	known := []string{"tx-checksumming", "scatter-gather", "tcp-segmentation-offload"}
	for _, p := range adapterParameters() {
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

// page is what ethtool printed.
type page struct {
	values map[string]string
	err    error
}

// adapterPages asks for each page of an adapter once.
type adapterPages struct {
	target target.Target
	pages  map[string]page
}

func (a adapterPages) read(ctx context.Context, s Spot) reading {
	p, err := findAdapterParameter(s.Name)
	if err != nil {
		return reading{err: err}
	}
	key := p.page + " " + s.Path
	got, ok := a.pages[key]
	if !ok {
		got = askAdapter(ctx, a.target, p.page, s.Path)
		a.pages[key] = got
	}
	if got.err != nil {
		return reading{err: got.err}
	}
	value, _, _ := strings.Cut(got.values[p.label], " ") // "off [fixed]", "off  TX: n/a"
	if value == "" || value == "n/a" {
		return reading{err: &lab.Error{What: "the driver of " + s.Path + " has no " + p.name,
			Target: target.RemoteName(a.target), Command: []string{"ethtool", p.page, s.Path}}}
	}
	return reading{value: value}
}

func askAdapter(ctx context.Context, t target.Target, option, device string) page {
	argv := []string{"ethtool", option, device}
	out, err := t.Run(ctx, argv...)
	if err != nil {
		return page{err: &lab.Error{What: "can't ask for the parameters of " + device, Target: target.RemoteName(t),
			Command: argv, Err: err,
			Hints: []string{"install ethtool there"}}}
	}
	if out.ExitCode != 0 {
		printed := strings.TrimSpace(string(out.Stderr))
		return page{err: &lab.Error{What: "can't read the parameters of " + device,
			Target: target.RemoteName(t), Command: argv,
			Output: printed, Hints: hintsFor(printed)}}
	}
	return page{values: parseAdapterPage(string(out.Stdout))}
}

// parseAdapterPage reads what ethtool -g, -l, -c and -k print: a label, a colon and a value a line. Limits stand first
// under "Pre-set maximums:", with the same labels as the values in effect, which come last and win.
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

// adapterCommand sets a parameter.
func adapterCommand(s Spot, value string) ([]string, error) {
	p, err := findAdapterParameter(s.Name)
	if err != nil {
		return nil, err
	}
	return []string{"ethtool", p.set, s.Path, p.word, value}, nil
}
