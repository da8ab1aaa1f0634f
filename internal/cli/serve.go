package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/serve"
	"github.com/headroom/headroom/internal/store"
)

// serveCommand serves the store over HTTP.
type serveCommand struct {
	app                                        *app.App
	listen, token, tokenFile, certificate, key string
}

func newServeCommand(a *app.App) *cobra.Command {
	o := &serveCommand{app: a}
	c := &cobra.Command{
		Use: "serve",
		Long: `Serves the runs of the store: all of them, to search, compare and follow over time, and the progress of running
ones. It only reads: nothing can be started, changed or deleted through it, and serial numbers are left out.
No page needs anything from elsewhere.

By default only this machine reaches it. Any other address needs a token, which is made and printed when none is given.
Without --cert and --key what is sent is not encrypted.`,
		Example: `  headroom serve
  headroom serve --listen 127.0.0.1:9000
  headroom serve --listen :8765 --cert server.pem --key server.key
  curl -H 'Authorization: Bearer TOKEN' http://host:8765/api/v1/runs`,
		Args: argumentCount(0, 0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error { return o.serve(c.Context()) },
	}
	f := flagsOf(a, c)
	f.StringVar(&o.listen, "listen", "127.0.0.1:8765", "address and port; :8765 is all addresses")
	f.StringVar(&o.token, "token", "", "what whoever asks must know; every user of this machine sees it in the list of "+
		"processes")
	f.StringVar(&o.tokenFile, "token-file", "", "a file with the token")
	f.StringVar(&o.certificate, "cert", "", "certificate to encrypt with, a file in PEM")
	f.StringVar(&o.key, "key", "", "the certificate's key, a file in PEM")
	c.MarkFlagsRequiredTogether("cert", "key")
	c.MarkFlagsMutuallyExclusive("token", "token-file")
	return c
}

func (o *serveCommand) serve(ctx context.Context) error {
	token, err := o.secret()
	if err != nil {
		return err
	}
	o.app.Index = new(store.Memory)
	st, err := o.app.OpenStore()
	if err != nil {
		return err
	}
	runs, err := st.Len()
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return &lab.Error{What: "can't listen on " + o.listen, Err: err, Hints: []string{
			"name another address or port: --listen 127.0.0.1:9000"}}
	}
	defer l.Close()
	hosts := serve.LoopbackHosts(l.Addr())
	if hosts == nil && token == "" {
		token = serve.NewToken()
	}
	server, err := serve.New(serve.Options{App: o.app, Store: st, Token: token, Hosts: hosts, TLS: o.certificate != ""})
	if err != nil {
		return err
	}
	o.sayServed(l.Addr(), token, runs, st.Dir())
	return server.Serve(ctx, l, o.certificate, o.key)
}

// secret returns the given token; empty for none.
func (o *serveCommand) secret() (string, error) {
	if o.tokenFile == "" {
		return o.token, nil
	}
	text, err := os.ReadFile(o.tokenFile)
	if err != nil {
		return "", &lab.Error{Kind: lab.Usage, What: "can't read the token", Err: err}
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", app.Usage("there is no token in " + o.tokenFile)
	}
	return token, nil
}

// sayServed prints what is served, to whom, and how to end it.
func (o *serveCommand) sayServed(a net.Addr, token string, runs int, dir string) {
	scheme, address := "http", a.String()
	if o.certificate != "" {
		scheme = "https"
	}
	loopback := serve.LoopbackHosts(a) != nil
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			address = net.JoinHostPort(name, fmt.Sprint(tcp.Port))
		}
	}
	page := scheme + "://" + address + "/"
	if token != "" && o.token == "" && o.tokenFile == "" {
		page += "?token=" + token
	}
	fmt.Fprintf(o.app.Stdout, "%s\n", page)
	who := "only this machine reaches it"
	switch {
	case !loopback && scheme == "http":
		who = "whoever knows the token reads it; it is not encrypted (--cert and --key)"
	case !loopback:
		who = "whoever knows the token reads it"
	case token != "":
		who += ", with the token"
	}
	fmt.Fprintf(o.app.Stderr, "%d runs of %s, to be read only; %s. Ctrl-C ends it.\n", runs, dir, who)
}
