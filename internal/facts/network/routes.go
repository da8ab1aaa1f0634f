package network

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

// The rules and routes of both protocols. Without a protocol "show table all" prints IPv6 routes as well, and rule
// prints only IPv4 rules.
func ruleCommand() []string { return []string{"ip", "-json", "rule", "show"} }

func rule6Command() []string { return []string{"ip", "-6", "-json", "rule", "show"} }

func routeTableCommand() []string {
	return []string{"ip", "-json", "route", "show", "table", "all", "type", "unicast"}
}

// maxRoutes is how many routes are printed: a router with the whole of the Internet's has more than a million.
const maxRoutes = 20000

func RouteCommands(in collect.Scope) [][]string {
	commands := [][]string{ruleCommand(), rule6Command()}
	if in.Files == nil || countRoutes(collect.Reader{FS: in.Files}) <= maxRoutes {
		commands = append(commands, routeTableCommand())
	}
	return commands
}

// countRoutes is about the number of routes; 0 where the kernel does not tell.
func countRoutes(r collect.Reader) int64 {
	four, _ := r.Text("/proc/net/fib_triestat")
	six, _ := r.Text("/proc/net/rt6_stats")
	return parseTries(four) + parseRoutes6(six)
}

// parseTries adds up the leaves of IPv4's tables, each a destination. Source: the kernel's net/ipv4/fib_trie.c.
//
//	Main:
//		Aver depth:     2.42
//		Leaves:         7
func parseTries(text string) int64 {
	var sum int64
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "Leaves:"); ok {
			if n := collect.Integer(strings.TrimSpace(rest)); n > 0 && n < 1<<32 {
				sum += n
			}
		}
	}
	return sum
}

// parseRoutes6 reads the number of IPv6 routes, the fourth of seven in hexadecimal: "0009 0006 000d 0007 0000 0000
// 0000". Source: rt6_stats_seq_show in the kernel's net/ipv6/route.c.
func parseRoutes6(text string) int64 {
	f := strings.Fields(text)
	if len(f) < 4 {
		return 0
	}
	n, err := strconv.ParseUint(f[3], 16, 32)
	if err != nil {
		return 0
	}
	return int64(n)
}

func CollectRoutes(r collect.Reader, in collect.Scope) []lab.Fact {
	t := &collect.Thing{}
	const key = "net.rules"
	source := lab.ShellQuote(ruleCommand())
	four, err := parseRules(in.Lookup(ruleCommand()))
	six, _ := parseRules(in.Lookup(rule6Command())) // a kernel without IPv6 has none
	if err != nil {
		t.Add(collect.Unknown(key, source, err.Error()))
	} else {
		t.Add(collect.Whole(key, int64(four+six), source+"; "+lab.ShellQuote(rule6Command())))
	}
	source = lab.ShellQuote(routeTableCommand())
	if n := countRoutes(r); n > maxRoutes {
		t.Add(collect.Unknown("net.ecmp", source, fmt.Sprintf("%d routes are too many to look at", n)))
		return t.Facts
	}
	several, err := parseRoutes(in.Lookup(routeTableCommand()))
	if err != nil {
		t.Add(collect.Unknown("net.ecmp", source, err.Error()))
	} else {
		t.Add(collect.OnOff("net.ecmp", several, source))
	}
	return t.Facts
}

// parseRules counts the added rules. The kernel sets up one for each of the tables local, main and (IPv4 only) default.
//
//	[{"priority":0,"src":"all","table":"local"},
//	 {"priority":100,"src":"192.0.2.130","table":"101"},
//	 {"priority":32766,"src":"all","table":"main"},{"priority":32767,"src":"all","table":"default"}]
func parseRules(p collect.Printed) (added int, err error) {
	var list []struct {
		Priority int64  `json:"priority"`
		Source   string `json:"src"`
		Table    string `json:"table"`
	}
	if err := readJSON("ip", p, &list); err != nil {
		return 0, err
	}
	for _, l := range list {
		own := l.Priority == 0 && l.Table == "local" || l.Priority == 32766 && l.Table == "main" ||
			l.Priority == 32767 && l.Table == "default"
		if !own || l.Source != "all" {
			added++
		}
	}
	return added, nil
}

// parseRoutes reports whether a route has more than one next hop.
//
//	[{"dst":"default","flags":[],"nexthops":[{"gateway":"192.0.2.1","dev":"eth0","weight":1,"flags":[]},
//	                                          {"gateway":"192.0.2.129","dev":"eth1","weight":1,"flags":[]}]},
//	 {"dst":"192.0.2.0/25","dev":"eth0","protocol":"kernel","scope":"link","prefsrc":"192.0.2.2","flags":[]}]
func parseRoutes(p collect.Printed) (several bool, err error) {
	var list []struct {
		Hops []struct{} `json:"nexthops"`
	}
	if err := readJSON("ip", p, &list); err != nil {
		return false, err
	}
	for _, l := range list {
		if len(l.Hops) > 1 {
			return true, nil
		}
	}
	return false, nil
}
