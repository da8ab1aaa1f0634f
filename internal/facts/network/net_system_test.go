//go:build system

package network

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/testing/factstest"
)

// inNamespace is this machine with its commands carried out in another network namespace.
type inNamespace struct {
	*host.Local
	name string
}

func (n inNamespace) Run(ctx context.Context, argv ...string) (host.Output, error) {
	return n.Local.Run(ctx, append([]string{"ip", "netns", "exec", n.name}, argv...)...)
}

// TestNamespace builds a namespace with a rule, a route with two next hops and a discipline for filters, and finds them
// in what the installed ip and tc print.
func TestNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	local := host.NewLocal(t.TempDir())
	name := fmt.Sprintf("headroom-%d", os.Getpid())
	if out, err := local.Run(t.Context(), "ip", "netns", "add", name); err != nil || out.ExitCode != 0 {
		t.Skipf("no network namespace can be made here: %v %s", err, out.Stderr)
	}
	t.Cleanup(func() { factstest.Cleanup(t, local, "ip", "netns", "delete", name) })
	in := inNamespace{local, name}
	rules := func() (string, string) {
		printed := collect.RunCommands(t.Context(), in, RouteCommands(collect.Scope{}))
		facts := CollectRoutes(collect.Reader{FS: os.DirFS("/")}, collect.Scope{Printed: printed})
		return factstest.Said(facts, "net.rules", ""), factstest.Said(facts, "net.ecmp", "")
	}
	if added, several := rules(); added != "0" || several != "off" {
		t.Fatalf("a new namespace shows %q and %q", added, several)
	}
	for i, link := range []string{"a0", "a1"} {
		factstest.Run(t, local, "ip", "-n", name, "link", "add", link, "type", "veth", "peer", "name", "b"+link)
		factstest.Run(t, local, "ip", "-n", name, "address", "add", fmt.Sprintf("198.51.100.%d/25", 2+i*128), "dev",
			link)
		factstest.Run(t, local, "ip", "-n", name, "link", "set", "b"+link, "up")
		factstest.Run(t, local, "ip", "-n", name, "link", "set", link, "up")
	}
	factstest.Run(t, local, "ip", "-n", name, "route", "add", "default", "nexthop", "via", "198.51.100.1", "dev", "a0",
		"nexthop", "via", "198.51.100.129", "dev", "a1")
	factstest.Run(t, local, "ip", "-n", name, "rule", "add", "from", "198.51.100.130", "table", "102", "priority",
		"100")
	factstest.Run(t, local, "ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "a1", "clsact")
	factstest.Run(t, local, "ip", "netns", "exec", name, "tc", "qdisc", "replace", "dev", "a0", "root", "handle", "1:",
		"mq")
	if added, several := rules(); added != "1" || several != "on" {
		t.Errorf("one rule and a route with two next hops show as %q and %q", added, several)
	}

	printed := collect.RunCommands(t.Context(), in, NICCommands(collect.Scope{}))
	scope := collect.Scope{Printed: printed}
	links, err := parseAddresses(scope.Lookup(addressCommand()))
	if err != nil {
		t.Fatal(err)
	}
	c := &collect.Thing{Name: "a0"}
	nic{name: "a0"}.fromIP(c, links, nil)
	if got := factstest.Said(c.Facts, "nic.qdisc", "a0"); got != "mq" {
		t.Errorf("the discipline is %q", got)
	}
	if got := factstest.Said(c.Facts, "nic.xdp", "a0"); got != "off" {
		t.Errorf("a program is seen: %q", got)
	}
	filters, err := parseFilterQdiscs(scope.Lookup(qdiscCommand()))
	if err != nil || filters["a1"] != 1 || filters["a0"] != 0 {
		t.Errorf("filters: %v, %v", filters, err)
	}
	nics, _ := findNICs(collect.Reader{FS: os.DirFS("/")})
	for _, n := range nics {
		if n.name == "a0" {
			t.Error("an interface of another namespace is described")
		}
	}
}
