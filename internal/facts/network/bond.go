package network

import (
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
)

// bond is what the bonding driver tells of an interface. Its files hold a name with its number behind ("802.3ad 4",
// "layer3+4 1", "fast 1"). Source: the kernel's Documentation/networking/bonding.rst.
//
//	/sys/class/net/bond0/bonding/mode:              802.3ad 4
//	/sys/class/net/bond0/bonding/xmit_hash_policy:  layer3+4 1
//	/sys/class/net/bond0/bonding/slaves:            enp65s0f0np0 enp65s0f1np1
func bond(r collect.Reader, n nic, t *collect.Thing) {
	dir := n.dir + "/bonding"
	mode := r.Line("nic.bond.mode", dir+"/mode")
	mode.Value = collect.FirstWord(mode.Value)
	hash := r.Line("nic.bond.hash", dir+"/xmit_hash_policy")
	hash.Value = collect.FirstWord(hash.Value)
	t.Add(mode, hash)
	text, err := r.Text(dir + "/slaves")
	if err != nil {
		t.Add(collect.Unknown("nic.bond.members", dir+"/slaves", collect.Why(err)))
		t.Add(collect.Unknown("nic.bond.active", dir+"/slaves", collect.Why(err)))
	} else {
		members := strings.Fields(collect.OneLine(text))
		if len(members) > maxNICs {
			members = members[:maxNICs]
		}
		active := int64(0)
		for _, m := range members {
			if linked(r, m) {
				active++
			}
		}
		t.Add(collect.ListOf("nic.bond.members", members, dir+"/slaves"))
		t.Add(collect.Whole("nic.bond.active", active, NetDir+"/*/bonding_slave/mii_status"))
	}
	if mode.Value != "802.3ad" {
		return // the others know no LACP
	}
	rate := r.Line("nic.bond.lacp_rate", dir+"/lacp_rate")
	rate.Value = collect.FirstWord(rate.Value)
	t.Add(rate, r.Whole("nic.bond.aggregator_ports", dir+"/ad_num_ports"))
}

// linked says whether a bond's member has a link, as the bond sees it.
func linked(r collect.Reader, member string) bool {
	if text, err := r.Text(NetDir + "/" + member + "/bonding_slave/mii_status"); err == nil {
		return text == "up"
	}
	text, err := r.Text(NetDir + "/" + member + "/carrier")
	return err == nil && text == "1"
}
