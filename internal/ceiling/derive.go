package ceiling

import (
	"math"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
)

// Derive computes the facts that follow from others: those that the catalogue marks as computed. A fact that can't be
// computed is unknown, with a reason. The time is proportional to the number of objects.
func Derive(all []lab.Fact) []lab.Fact {
	d := deriver{inventory: newInventory(all), nodes: map[string]*linkTraffic{}}
	var derived []lab.Fact
	derived = append(derived, d.disks()...)
	derived = append(derived, d.volumes()...)
	derived = append(derived, d.adapters("nic", d.nicRate)...)
	for _, port := range d.things["port"] {
		r, reason := d.portRate(port)
		derived = append(derived, bytesFact("port.bandwidth", port, r.value, "port.rate: "+r.derivation, reason))
	}
	derived = append(derived, d.adapters("port", d.portRate)...)
	return append(derived, d.sockets()...)
}

type deriver struct {
	inventory
	nodes map[string]*linkTraffic
}

// linkTraffic is a PCI function with the traffic through its link.
type linkTraffic struct {
	rate   rate
	reason string
	disks  int
	demand float64
	// guess is set if the demand of a disk behind it is unknown.
	guess string
}

func (d *deriver) linkTraffic(address string) *linkTraffic {
	c := d.nodes[address]
	if c == nil {
		c = &linkTraffic{}
		c.rate, c.reason = d.link(address)
		d.nodes[address] = c
	}
	return c
}

// narrowest returns the narrowest link of a path, or why it is unknown. A step with an unknown link makes the result
// unknown, except the root port: it shows the link to the function below it, which shows that link too.
func (d *deriver) narrowest(path []string) (least rate, reason string) {
	least = unbounded()
	for i, address := range path {
		c := d.linkTraffic(address)
		if !c.rate.known() && i == 0 && len(path) > 1 && !d.emulated(address) {
			continue
		}
		if !c.rate.known() {
			return unbounded(), "the link of " + address + " is not known: " + c.reason
		}
		if c.rate.value <= least.value {
			least = c.rate
		}
	}
	return least, ""
}

func (d *deriver) disks() []lab.Fact {
	disks := d.things["disk"]
	paths, reasons := make([][]string, len(disks)), make([]string, len(disks))
	behind := map[string]int{} // disks by controller
	for i, disk := range disks {
		address := d.of("disk.pci.address", disk)
		if address.Unknown != "" {
			reasons[i] = address.Unknown
			continue
		}
		paths[i], reasons[i] = d.path(address.Value)
		behind[address.Value]++
	}
	for i, disk := range disks {
		if reasons[i] != "" {
			continue
		}
		controller := paths[i][len(paths[i])-1]
		demand, guess := d.demand(disk, controller, behind[controller])
		for _, address := range paths[i] {
			c := d.linkTraffic(address)
			c.disks++
			c.demand += demand
			if guess != "" {
				c.guess = guess
			}
		}
	}
	var all []lab.Fact
	for i, disk := range disks {
		all = append(all, d.disk(disk, paths[i], reasons[i])...)
	}
	return all
}

// volumes determines which volumes are on a rotating disk, if that is known for the disks under them.
func (d *deriver) volumes() []lab.Fact {
	var all []lab.Fact
	for _, volume := range d.things["volume"] {
		disks := catalogue.ParseList(d.text("volume.disks", volume))
		still := 0
		for _, disk := range disks {
			if on, ok := catalogue.ParseFlag(d.text("disk.rotational", disk)); ok && on {
				still = -len(disks)
				break
			} else if ok {
				still++
			}
		}
		if len(disks) == 0 || still != len(disks) && still >= 0 {
			continue
		}
		f := lab.Fact{Key: "volume.rotational", About: volume, Value: "off", Source: "volume.disks, disk.rotational"}
		if still < 0 {
			f.Value = "on"
		}
		all = append(all, f)
	}
	return all
}

// demand returns the rate that a disk can request from the links above it: the rate of the disk's link. If several
// disks are on one controller and their links are unknown (a RAID volume), they share the controller's.
func (d *deriver) demand(disk, controller string, together int) (demand float64, guess string) {
	if l, ok := ParseDiskLink(d.text("disk.link", disk)); ok {
		v, _, _ := l.Rate()
		return v, ""
	}
	c := d.linkTraffic(controller)
	if !c.rate.known() {
		return 0, "what " + disk + " asks for is not known: " + c.reason
	}
	return c.rate.value / float64(max(1, together)), ""
}

func (d *deriver) disk(disk string, path []string, reason string) []lab.Fact {
	possible := reason
	v := 0.0
	if reason == "" {
		r, why := d.linkOf("pci", path[len(path)-1], "link.max_speed", "link.max_width")
		v, possible = r.value, why
	}
	least, why := rate{}, reason
	if reason == "" {
		least, why = d.narrowest(path)
	}
	all := []lab.Fact{
		bytesFact("disk.pci.bandwidth", disk, least.value, least.limiter()+": "+least.derivation, why),
		bytesFact("disk.pci.bandwidth.possible", disk, v, "pci.link.max_speed, pci.link.max_width", possible),
		textFact("disk.pci.narrowest", disk, least.kind+" at "+least.name, "pci.path", why),
	}
	worst, share := (*linkTraffic)(nil), math.Inf(1)
	for _, address := range path {
		c := d.linkTraffic(address)
		if why == "" && c.guess != "" {
			why = c.guess
		}
		const same = 1e-9
		s := c.rate.value / c.demand
		if s < share*(1-same) || s < share*(1+same) && c.disks > worst.disks {
			worst, share = c, s
		}
	}
	if why != "" || worst == nil {
		return append(all, textFact("disk.pci.shared_by", disk, "", "pci.path", why),
			textFact("disk.pci.shared_share", disk, "", "pci.path", why))
	}
	return append(all,
		textFact("disk.pci.shared_by", disk, strconv.Itoa(worst.disks), "pci.path: "+worst.rate.limiter(), ""),
		shareFact("disk.pci.shared_share", disk, share, "pci.path: "+worst.rate.limiter()))
}

// adapters returns the facts of NICs and ports about their path. An adapter is the functions of one PCI device: a card
// with two ports shows as 0000:3b:00.0 and 0000:3b:00.1, or as one function.
func (d *deriver) adapters(class string, rateOf func(string) (rate, string)) []lab.Fact {
	demand, missing := map[string]float64{}, map[string]string{}
	things := d.things[class]
	for _, thing := range things {
		card := device(d.text(class+".pci.address", thing))
		if card == "" || d.text("nic.kind", thing) == "vf" {
			continue // a virtual function shares its port's wire
		}
		if r, reason := rateOf(thing); reason == "" {
			demand[card] += r.line()
		} else {
			missing[thing] = reason
		}
	}
	var all []lab.Fact
	for _, thing := range things {
		address := d.of(class+".pci.address", thing)
		path, reason := []string(nil), address.Unknown
		if reason == "" {
			path, reason = d.path(address.Value)
		}
		least := rate{}
		if reason == "" {
			least, reason = d.narrowest(path)
		}
		all = append(all, bytesFact(class+".pci.bandwidth", thing, least.value, least.limiter()+": "+least.derivation,
			reason))
		if reason == "" {
			reason = missing[thing]
		}
		wanted := demand[device(address.Value)]
		if reason == "" && !(wanted > 0) {
			reason = "the rate of its ports is not known"
		}
		if reason != "" {
			all = append(all, textFact(class+".pci.share", thing, "", "", reason))
			continue
		}
		all = append(all, shareFact(class+".pci.share", thing, least.value/wanted,
			least.limiter()+" for "+figure(wanted)+" of ports"))
	}
	return all
}

// line returns the rate of a port including headers: the rate that PCIe has to carry.
func (r rate) line() float64 {
	if r.noun == "NIC" {
		return r.most
	}
	return r.value
}

func (d *deriver) nicRate(nic string) (rate, string) {
	f := d.of("nic.speed", nic)
	if f.Unknown != "" {
		return rate{}, f.Unknown
	}
	bits, ok := d.number("nic.speed", nic)
	if !ok || bits <= 0 {
		return rate{}, nic + " shows no speed; it has no link"
	}
	return rate{value: bits / 8, most: bits / 8, noun: "NIC"}, ""
}

func (d *deriver) portRate(port string) (rate, string) {
	f := d.of("port.rate", port)
	switch {
	case f.Unknown != "":
		return rate{}, f.Unknown
	case d.down(port):
		return rate{}, "the port is " + d.text("port.state", port)
	}
	p, ok := ParsePortRate(f.Value)
	if !ok {
		return rate{}, "the rate reads " + f.Value
	}
	return infiniBand(p, d.text("port.layer", port) == "Ethernet"), ""
}

// device returns a PCI address without its function: 0000:3b:00.
func device(address string) string {
	card, _, _ := strings.Cut(address, ".")
	return card
}

// sockets determines the socket of each NIC, and counts over how many sockets the NICs of each speed are spread. It
// uses the kernel's nodes if the kernel shows several; otherwise the number of the bus, because firmware assigns each
// socket of an x86 machine an even range (with numa=off this is the only source).
func (d *deriver) sockets() []lab.Fact {
	total, _ := strconv.Atoi(d.machine("cpu.sockets"))
	nodes, _ := strconv.Atoi(d.machine("numa.nodes"))
	places, reasons, sources := map[string]int{}, map[string]string{}, map[string]string{}
	bySpeed := map[string]map[int]bool{}
	var physical []string
	for _, nic := range d.things["nic"] {
		if kind := d.text("nic.kind", nic); kind != "physical" {
			continue
		}
		physical = append(physical, nic)
		speed := d.text("nic.speed", nic)
		if n, ok := d.number("nic.speed", nic); !ok || n <= 0 {
			reasons[nic] = nic + " shows no speed; it has no link"
			continue
		}
		socket, source, reason := d.socket(nic, total, nodes)
		if reason != "" {
			reasons[nic] = reason
			continue
		}
		places[nic], sources[nic] = socket, source
		if bySpeed[speed] == nil {
			bySpeed[speed] = map[int]bool{}
		}
		bySpeed[speed][socket] = true
	}
	var all []lab.Fact
	for _, nic := range physical {
		all = append(all, textFact("nic.socket", nic, strconv.Itoa(places[nic]), sources[nic], reasons[nic]))
		n := strconv.Itoa(len(bySpeed[d.text("nic.speed", nic)]))
		all = append(all, textFact("nic.sockets", nic, n, sources[nic], reasons[nic]))
	}
	return all
}

func (d *deriver) socket(nic string, total, nodes int) (socket int, source, reason string) {
	switch {
	case total < 1:
		return 0, "", "cpu.sockets is not known"
	case total == 1:
		return 0, "cpu.sockets", ""
	}
	if node, ok := d.number("nic.numa_node", nic); ok && node >= 0 && nodes >= total {
		return int(node) * total / nodes, "nic.numa_node", ""
	}
	address := d.text("nic.pci.address", nic)
	domain, rest, found := strings.Cut(address, ":")
	bus, err := strconv.ParseUint(first(rest), 16, 8)
	switch {
	case !found || err != nil:
		return 0, "", "nic.pci.address of " + nic + " is not known"
	case domain != "0000":
		return 0, "", "the kernel shows no node, and PCI domain " + domain + " does not tell the socket"
	}
	const buses = 256
	return int(bus) * total / buses, "PCI bus " + first(rest) + " of 00 to ff, spread over " + strconv.Itoa(total) +
		" sockets", ""
}

func first(address string) string {
	bus, _, _ := strings.Cut(address, ":")
	return bus
}

func bytesFact(key, about string, v float64, source, reason string) lab.Fact {
	return textFact(key, about, strconv.FormatFloat(math.Round(v), 'f', -1, 64), source, reason)
}

func shareFact(key, about string, v float64, source string) lab.Fact {
	return textFact(key, about, strconv.FormatFloat(math.Round(min(1, v)*1e4)/1e4, 'f', -1, 64), source, "")
}

func textFact(key, about, value, source, reason string) lab.Fact {
	if reason != "" {
		return lab.Fact{Key: key, About: about, Unknown: reason}
	}
	return lab.Fact{Key: key, About: about, Value: value, Source: source}
}
