package serve

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// mostConnections are open at once, some 12 kB each; more of them wait to be accepted. One that does not say in
// helloLimit what it wants is closed, so that thousands of them are gone in seconds.
const (
	mostConnections = 2048
	helloLimit      = 2 * time.Second
)

// mostOfAddress is how many connections of one client are open at once; more of them are closed. This machine's own
// programs share its address, a proxy among them, and have no such bound.
const mostOfAddress = 256

// While more than half of these are open, a connection is closed after its answer, which must be read in hurriedLimit.
// So idle connections and slow readers never have all.
const (
	crowd          = mostConnections / 2
	crowdOfAddress = mostOfAddress / 2
	hurriedLimit   = 10 * time.Second
)

// connections counts the open ones by their clients. The zero value has none.
type connections struct {
	mu  sync.Mutex
	all int
	of  map[netip.Prefix]int
}

// changed follows a connection, as the ConnState of a server, and closes one too many of its client.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	client := clientOf(conn.RemoteAddr().String())
	switch state {
	case http.StateNew:
		if c.add(client, 1) > mostOfAddress && !client.Addr().IsLoopback() {
			_ = conn.Close()
		}
	case http.StateClosed, http.StateHijacked:
		c.add(client, -1)
	}
}

// add counts connections of a client and returns how many it has.
func (c *connections) add(client netip.Prefix, n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[netip.Prefix]int{}
	}
	c.all += n
	c.of[client] += n
	of := c.of[client]
	if of == 0 {
		delete(c.of, client)
	}
	return of
}

// crowded reports whether a client at an address is to close its connection soon.
func (c *connections) crowded(address string) bool {
	client := clientOf(address)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all > crowd || c.of[client] > crowdOfAddress && !client.Addr().IsLoopback()
}

// clientOf is the client at an address "192.0.2.1:1234". A host has a /64 of IPv6; all of 127.0.0.0/8 and ::1 are this
// machine.
func clientOf(address string) netip.Prefix {
	at, _ := netip.ParseAddrPort(address) // of what is no address all are one client
	ip := at.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	switch {
	case ip.IsLoopback():
		ip = netip.IPv6Loopback()
		bits = ip.BitLen()
	case ip.Is6():
		bits = 64
	}
	client, _ := ip.Prefix(bits)
	return client
}
