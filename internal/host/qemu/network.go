package qemu

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Network is a network card of a guest, connected to another guest of the same headroom.
type Network struct {
	// Link is the name of the wire: the two guests that name it are connected.
	Link string
	// Address of the guest on the link, with the prefix length.
	Address netip.Prefix
	// MTU in bytes and Speed in Mbit/s, as the card reports them to the guest; 0 for QEMU's defaults: 1500, and no
	// speed.
	MTU, Speed int
	// RDMA enables soft RoCE over the card.
	RDMA bool
}

// The limits of virtio-net. Source: the kernel's include/uapi/linux/if_ether.h (ETH_MIN_MTU, ETH_MAX_MTU); IPv4
// requires 576.
const (
	minMTU    = 576
	maxMTU    = 65535
	maxSpeed  = 400_000
	maxLinks  = 8
	linkShape = `^[A-Za-z0-9][A-Za-z0-9-]{0,11}$`
)

// ownNetwork is the network of the card by which headroom reaches a guest: QEMU's user network.
func ownNetwork() netip.Prefix { return netip.MustParsePrefix("10.0.2.0/24") }

func (r *reader) networks(n *yaml.Node) []Network {
	var all []Network
	elements := r.Sequence(n, "networks")
	if len(elements) > maxLinks {
		r.At(n, "", "a guest has %d networks at most", maxLinks)
	}
	for _, element := range elements {
		w := r.network(element)
		same := func(o Network) bool {
			return o.Link == w.Link && w.Link != "" || o.Address.IsValid() && w.Address.IsValid() &&
				o.Address.Overlaps(w.Address)
		}
		if slices.ContainsFunc(all, same) {
			r.At(element, "give each network a different link and subnet",
				"a network above has this link or these addresses already")
		}
		all = append(all, w)
	}
	return all
}

func (r *reader) network(n *yaml.Node) Network {
	var w Network
	at := map[string]bool{}
	for _, e := range r.Mapping(n, "a network", []string{"link", "address", "mtu", "speed", "rdma"}) {
		at[e.Key] = true
		switch e.Key {
		case "link":
			v, ok := r.Scalar(e.Value, e.Key)
			if ok && !regexp.MustCompile(linkShape).MatchString(v) {
				r.At(e.Value, "use up to 12 letters, digits and dashes", "link can't be %q", v)
			}
			w.Link = v
		case "address":
			w.Address = r.address(e.Value)
		case "mtu":
			w.MTU = r.Count(e.Value, e.Key, minMTU, maxMTU)
		case "speed":
			w.Speed = r.Count(e.Value, e.Key, 1, maxSpeed)
		case "rdma":
			w.RDMA = r.YesNo(e.Value, e.Key)
		}
	}
	if n.Kind != yaml.MappingNode {
		return w
	}
	if !at["link"] {
		r.At(n, "add link: a, and the same to the other guest", "the network does not say which link it is")
	}
	if !at["address"] {
		r.At(n, "add address: 10.0.1.1/24", "the guest has no address in the network")
	}
	return w
}

func (r *reader) address(n *yaml.Node) netip.Prefix {
	v, ok := r.Scalar(n, "address")
	if !ok {
		return netip.Prefix{}
	}
	p, err := netip.ParsePrefix(v)
	switch {
	case err != nil || !p.Addr().Is4():
		r.At(n, "write 10.0.1.1/24", "address can't be %q", v)
		return netip.Prefix{}
	case p.Overlaps(ownNetwork()):
		r.At(n, "write 10.0.1.1/24", "%s is the network by which headroom reaches the guest", ownNetwork())
	}
	return p
}

// mac returns an address of the card that is unique on the wire: locally administered, with the IP address.
func (w Network) mac() string {
	a := w.Address.Addr().As4()
	return fmt.Sprintf("02:68:%02x:%02x:%02x:%02x", a[0], a[1], a[2], a[3])
}

// networkArgv returns the arguments for a network. QEMU inherits its end of the wire as a file descriptor.
func networkArgv(i int, w Network, descriptor int) []string {
	id := "link-" + strconv.Itoa(i)
	device := "virtio-net-pci,netdev=" + id + ",romfile=,mac=" + w.mac()
	if w.MTU > 0 {
		device += ",host_mtu=" + strconv.Itoa(w.MTU)
	}
	return []string{"-netdev", fmt.Sprintf("dgram,id=%s,local.type=fd,local.str=%d", id, descriptor), "-device",
		device + speedOption(w.Speed)}
}

func speedOption(speed int) string {
	if speed == 0 {
		return ""
	}
	return ",speed=" + strconv.Itoa(speed) + ",duplex=full"
}

// ownSpeed is the speed reported by the card through which headroom reaches the guest: the lowest speed of the other
// cards. While the speed of any card is unknown, the total rate of a machine has no known limit.
func ownSpeed(networks []Network) int {
	least := 0
	for _, w := range networks {
		if w.Speed > 0 && (least == 0 || w.Speed < least) {
			least = w.Speed
		}
	}
	return least
}

// networkScript sets up the cards of the networks, which are identified by their MAC addresses.
func networkScript(networks []Network) string {
	var b strings.Builder
	for i, w := range networks {
		fmt.Fprintf(&b, `card=none
for i in /sys/class/net/*; do
	[ "$($b cat $i/address)" != %s ] || card=${i##*/}
done
$b ip address add %s dev $card && $b ip link set $card up || echo 'headroom: the link %s can not be set up'
`, w.mac(), w.Address, w.Link)
		if w.RDMA {
			fmt.Fprintf(&b, "rdma link add rxe%d type rxe netdev $card || echo 'headroom: the link %s can not do "+
				"RDMA'\n", i, w.Link)
		}
	}
	return b.String()
}

// withRDMA reports whether a guest has RDMA on any network.
func withRDMA(networks []Network) bool {
	return slices.ContainsFunc(networks, func(w Network) bool { return w.RDMA })
}
