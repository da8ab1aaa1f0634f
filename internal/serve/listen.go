package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// lastWords is how long answers may take that are being sent when the server ends.
const lastWords = 2 * time.Second

// Serve answers connections until ctx is done. With a certificate and a key, files in PEM, they are encrypted.
func (s *Server) Serve(ctx context.Context, l net.Listener, certificate, key string) error {
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: helloLimit, ReadTimeout: 2 * helloLimit,
		WriteTimeout: hurriedLimit, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		Protocols: new(http.Protocols), ConnState: s.open.changed,
		BaseContext: func(net.Listener) context.Context { return ctx }, // ends those that follow a run, too
		ErrorLog:    log.New(io.Discard, "", 0)}                        // what strangers send is no news
	server.Protocols.SetHTTP1(true) // one request at a time, so that connections bound them
	ended := make(chan error, 1)
	l = netutil.LimitListener(l, mostConnections)
	go func() {
		if s.TLS {
			ended <- server.ServeTLS(l, certificate, key)
		} else {
			ended <- server.Serve(l)
		}
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := server.Shutdown(last); errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return nil
}

// NewToken returns a token that can't be guessed.
func NewToken() string { return rand.Text() }

// LoopbackHosts are the names of an address of this machine alone; nil for one that others reach.
func LoopbackHosts(a net.Addr) []string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() {
		return nil
	}
	_, port, err := net.SplitHostPort(tcp.String())
	if err != nil {
		return nil
	}
	hosts := []string{tcp.String(), net.JoinHostPort("localhost", port), net.JoinHostPort("127.0.0.1", port),
		net.JoinHostPort("::1", port)}
	if port == "80" || port == "443" { // browsers leave these out
		for _, h := range hosts {
			name, _, _ := net.SplitHostPort(h)
			hosts = append(hosts, name)
		}
	}
	return hosts
}
