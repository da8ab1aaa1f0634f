package saved

import (
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

var (
	ethtoolHead = prose.Pattern(`^(Settings|Features|Ring parameters|Channel parameters|Coalesce parameters|` +
		`Pause parameters) for (\S+):`)
	ethtoolSpeed  = prose.Pattern(`(?m)^\s+Speed: (\d+)Mb/s`)
	ethtoolDuplex = prose.Pattern(`(?m)^\s+Duplex: (Full|Half)`)
	ethtoolLink   = prose.Pattern(`(?m)^\s+Link detected: (yes|no)`)
	ethtoolPorts  = prose.Pattern(`(?m)^\s+Supported ports: \[ [A-Z]`)
	// hardwareName fits the names that udev and the kernel give to adapters. Source: systemd.net-naming-scheme(7).
	hardwareName = prose.Pattern(`^(en|eth|em|ib)[a-z]*\d|^p\d+p\d`)
)

// readEthtool reads what ethtool prints of an adapter. Its kind and its place are not said there. Source:
// ethtool, ethtool.c and netlink/settings.c.
//
//	Settings for eno1:
//		Supported ports: [ TP ]
//		Speed: 100Mb/s
func readEthtool(m *Machine, text string) bool {
	head := ethtoolHead().FindStringSubmatch(text)
	if head == nil || strings.ContainsAny(head[2], "/\\") || strings.HasPrefix(head[2], ".") {
		return false
	}
	option := map[string]string{"Features": "-k", "Ring parameters": "-g", "Channel parameters": "-l",
		"Coalesce parameters": "-c", "Pause parameters": "-a"}[head[1]]
	argv := []string{"ethtool", option, head[2]}
	if option == "" {
		argv = []string{"ethtool", head[2]}
	}
	m.printed[lab.ShellQuote(argv)] = text
	dir := network.NetDir + "/" + head[2]
	_, err := m.files.Lstat(collect.PathInFS(dir))
	if err != nil && !hardwareName().MatchString(head[2]) && !ethtoolPorts().MatchString(text) {
		return false
	}
	if err != nil {
		m.files.folder(dir + "/device")
		kind := collect.Unknown("nic.kind", "ethtool", "ethtool does not say whether it is a virtual one")
		// A VLAN shows the ports of the adapter below it; other virtual interfaces have none.
		if ethtoolPorts().MatchString(text) && !strings.Contains(head[2], ".") && !strings.HasPrefix(head[2], "vlan") {
			kind = collect.Known("nic.kind", "physical", "ethtool; Supported ports")
		}
		m.told.add(head[2], kind, collect.Unknown("nic.master", "ethtool", "ethtool does not say"))
	}
	if f := ethtoolSpeed().FindStringSubmatch(text); f != nil {
		m.files.file(dir+"/speed", f[1]+"\n")
	}
	if f := ethtoolDuplex().FindStringSubmatch(text); f != nil {
		m.files.file(dir+"/duplex", strings.ToLower(f[1])+"\n")
	}
	if f := ethtoolLink().FindStringSubmatch(text); f != nil {
		m.files.file(dir+"/carrier", map[string]string{"yes": "1", "no": "0"}[f[1]]+"\n")
	}
	return true
}
