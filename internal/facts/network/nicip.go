package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

// link is what ip says about an interface.
//
//	[{"ifindex":3,"ifname":"eth0","flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"mtu":1500,"qdisc":"mq","operstate":"UP",
//	  "xdp":{"mode":1,"prog":{"id":42,"tag":"3b185187f1855c4c","jited":1},"attached":[…]},
//	  "addr_info":[{"family":"inet","local":"192.0.2.2","prefixlen":24,"scope":"global","label":"eth0"}]}]
//
// Source: iproute2's ip/ipaddress.c and ip/iplink_xdp.c.
type link struct {
	Name      string          `json:"ifname"`
	Qdisc     string          `json:"qdisc"`
	XDP       json.RawMessage `json:"xdp"`
	Addresses []struct {
		Local  string `json:"local"`
		Prefix int    `json:"prefixlen"`
	} `json:"addr_info"`
}

func parseAddresses(p collect.Printed) (map[string]link, error) {
	var list []link
	if err := readJSON("ip", p, &list); err != nil {
		return nil, err
	}
	links := make(map[string]link, len(list))
	for _, l := range list {
		if l.Name != "" {
			links[l.Name] = l
		}
	}
	return links, nil
}

// readJSON reads what a program printed. Empty output is an empty list: ip prints nothing when it finds nothing.
func readJSON(program string, p collect.Printed, into any) error {
	if p.Failed != "" {
		return errors.New(toolFailed(program, p.Failed))
	}
	if p.Stdout == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(p.Stdout), into); err != nil {
		return fmt.Errorf("what %s printed can't be read: %s", program, collect.Shortened(err.Error()))
	}
	return nil
}

// toolFailed is why a program told nothing, as a reason of a fact.
func toolFailed(program, failed string) string {
	if strings.Contains(failed, "executable file not found") || strings.Contains(failed, "command not found") {
		return program + " is not installed"
	}
	return collect.Shortened(failed)
}

func (n nic) fromIP(t *collect.Thing, links map[string]link, err error) {
	source := lab.ShellQuote(addressCommand())
	l, ok := links[n.name]
	if err == nil && !ok {
		err = errors.New("ip does not show the interface")
	}
	if err != nil {
		for _, key := range []string{"nic.addresses", "nic.qdisc", "nic.xdp"} {
			t.Add(collect.Unknown(key, source, err.Error()))
		}
		return
	}
	var addresses []string
	for _, a := range l.Addresses {
		if a.Local = collect.Shortened(a.Local); a.Local != "" && len(addresses) < 64 {
			addresses = append(addresses, a.Local+"/"+strconv.Itoa(a.Prefix))
		}
	}
	t.Add(collect.ListOf("nic.addresses", addresses, source))
	if l.Qdisc = collect.Shortened(l.Qdisc); l.Qdisc != "" {
		t.Add(collect.Known("nic.qdisc", l.Qdisc, source))
	} else {
		t.Add(collect.Unknown("nic.qdisc", source, "ip names no queueing discipline"))
	}
	t.Add(collect.OnOff("nic.xdp", len(l.XDP) > 0 && string(l.XDP) != "null", source))
}
