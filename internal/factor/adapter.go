package factor

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/prose"
)

var adapterName = prose.Pattern(`^[^-/\s:][^/\s:]{0,14}$`)

// nicScheme is nic:, a parameter of a network adapter.
func nicScheme() scheme.Scheme {
	return scheme.Scheme{Name: "nic", Title: "a parameter of a network adapter", Class: scheme.Live, Needs: "nothing",
		Syntax:   "nic:ADAPTER/PARAMETER",
		Examples: []string{"nic:eth0/mtu=1500,9000", "nic:eth0/ring-rx=512,4096", "nic:eth0/gro=on,off"},
		Levels:   "on and off for adaptive-rx and offloads, numbers for mtu, ring, channels and coalescing",
		Verified: "ethtool -g, -l, -c, -k; for mtu /sys/class/net/ADAPTER/mtu", Check: checkNIC, Bind: bindNIC,
		Holds: parametersOf}
}

func checkNIC(name, level string) error {
	device, param, _ := strings.Cut(name, "/")
	if !adapterName().MatchString(device) || device == "." || device == ".." {
		return errors.New("nic: takes ADAPTER/PARAMETER, not " + strconv.Quote(name))
	}
	flag := false
	if param != spot.MTU {
		p, err := spot.FindAdapterParameter(param)
		if err != nil {
			return err
		}
		flag = p.Flag
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
func parametersOf(_ context.Context, _ host.Target, name string) scheme.Holds {
	device, param, _ := strings.Cut(name, "/")
	file := scheme.InFiles("/sys/*/net/" + device + "/mtu")
	match := scheme.Wildcard(name)
	return func(s spot.Spot, resolved string) bool {
		return s.Kind == spot.InAdapter && match.MatchString(s.Path+"/"+s.Name) || match.MatchString(device+"/mtu") &&
			(param == spot.MTU || strings.Contains(param, "*")) && file(s, resolved)
	}
}

func bindNIC(ctx context.Context, w scheme.Scope, name string) (scheme.Setting, error) {
	device, param, _ := strings.Cut(name, "/")
	device, err := w.AdapterName(device)
	if err != nil {
		return scheme.Setting{}, err
	}
	if param == spot.MTU {
		s := scheme.OneFile("/sys/class/net/" + device + "/mtu")
		s.Companions = scheme.AdapterCompanions(ctx, w.Target, device)
		s.Values = func(level string) ([]string, error) {
			// net/ipv6/addrconf.c, addrconf_notify: below IPV6_MIN_MTU an adapter loses its IPv6 addresses and routes.
			if n, err := strconv.Atoi(level); err == nil && n < 1280 {
				return nil, scheme.Refusal("nic:"+name,
					"below 1280 the kernel takes the IPv6 addresses from the adapter")
			}
			return []string{level}, nil
		}
		return s.Readable(ctx, w.Target)
	}
	s := scheme.Setting{Spots: []spot.Spot{{Kind: spot.InAdapter, Path: device, Name: param}},
		Companions: scheme.AdapterCompanions(ctx, w.Target, device)}
	if p, err := spot.FindAdapterParameter(param); err == nil && p.Flag {
		s.Possible = []string{"on", "off"}
	}
	return s.Readable(ctx, w.Target)
}
