package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are in memory, so that servers and clients live in a bubble of synctest.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return address("127.0.0.1:8765") }

// dial connects to the server from an address.
func (p pipes) dial(from string) net.Conn {
	here, there := net.Pipe()
	p <- pipeFrom{there, address(from)}
	return here
}

type pipeFrom struct {
	net.Conn
	from address
}

func (p pipeFrom) RemoteAddr() net.Addr { return p.from }

type address string

func (a address) Network() string { return "tcp" }

func (a address) String() string { return string(a) }

// inBubble is a test of a server without runs, with the limits of the real one, whose time passes only where all wait.
func inBubble(t *testing.T, test func(t *testing.T, p pipes)) {
	t.Helper()
	a, _ := saved(t, 0, nil)
	st, err := a.OpenStore()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{App: a, Store: st})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		p, ended := make(pipes), make(chan error)
		go func() { ended <- s.Serve(ctx, p, "", "") }()
		test(t, p)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// ask asks for a path on a connection and returns the answer, whose body was read.
func ask(t *testing.T, c net.Conn, path string) *http.Response {
	t.Helper()
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost:8765\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
	got, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, got.Body); err != nil {
		t.Fatal(err)
	}
	return got
}

// closed reports whether the server has closed a connection that has nothing to be read.
func closed(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond)) // of the bubble, whose time passes when the server waits
	_, err := c.Read(make([]byte, 1))
	return err == io.EOF
}

// Connections that ask /healthz and stay, as many as there can be, keep nobody out.
func TestProbesThatStayKeepNobodyOut(t *testing.T) {
	inBubble(t, func(t *testing.T, p pipes) {
		begun := time.Now()
		for range mostConnections + 52 {
			c := p.dial("127.0.0.1:1")
			if !ask(t, c, healthPath).Close {
				t.Fatal("an answer of /healthz keeps its connection")
			}
		}
		if got := ask(t, p.dial("127.0.0.1:2"), "/static/serve.js"); got.StatusCode != http.StatusOK {
			t.Error(got.Status)
		}
		if waited := time.Since(begun); waited > 0 {
			t.Errorf("a reader waits until connections are closed that have nothing to say, %v", waited)
		}
	})
}

// Idle connections are kept until half of all are open; then an answer closes its connection.
func TestIdleConnectionsKeepNobodyOut(t *testing.T) {
	inBubble(t, func(t *testing.T, p pipes) {
		var idle []net.Conn
		kept := 0
		for range mostConnections + 52 {
			c := p.dial("127.0.0.1:1")
			idle = append(idle, c)
			if !ask(t, c, "/static/serve.js").Close {
				kept++
			}
		}
		if kept != crowd {
			t.Errorf("%d idle connections are kept, want %d", kept, crowd)
		}
		if got := ask(t, p.dial("127.0.0.1:2"), "/static/serve.js"); got.StatusCode != http.StatusOK {
			t.Error(got.Status)
		}
		for _, c := range idle {
			_ = c.Close()
		}
		synctest.Wait()
		if ask(t, p.dial("127.0.0.1:2"), "/static/serve.js").Close {
			t.Error("a connection is closed although no others are open")
		}
	})
}

// One address has some of the connections, and others are answered.
func TestOneAddressHasSomeConnections(t *testing.T) {
	for name, from := range map[string]func(i int) string{
		"IPv4":          func(i int) string { return fmt.Sprintf("192.0.2.1:%d", 1024+i) },
		"a /64 of IPv6": func(i int) string { return fmt.Sprintf("[2001:db8::%x]:1024", 1+i) },
		"IPv4 in IPv6":  func(i int) string { return fmt.Sprintf("[::ffff:192.0.2.1]:%d", 1024+i) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, p pipes) {
				for i := range mostOfAddress {
					p.dial(from(i)) // says nothing
				}
				if !closed(p.dial(from(mostOfAddress))) {
					t.Error("one too many of an address is open")
				}
				for _, other := range []string{"192.0.2.2:1024", "[2001:db8:0:1::1]:1024", "127.0.0.1:1024"} {
					if got := ask(t, p.dial(other), healthPath); got.StatusCode != http.StatusOK {
						t.Errorf("%s: %s", other, got.Status)
					}
				}
				time.Sleep(2 * helloLimit)
				if got := ask(t, p.dial(from(0)), healthPath); got.StatusCode != http.StatusOK {
					t.Errorf("after those were closed that say nothing: %s", got.Status)
				}
			})
		})
	}
}

// The programs of this machine share its address, and all connections.
func TestThisMachineHasAllConnections(t *testing.T) {
	inBubble(t, func(t *testing.T, p pipes) {
		for i := range mostOfAddress {
			p.dial(fmt.Sprintf("127.0.0.%d:1024", i%200+1))
		}
		if got := ask(t, p.dial("[::1]:1024"), healthPath); got.StatusCode != http.StatusOK {
			t.Error(got.Status)
		}
	})
}

// A client that does not read its answer is cut off.
func TestClientsThatDoNotRead(t *testing.T) {
	inBubble(t, func(t *testing.T, p pipes) {
		for _, path := range []string{healthPath, "/static/uplot.js"} {
			c := p.dial("192.0.2.1:1024")
			if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost:8765\r\n\r\n", path); err != nil {
				t.Fatal(err)
			}
			time.Sleep(hurriedLimit + time.Second)
			if _, err := io.Copy(io.Discard, c); err != nil {
				t.Error(err)
			}
			if got, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
				t.Errorf("%s: %s", path, got.Status)
			}
		}
	})
}

// Whoever is refused has to connect again.
func TestRefusalsCloseTheirConnection(t *testing.T) {
	a, _ := saved(t, 0, nil)
	at := served(t, Options{App: a, Token: "SECRET", Hosts: []string{"localhost:8765"}})
	for _, c := range []struct {
		method, path string
		headers      []string
		status       int
	}{
		{"POST", "/", nil, 405}, {"GET", "/", nil, 421}, {"GET", "/", []string{"Host: localhost:8765"}, 401},
		{"GET", "/api/v1/runs", []string{"Host: localhost:8765"}, 401},
		{"GET", "/", []string{"Host: localhost:8765", "Origin: http://evil.example"}, 403},
	} {
		if got, _ := answer(t, at, c.method, c.path, c.headers...); got.StatusCode != c.status || !got.Close {
			t.Errorf("%s %s, %v: %s, closed: %v", c.method, c.path, c.headers, got.Status, got.Close)
		}
	}
}
