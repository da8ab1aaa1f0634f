package facts

import "strings"

// bond is what the bonding driver tells of an interface. Its files hold a name with its number behind ("802.3ad 4",
// "layer3+4 1", "fast 1"). Source: the kernel's Documentation/networking/bonding.rst.
//
//	/sys/class/net/bond0/bonding/mode:              802.3ad 4
//	/sys/class/net/bond0/bonding/xmit_hash_policy:  layer3+4 1
//	/sys/class/net/bond0/bonding/slaves:            enp65s0f0np0 enp65s0f1np1
func bond(r reader, n nic, t *thing) {
	dir := n.dir + "/bonding"
	mode := r.textIn("nic.bond.mode", dir+"/mode")
	mode.Value = firstWord(mode.Value)
	hash := r.textIn("nic.bond.hash", dir+"/xmit_hash_policy")
	hash.Value = firstWord(hash.Value)
	t.add(mode, hash)
	text, err := r.text(dir + "/slaves")
	if err != nil {
		t.add(unknown("nic.bond.members", dir+"/slaves", why(err)))
		t.add(unknown("nic.bond.active", dir+"/slaves", why(err)))
	} else {
		members := strings.Fields(oneLine(text))
		if len(members) > maxNICs {
			members = members[:maxNICs]
		}
		active := int64(0)
		for _, m := range members {
			if linked(r, m) {
				active++
			}
		}
		t.add(listOf("nic.bond.members", members, dir+"/slaves"))
		t.add(whole("nic.bond.active", active, netDir+"/*/bonding_slave/mii_status"))
	}
	if mode.Value != "802.3ad" {
		return // the others know no LACP
	}
	rate := r.textIn("nic.bond.lacp_rate", dir+"/lacp_rate")
	rate.Value = firstWord(rate.Value)
	t.add(rate, r.wholeIn("nic.bond.aggregator_ports", dir+"/ad_num_ports"))
}

// linked says whether a bond's member has a link, as the bond sees it.
func linked(r reader, member string) bool {
	if text, err := r.text(netDir + "/" + member + "/bonding_slave/mii_status"); err == nil {
		return text == "up"
	}
	text, err := r.text(netDir + "/" + member + "/carrier")
	return err == nil && text == "1"
}
