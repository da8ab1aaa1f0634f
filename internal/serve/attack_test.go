package serve

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// listening is the address of a server on a port of this machine, with the limits of the real one.
func listening(t *testing.T, o Options) string {
	t.Helper()
	st, err := o.App.OpenStore()
	if err != nil {
		t.Fatal(err)
	}
	o.Store = st
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Hosts = LoopbackHosts(l.Addr())
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, "", "") }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// status of an answer to what is sent as it is.
func status(t *testing.T, address, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() { _, _ = io.WriteString(c, text) }() // the server may answer before it has read all
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return "closed"
	}
	_, code, _ := strings.Cut(line, " ")
	return strings.TrimSpace(code)
}

// Requests that no browser makes are refused, and the next reader is served.
func TestOddRequests(t *testing.T) {
	a, all := saved(t, 1, nil)
	at := listening(t, Options{App: a})
	ask := func(line string, headers ...string) string {
		return status(t, at, line+"\r\n"+strings.Join(headers, "\r\n")+"\r\nConnection: close\r\n\r\n")
	}
	host := "Host: " + at
	long := strings.Repeat("a", 1<<20)
	for _, c := range []struct {
		name, got string
		want      []string
	}{
		{"a page", ask("GET / HTTP/1.1", host), []string{"200 OK"}},
		{"the name of somebody else", ask("GET / HTTP/1.1", "Host: evil.example"), []string{"421 Misdirected Request"}},
		{"no name", ask("GET / HTTP/1.0", "Accept: */*"), []string{"421 Misdirected Request"}},
		{"a name twice", ask("GET / HTTP/1.1", host, "Host: evil.example"), []string{"400 Bad Request"}},
		{"a proxy's request", ask("GET http://evil.example/ HTTP/1.1", host), []string{"421 Misdirected Request"}},
		{"a tunnel", ask("CONNECT evil.example:443 HTTP/1.1", host),
			[]string{"405 Method Not Allowed", "421 Misdirected Request"}},
		{"an endless query", ask("GET /?q="+long+" HTTP/1.1", host),
			[]string{"431 Request Header Fields Too Large", "closed"}},
		{"an endless header", ask("GET / HTTP/1.1", host, "X: "+long),
			[]string{"431 Request Header Fields Too Large", "closed"}},
		{"many parameters", ask("GET /compare?"+strings.Repeat("run=AAAA&", 1500)+" HTTP/1.1", host),
			[]string{"400 Bad Request"}},
		{"a path that climbs", ask("GET /../../../etc/passwd HTTP/1.1", host),
			[]string{"301 Moved Permanently", "307 Temporary Redirect", "404 Not Found"}},
		{"a path that climbs, encoded", ask("GET /runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd HTTP/1.1", host),
			[]string{"404 Not Found"}},
		{"a path with a zero byte", ask("GET /runs/"+all[0].ID+"%00 HTTP/1.1", host), []string{"404 Not Found"}},
		{"a body", ask("GET / HTTP/1.1", host, "Content-Length: 99999999"), []string{"200 OK"}},
		{"no HTTP", status(t, at, "\x16\x03\x01\x02\x00\x01\x00\x01"), []string{"400 Bad Request", "closed"}},
	} {
		found := false
		for _, want := range c.want {
			found = found || c.got == want
		}
		if !found {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
	if got := ask("GET / HTTP/1.1", host); got != "200 OK" {
		t.Errorf("afterwards: %s", got)
	}
}

// Connections that say nothing, or say it byte by byte, are closed, and don't keep readers out.
func TestSlowClients(t *testing.T) {
	a, _ := saved(t, 1, nil)
	at := listening(t, Options{App: a})
	const silent, enough = 10_000, mostConnections + 500
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	for i := range silent {
		c, err := net.Dial("tcp", at)
		if err != nil && i >= enough {
			t.Logf("this machine allows no more than %d connections: %v", i, err)
			break
		}
		if err != nil {
			t.Skipf("this machine allows no more than %d connections: %v", i, err)
		}
		open = append(open, c)
	}
	slow := open[0]
	if _, err := io.WriteString(slow, "GET / HT"); err != nil {
		t.Fatal(err)
	}
	if got := status(t, at, "GET / HTTP/1.1\r\nHost: "+at+"\r\nConnection: close\r\n\r\n"); got != "200 OK" {
		t.Errorf("a reader beside %d silent connections: %s", len(open), got)
	}
	_ = slow.SetReadDeadline(time.Now().Add(time.Minute))
	if text, err := io.ReadAll(slow); err != nil || len(text) > 0 && !bytes.HasPrefix(text, []byte("HTTP/1.1 4")) {
		t.Errorf("the slow one is not closed: %q, %v", text, err)
	}
}

// As many browsers may follow runs as there is room for, and one that leaves makes room.
func TestManyWatchers(t *testing.T) {
	a, all := saved(t, 1, func(_ int, r *lab.Run) { r.Status = lab.Running })
	at := served(t, Options{App: a})
	watch := func() (*http.Response, func()) {
		ctx, leave := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.URL+"/runs/"+all[0].ID+"/changes", nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return got, func() { leave(); _ = got.Body.Close() }
	}
	var leaves []func()
	for i := range mostWatching {
		got, leave := watch()
		leaves = append(leaves, leave)
		if got.StatusCode != http.StatusOK {
			t.Fatalf("watcher %d: %s", i+1, got.Status)
		}
	}
	got, leave := watch()
	leave()
	if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" {
		t.Errorf("one too many: %s", got.Status)
	}
	for _, leave := range leaves {
		leave()
	}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		got, leave := watch()
		leave()
		if got.StatusCode == http.StatusOK {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("those who left still have their room")
		}
	}
}

// Whatever runs are called, it is text in pages.
func TestHostileTexts(t *testing.T) {
	const hostile = `"'><script src=//evil.example></script><img src=x onerror=alert(1)>{{.}}` + "\x1b]0;x\x07\u202e"
	a, all := saved(t, 2, func(_ int, r *lab.Run) {
		r.Label, r.Suite = hostile, hostile
		r.Targets[0].Target, r.Targets[0].Place.Path = hostile, "/"+hostile
		for i := range r.Targets[0].Facts {
			r.Targets[0].Facts[i].Value += hostile
		}
		for i := range r.Cells {
			r.Cells[i].Job = hostile
		}
		r.Warnings = append(r.Warnings, lab.Warning{Code: hostile, Text: hostile})
	})
	at := served(t, Options{App: a})
	for _, path := range []string{"/", "/?q=" + "%22%3E%3Cscript%3E", "/runs/" + all[0].ID,
		fmt.Sprintf("/compare?run=%s&run=%s", all[0].ID, all[1].ID), "/history", historyAddress(hostile), "/machines",
		machineAddress(all[0].ID, ""), overTimeAddress(all[0].ID, all[0].Cells[0].ID)} {
		body := pageOf(t, at, path)
		for _, bad := range []string{"<script src=//", "<img", "onerror=alert(1)>", "\x1b", "\u202e"} {
			if i := strings.Index(body, bad); i >= 0 {
				t.Errorf("%s has %q: …%q…", path, bad, body[max(0, i-80):i+len(bad)])
			}
		}
	}
}
