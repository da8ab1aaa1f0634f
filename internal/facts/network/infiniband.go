package network

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

const rdmaDir = "/sys/class/infiniband"

// maxPorts is how many ports of adapters are described; hosts with many virtual functions have hundreds.
const maxPorts = 256

// CollectInfiniBand describes each port of each RDMA adapter, and the modules that carry storage over RDMA. Source: the
// kernel's Documentation/ABI/stable/sysfs-class-infiniband.
func CollectInfiniBand(r collect.Reader, _ collect.Scope) []lab.Fact {
	machine := &collect.Thing{}
	var loaded []string
	for _, m := range rdmaModules() {
		if r.Exists("/sys/module/" + m) {
			loaded = append(loaded, m)
		}
	}
	machine.Add(collect.ListOf("rdma.modules", loaded, "/sys/module"))
	all := machine.Facts
	ports := 0
	for _, device := range r.Names(rdmaDir) {
		dir := rdmaDir + "/" + device
		for _, number := range r.Names(dir + "/ports") {
			if ports++; ports > maxPorts {
				return append(all, collect.Unknown("collector.infiniband", rdmaDir,
					"only the first "+strconv.Itoa(maxPorts)+" ports are described"))
			}
			p := port{Reader: r, Thing: collect.Thing{Name: device + "/" + number}, device: dir, index: number,
				dir: dir + "/ports/" + number}
			p.describe()
			all = append(all, p.Facts...)
		}
	}
	return all
}

// rdmaModules are the modules of adapters, of the RDMA core and of what storage runs over it, by the kernel's names.
// One that is built in shows up as well when it has parameters or a version.
func rdmaModules() []string {
	return []string{
		"bnxt_re", "efa", "erdma", "hfi1", "hns_roce_hw_v2", "ib_mthca", "ib_qib", "ionic_rdma", "irdma",
		"iw_cxgb4", "mana_ib",
		"mlx4_ib", "mlx5_ib", "ocrdma", "qedr", "rdma_rxe", "siw", "vmw_pvrdma",
		"ib_core", "ib_ipoib", "ib_umad", "ib_uverbs", "rdma_cm", "rdma_ucm",
		"ib_iser", "ib_isert", "ib_srp", "ib_srpt", "nvme_rdma", "nvmet_rdma", "rpcrdma", "xprtrdma",
		"svcrdma", "rds_rdma", "smc",
	}
}

// port is a port of an adapter while it is described.
type port struct {
	collect.Reader
	collect.Thing
	device, dir, index string
}

func (p *port) describe() {
	// State and physical state are a number and a name: "4: ACTIVE", "5: LinkUp".
	state := afterNumber(p.Line("port.state", p.dir+"/state"))
	physical := afterNumber(p.Line("port.physical", p.dir+"/phys_state"))
	layer := p.Line("port.layer", p.dir+"/link_layer")
	rate := p.Line("port.rate", p.dir+"/rate")
	p.Add(state, physical, layer, rate)
	p.link(state.Value, layer.Value, rate)
	p.adapter(layer.Value)
	p.Add(p.Line("port.sm_lid", p.dir+"/sm_lid"), p.interfaceOf(layer.Value),
		p.Whole("port.symbol_errors", p.dir+"/counters/symbol_error"),
		p.Whole("port.link_downed", p.dir+"/counters/link_downed"),
		p.Whole("port.out_of_sequence", p.dir+"/hw_counters/out_of_sequence"))
}

func afterNumber(f lab.Fact) lab.Fact {
	if _, name, ok := strings.Cut(f.Value, ": "); ok && name != "" {
		f.Value = name
	}
	return f
}

// link splits the rate, which a port without a link does not have, whatever the file says.
func (p *port) link(state, layer string, rate lab.Fact) {
	lanes, generation, ok := parseRate(rate.Value)
	reason := ""
	switch {
	case rate.Unknown != "":
		reason = rate.Unknown
	case state == "DOWN":
		reason = "the port has no link"
	case !ok:
		reason = "a rate that is not known: " + strconv.Quote(rate.Value)
	}
	if reason != "" {
		p.Add(collect.Unknown("port.lanes", rate.Source, reason))
		p.Add(collect.Unknown("port.generation", rate.Source, reason))
		return
	}
	p.Add(collect.Whole("port.lanes", lanes, rate.Source))
	if layer == "Ethernet" {
		p.Add(collect.Unknown("port.generation", rate.Source, ethernetPort))
		return
	}
	p.Add(collect.Known("port.generation", generation, rate.Source))
}

const ethernetPort = "the port runs Ethernet, whose speeds the kernel only words like InfiniBand's"

// ratePattern matches what the kernel prints: the rate of data for 8b/10b links (SDR to QDR) is 4/5 of that.
var ratePattern = prose.Pattern(`^[0-9.]+ Gb/sec \((\d{1,2})X ?([A-Z0-9]*)\)$`)

// parseRate reads a port's rate. Older kernels give the single data rate no name. They print the rate of a port without
// a link, and an unknown rate, as the single data rate, too.
//
//	40 Gb/sec (4X QDR)
//	56 Gb/sec (4X FDR)
//	2.5 Gb/sec (1X)
//
// Source: rate_show in the kernel's drivers/infiniband/core/sysfs.c.
func parseRate(text string) (lanes int64, generation string, ok bool) {
	m := ratePattern().FindStringSubmatch(text)
	if m == nil {
		return 0, "", false
	}
	lanes, err := strconv.ParseInt(m[1], 10, 64)
	if m[2] == "" {
		m[2] = "SDR"
	}
	return lanes, m[2], err == nil
}

// adapter is what all ports of a device share.
func (p *port) adapter(layer string) {
	model := p.Line("port.adapter", p.device+"/hca_type")
	kind, board := model.Value, p.Line("", p.device+"/board_id").Value
	switch {
	case board == "":
		p.Add(model)
	default:
		p.Add(collect.Known("port.adapter", strings.TrimSpace(kind+" "+board),
			p.device+"/hca_type; "+p.device+"/board_id"))
	}
	p.Add(p.Line("port.firmware", p.device+"/fw_ver"), p.guid())
	best := bestGeneration(kind, board)
	source := p.device + "/board_id; " + p.device + "/hca_type"
	switch {
	case layer == "Ethernet":
		p.Add(collect.Unknown("port.best_generation", source, ethernetPort))
	case best == "":
		p.Add(collect.Unknown("port.best_generation", source,
			"neither model nor board tells: the same chip is sold for several generations"))
	default:
		p.Add(collect.Known("port.best_generation", best, source))
	}
	full, err := p.Resolve(p.device + "/device")
	if address := path.Base(full); err == nil && machine.PCIAddress().MatchString(address) {
		p.Add(collect.Known("port.pci.address", address, p.device+"/device"))
		p.Add(p.Whole("port.numa_node", p.device+"/device/numa_node"))
		return
	}
	const reason = "the adapter is not a PCI function, as software adapters aren't"
	p.Add(collect.Unknown("port.pci.address", p.device+"/device", reason))
	p.Add(collect.Unknown("port.numa_node", p.device+"/device", reason))
}

// bestGeneration returns the generation that an adapter is sold as. The kernel's name for the type is the name of the
// chip, and most chips are on cards of several generations: ConnectX-3 (MT4099) on FDR, FDR10 and QDR cards, ConnectX-4
// (MT4115) on EDR and FDR cards, ConnectX-7 (MT4129) on NDR and HDR cards. For those the board (the firmware's PSID)
// decides, if its meaning is known; for chips that exist for one generation only, the type does.
//
// Sources: pci.ids for the types; for the boards, what mlxfwmanager prints about each.
func bestGeneration(kind, board string) string {
	switch board {
	case "MT_1090110018": // MCX354A-QCB
		return "QDR"
	case "MT_1120120018": // MCX353A-QCA
		return "QDR"
	case "MT_1090120019": // MCX354A-FCB
		return "FDR"
	case "MT_2180110032": // MCX455A-ECA
		return "EDR"
	}
	switch kind {
	case "MT25408":
		return "SDR"
	case "MT25418", "MT26418": // ConnectX
		return "DDR"
	case "MT26428", "InfiniPath_QLE7340", "InfiniPath_QLE7342": // ConnectX and ConnectX-2; QLogic
		return "QDR"
	case "MT4113": // Connect-IB
		return "FDR"
	case "MT4119", "MT4121": // ConnectX-5
		return "EDR"
	case "MT4123": // ConnectX-6; cards with half the lanes are HDR as well
		return "HDR"
	}
	return ""
}

// guid is the lower half of the first GID, whose upper half is the subnet's.
//
//	/sys/class/infiniband/mlx4_0/ports/1/gids/0:  fe80:0000:0000:0000:f452:1403:0091:ba21
func (p *port) guid() lab.Fact {
	const key = "port.guid"
	file := p.dir + "/gids/0"
	gid, err := p.Text(file)
	if err != nil {
		return collect.Unknown(key, file, collect.Why(err))
	}
	parts := strings.Split(collect.Shortened(gid), ":")
	if len(parts) != 8 {
		return collect.Unknown(key, file, "not a GID: "+strconv.Quote(collect.Shortened(gid)))
	}
	guid := strings.Join(parts[4:], ":")
	if guid == "0000:0000:0000:0000" {
		return collect.Unknown(key, file, "the port has no address yet")
	}
	return collect.Known(key, guid, file)
}

// interfaceOf names the network interface of a port. RoCE ports name theirs; IPoIB interfaces carry the number of the
// port, counted from 0, in dev_port or (older kernels) dev_id. An interface with a dot is a further partition of
// another.
func (p *port) interfaceOf(layer string) lab.Fact {
	const key = "port.netdev"
	if file := p.dir + "/gid_attrs/ndevs/0"; layer == "Ethernet" {
		if name, err := p.Text(file); err == nil && name != "" {
			return collect.Known(key, collect.Shortened(name), file)
		}
	}
	dir := p.device + "/device/net"
	names := p.Names(dir)
	names = slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, ".") })
	for _, name := range names {
		if p.index == strconv.FormatInt(p.portOf(dir+"/"+name)+1, 10) {
			return collect.Known(key, name, dir)
		}
	}
	return collect.Known(key, catalogue.None, dir)
}

// portOf returns the number of the port that an interface belongs to, counted from 0. An interface that names none
// belongs to the only port.
func (p *port) portOf(dir string) int64 {
	var highest int64
	for _, attribute := range []string{"dev_port", "dev_id"} {
		text, _ := p.Text(dir + "/" + attribute)
		if at, err := strconv.ParseInt(text, 0, 32); err == nil {
			highest = max(highest, at)
		}
	}
	return highest
}

// RDMALink is a port of an RDMA adapter, as rdma(8) of iproute2 tells.
type RDMALink struct {
	Device string `json:"ifname"`
	State  string `json:"state"` // "ACTIVE", "DOWN"
	// Interface that has the port's addresses; empty of InfiniBand, where another one belongs to it.
	Interface string `json:"netdev"`
}

// RDMALinks are the ports of a target's RDMA adapters. The command prints:
//
//	[{"ifindex":0,"ifname":"rxe0","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"eth1","netdev_index":3}]
func RDMALinks(ctx context.Context, t host.Target) ([]RDMALink, error) {
	var links []RDMALink
	return links, fromRDMA(ctx, t, &links, "rdma", "-j", "link", "show")
}

// ListeningRDMA reports whether anything on a target waits for RDMA connections at a port, at any address. Such a
// listener has no TCP port, and the kernel reports it only to rdma(8). The command prints:
//
//	[{"ifindex":0,"ifname":"rxe0","cm-idn":0,"state":"LISTEN","ps":"TCP","pid":199,"comm":"ib_write_bw","src-addr":"0.0.0.0:5201"}]
func ListeningRDMA(ctx context.Context, t host.Target, port int) (bool, error) {
	var ends []rdmaEnd
	if err := fromRDMA(ctx, t, &ends, "rdma", "-j", "resource", "show", "cm_id"); err != nil {
		return false, err
	}
	return awaits(ends, port), nil
}

type rdmaEnd struct {
	State  string `json:"state"`
	Source string `json:"src-addr"`
}

func awaits(ends []rdmaEnd, port int) bool {
	for _, e := range ends {
		if e.State == "LISTEN" && strings.HasSuffix(e.Source, fmt.Sprintf(":%d", port)) {
			return true
		}
	}
	return false
}

// fromRDMA reads what rdma(8) prints as JSON, which is nothing at all where there is nothing to tell.
func fromRDMA(ctx context.Context, t host.Target, into any, argv ...string) error {
	out, err := t.Run(ctx, argv...)
	if err != nil {
		return err
	}
	fault := &lab.Error{What: "can't tell what RDMA there is", Target: t.Name(), Command: argv,
		Output: string(out.Stderr), Hints: []string{"it takes rdma of iproute2: apt install iproute2"}}
	if out.ExitCode != 0 {
		return fault
	}
	if len(bytes.TrimSpace(out.Stdout)) == 0 {
		return nil
	}
	if fault.Err = json.Unmarshal(out.Stdout, into); fault.Err != nil {
		return fault
	}
	return nil
}

// InterfaceOf is the network interface that has an address; empty where none has. ip(8), which may be busybox's, prints
// a line for each:
//
//	2: eth0    inet 10.0.2.15/24 brd 10.0.2.255 scope global eth0\       valid_lft forever preferred_lft forever
//	3: eth1    inet 10.0.11.1/24 scope global eth1\       valid_lft forever preferred_lft forever
//	3: eth1    inet6 fe80::68:aff:fe00:b01/64 scope link \       valid_lft forever preferred_lft forever
func InterfaceOf(ctx context.Context, t host.Target, address string) (string, error) {
	argv := []string{"ip", "-o", "address"}
	out, err := t.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't tell whose address " + address + " is", Target: t.Name(), Command: argv,
			Output: string(out.Stderr)}
	}
	return interfaceOf(string(out.Stdout), address), err
}

func interfaceOf(lines, address string) string {
	for line := range strings.Lines(lines) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		if own, _, _ := strings.Cut(fields[3], "/"); own == address {
			return strings.TrimSuffix(fields[1], ":")
		}
	}
	return ""
}
