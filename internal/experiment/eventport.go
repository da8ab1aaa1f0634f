package experiment

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// withIP begins the scripts that call ip: the ip of iproute2, which BusyBox's shell would replace by its own.
const withIP = `for d in /usr/sbin /sbin /usr/bin /bin; do if [ -x "$d/ip" ]; then ip=$d/ip; break; fi; done
: "${ip:=ip}"
`

// ipScript calls ip with some arguments. portScript sets a port up again, and then restores the routes and addresses
// lost with it: each further word has the arguments of a call of ip. replace does not fail for existing ones.
const (
	ipScript   = withIP + `exec "$ip" "$@"`
	portScript = withIP + `set -f
"$ip" link set dev "$1" up || exit 1
shift
for line; do "$ip" $line || failed=1; done
exit $failed`
)

// callIP returns the command that calls ip.
func callIP(arguments ...string) []string {
	return append([]string{"sh", "-c", ipScript, "headroom"}, arguments...)
}

func losePort(ctx context.Context, w EventScope, words []string) (EventPlan, error) {
	port := words[0]
	if err := isLosable(ctx, w.Target, port); err != nil {
		return EventPlan{}, err
	}
	lost, err := lostWithPort(ctx, w.Target, port)
	if err != nil {
		return EventPlan{}, err
	}
	return EventPlan{Command: callIP("link", "set", "dev", port, "down"),
		Undo: append([]string{"sh", "-c", portScript, "headroom", port}, lost...)}, nil
}

// loseTrunk is losePort with the port by which the mount under test reaches an address of its server.
func loseTrunk(ctx context.Context, w EventScope, words []string) (EventPlan, error) {
	a, err := netip.ParseAddr(words[0])
	if err != nil {
		return EventPlan{}, refused("headroom facts shows the addresses that a mount uses",
			"%s is no address of a server", words[0])
	}
	if !strings.HasPrefix(w.Place.Filesystem, "nfs") {
		return EventPlan{}, refused("lose-port PORT takes a port by its name",
			"it is no NFS that is measured there, so that nothing of it can be lost")
	}
	p, err := network.NFSPathsUnder(ctx, w.Target, w.Place.Path)
	if err != nil {
		return EventPlan{}, err
	}
	if !slices.Contains(p.Addresses, a.String()) {
		return EventPlan{}, refused("lose-port PORT takes a port by its name",
			"the mount does not use the address %s, but %s", a, strings.Join(p.Addresses, ", "))
	}
	port, err := portTo(ctx, w.Target, a)
	if err != nil {
		return EventPlan{}, err
	}
	left := 0
	for _, other := range p.Addresses {
		by, err := netip.ParseAddr(other)
		if err != nil {
			continue
		}
		to, err := portTo(ctx, w.Target, by)
		if err != nil {
			return EventPlan{}, err
		}
		if to != port {
			left++
		}
	}
	if left == 0 && len(p.Addresses) > 1 {
		return EventPlan{}, refused("ip route get "+a.String(),
			"all addresses of the mount are reached by %s, so that none would be left", port)
	}
	plan, err := losePort(ctx, w, []string{port})
	plan.ExpectedShare = float64(left) / float64(len(p.Addresses))
	return plan, err
}

// portTo returns the port by which an address is reached.
//
//	198.18.7.2 dev eth1 src 198.18.7.1 uid 0
//	10.0.12.1 via 10.0.11.254 dev bond0 src 10.0.11.2 uid 0
//	local 127.0.0.1 dev lo table local src 127.0.0.1 uid 0
func portTo(ctx context.Context, t host.Target, a netip.Addr) (string, error) {
	text, ok, err := output(ctx, t, callIP("route", "get", a.String())...)
	if err != nil {
		return "", err
	}
	if port := wordAfter(text, "dev"); ok && port != "" {
		return port, nil
	}
	return "", &lab.Error{What: "the port that leads to " + a.String() + " is unknown",
		Hints: []string{"ip route get " + a.String()}}
}

func wordAfter(text, word string) string {
	fields := strings.Fields(text)
	if i := slices.Index(fields, word); i >= 0 && i+1 < len(fields) {
		return fields[i+1]
	}
	return ""
}

// isLosable returns why a port must not be lost, or could not be restored.
func isLosable(ctx context.Context, t host.Target, port string) error {
	folder := "/sys/class/net/" + port
	files, err := t.ReadFiles(ctx, folder+"/flags", carrierOf(port))
	if err != nil {
		return err
	}
	flags, err := strconv.ParseUint(strings.TrimSpace(string(files[folder+"/flags"].Data)), 0, 64)
	const up = 1 // IFF_UP
	switch {
	case files[folder+"/flags"].Err != nil || err != nil || strings.Contains(port, "/"):
		return refused("ip link shows the ports", "there is no port %s", port)
	case flags&up == 0:
		return refused("ip link set dev "+port+" up",
			"the port %s is down already: nothing would be lost, and to undo it would put it up", port)
	case !isSet(files[carrierOf(port)]):
		return refused("ip link show dev "+port, "the port %s has no link: nothing would be lost", port)
	}
	from, err := sshClientAddress(ctx, t)
	if err != nil || !from.IsValid() {
		return err
	}
	way, err := portTo(ctx, t, from)
	if err != nil {
		return err
	}
	needs, err := lowerDevices(ctx, t, way)
	if err == nil && slices.Contains(needs, port) {
		err = refused("reach it by another port, or lose another one",
			"the machine is reached from %s by the port %s, which could not be set up again from there", from, port)
	}
	return err
}

// sshClientAddress returns the address from which the machine is reached by ssh; the zero address if it is not. Source:
// sshd(8), SSH_CONNECTION.
//
//	10.0.2.2 38770 10.0.2.15 22
func sshClientAddress(ctx context.Context, t host.Target) (netip.Addr, error) {
	text, _, err := output(ctx, t, "sh", "-c", `echo "$SSH_CONNECTION"`)
	if err != nil {
		return netip.Addr{}, err
	}
	from, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	a, err := netip.ParseAddr(from)
	if err != nil {
		return netip.Addr{}, nil
	}
	return a.WithZone(""), nil
}

// lowerDevices returns a port and everything that it depends on: the devices under a bridge or VLAN, and the port of a
// bond if no other has a link.
func lowerDevices(ctx context.Context, t host.Target, port string) ([]string, error) {
	all := []string{port}
	for i := 0; i < len(all); i++ {
		below, err := related(ctx, t, all[i], "lower_")
		if err != nil {
			return nil, err
		}
		bond := "/sys/class/net/" + all[i] + "/bonding/mode"
		paths := []string{bond}
		for _, b := range below {
			paths = append(paths, carrierOf(b))
		}
		files, err := t.ReadFiles(ctx, paths...)
		if err != nil {
			return nil, err
		}
		linked := slices.DeleteFunc(slices.Clone(below), func(b string) bool { return !isSet(files[carrierOf(b)]) })
		if files[bond].Err == nil && len(linked) > 1 {
			continue
		}
		all = append(all, slices.DeleteFunc(below, func(b string) bool { return slices.Contains(all, b) })...)
	}
	return all, nil
}

// carrierOf returns the file that contains whether a port has a link.
func carrierOf(port string) string { return "/sys/class/net/" + port + "/carrier" }

func isSet(f host.File) bool { return f.Err == nil && strings.TrimSpace(string(f.Data)) == "1" }

// related returns the ports that a port's folder has links to, with a prefix: lower_eth0, upper_vlan7.
func related(ctx context.Context, t host.Target, port, prefix string) ([]string, error) {
	all, err := names(ctx, t, "/sys/class/net/"+port)
	var found []string
	for _, name := range all {
		if other, ok := strings.CutPrefix(name, prefix); ok {
			found = append(found, other)
		}
	}
	return found, err
}

// hasIP refuses a machine without the ip of iproute2.
func hasIP(ctx context.Context, t host.Target) error {
	text, _, err := output(ctx, t, callIP("-V")...)
	if err == nil && !strings.Contains(text, "iproute2") {
		err = refused("apt install iproute2", "there is no ip of iproute2, and another's does not tell which routes "+
			"come back by themselves")
	}
	return err
}

// lostWithPort returns the routes and addresses that the kernel removes with a port, as arguments of ip that restore
// them: all routes except those that come with an address, and IPv6 addresses, of the port and of devices on top of it.
func lostWithPort(ctx context.Context, t host.Target, port string) ([]string, error) {
	if err := hasIP(ctx, t); err != nil {
		return nil, err
	}
	ports := []string{port}
	for i := 0; i < len(ports); i++ {
		above, err := related(ctx, t, ports[i], "upper_")
		if err != nil {
			return nil, err
		}
		ports = append(ports, slices.DeleteFunc(above, func(a string) bool { return slices.Contains(ports, a) })...)
	}
	var near, far []string
	for _, p := range ports {
		text, _, err := output(ctx, t, callIP("-6", "-o", "address", "show", "dev", p, "scope", "global")...)
		if err != nil {
			return nil, err
		}
		near = append(near, addressesOf(text, p)...)
		for _, family := range []string{"-4", "-6"} {
			text, _, err := output(ctx, t, callIP(family, "route", "show", "table", "all", "dev", p)...)
			if err != nil {
				return nil, err
			}
			for _, line := range routesOf(text, family, p) {
				if strings.Contains(line, " via ") {
					far = append(far, line) // its gateway must be reachable before
				} else {
					near = append(near, line)
				}
			}
		}
	}
	return append(near, far...), nil
}

// addressesOf parses ip's output of addresses, and omits those assigned by a router.
//
//	3: eth1    inet6 fd00::1/64 scope global \       valid_lft forever preferred_lft forever
//	2: eth0    inet6 2001:db8::5054:ff:fe12:3456/64 scope global dynamic mngtmpaddr \       valid_lft 86353sec preferred_lft 14353sec
//	4: vlan7    inet6 fd07::1/64 scope global nodad \       valid_lft forever preferred_lft forever
func addressesOf(text, port string) []string {
	var all []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if a := wordAfter(line, "inet6"); a != "" && !slices.Contains(f, "dynamic") {
			again := "-6 address replace " + a + " dev " + port
			if slices.Contains(f, "nodad") {
				again += " nodad"
			}
			all = append(all, again)
		}
	}
	return all
}

// routesOf parses ip's output of the routes by a port, and omits those that come with an address or from a router.
//
//	default via 10.0.11.254 proto static metric 100
//	10.0.11.0/24 proto kernel scope link src 10.0.11.2
//	198.18.9.2 table 7 via 198.18.7.2 src 198.18.9.1 metric 10
//	local 10.0.11.2 table local proto kernel scope host src 10.0.11.2
func routesOf(text, family, port string) []string {
	var all []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || slices.Contains([]string{"kernel", "ra", "redirect"}, wordAfter(line, "proto")) ||
			wordAfter(line, "table") == "local" {
			continue
		}
		words := slices.DeleteFunc(f, func(w string) bool { return w == "linkdown" || w == "dead" })
		all = append(all, family+" route replace "+strings.Join(words, " ")+" dev "+port)
	}
	return all
}
