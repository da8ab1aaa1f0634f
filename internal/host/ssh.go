package host

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// SSHOptions describe a host and how to reach it.
type SSHOptions struct {
	// Name is the user's name for the target: "ssh://db1".
	Name string
	// Destination as ssh takes it: "host", "user@host", a name of the user's ssh configuration.
	Destination string
	// Args are further arguments for ssh, before the destination: "-p", "2222", "-F", "/dev/null", "-i", KEY.
	Args []string
	// Jobs is the folder on the host that holds the folders of detached jobs; empty to choose one there, in memory if
	// possible.
	Jobs string
	// Patience is how long a lost connection is retried; 0 for two minutes.
	Patience time.Duration
	// Gone is called before each connection, and returns an error that is ErrGone if the machine is gone for good; nil
	// if that can't be known.
	Gone func(ctx context.Context) error
	// limit is how long making a connection can take; 0 for connectLimit.
	limit time.Duration
}

// SSH is a host that is reached with the user's OpenSSH client: with their configuration, keys, agent and jump hosts,
// which headroom does not read. Nothing is installed on the host. All commands share one connection (ControlMaster).
type SSH struct{ *Shell }

// NewSSH returns a host as a target. Nothing is connected before the first use, or Connect.
func NewSSH(o SSHOptions) *SSH {
	s := &SSH{NewShell(o.Name, nil, o.Patience)}
	s.transport, s.jobs = sshTransport{o, s.Shell}, o.Jobs
	return s
}

// SSHScheme is the prefix of the names of ssh hosts.
const SSHScheme = "ssh:"

// portOption is a port at the end of a name, as virsh and others write it.
var portOption = prose.Pattern(`^(ssh://[^/?#]*[^/?#:])/?\?port=([0-9]+)$`)

// SSHSpelling moves the port behind the host: "ssh://host?port=2222" becomes "ssh://host:2222".
func SSHSpelling(name string) string { return portOption().ReplaceAllString(name, "$1:$2") }

// ParseSSH reads "ssh://[user@]host[:port]", however the port is written.
func ParseSSH(name string) (SSHOptions, error) {
	wrong := func(what string) (SSHOptions, error) {
		return SSHOptions{}, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%q is no target: %s", name, what),
			Hints: []string{"write ssh://host, ssh://user@host:port, or ssh://NAME for a Host of your ssh configuration"}}
	}
	name = SSHSpelling(name)
	u, err := url.Parse(name)
	switch {
	case err != nil:
		return wrong("it can't be read as an address")
	case u.Scheme != "ssh":
		return wrong("it does not begin with ssh://")
	case u.Hostname() == "":
		return wrong("the host is missing")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return wrong("nothing can follow the host")
	case strings.HasPrefix(u.Hostname(), "-") || strings.HasPrefix(u.User.Username(), "-"):
		return wrong("a name can't begin with a hyphen") // ssh would read it as an option
	}
	if _, has := u.User.Password(); has {
		return wrong("a password is never given on the command line; ssh-copy-id puts a key there")
	}
	o := SSHOptions{Name: strings.TrimSuffix(name, "/"), Destination: u.Hostname()}
	if user := u.User.Username(); user != "" {
		o.Destination = user + "@" + o.Destination
	}
	if port := u.Port(); port != "" {
		o.Args = []string{"-p", port}
	}
	return o, nil
}

// sshTransport is the transport over ssh.
type sshTransport struct {
	options SSHOptions
	shell   *Shell
}

func (w sshTransport) Dial(ctx context.Context) (Connection, error) {
	if w.options.Gone != nil {
		if err := w.options.Gone(ctx); err != nil {
			return nil, err
		}
	}
	return dial(ctx, w.options)
}

// Vanished returns a hint about logind, if it ends a user's processes at logout.
func (w sshTransport) Vanished(ctx context.Context) string {
	if w.shell.lingers(ctx) {
		return "systemd-logind there ends everything at logout (KillUserProcesses=yes); as root there: loginctl " +
			"enable-linger USER"
	}
	return ""
}

// lingerScript prints "killed" if logind ends a user's processes at the end of the session.
const lingerScript = `[ "$(id -u)" = 0 ] && exit 0
said=$(busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager KillUserProcesses 2>/dev/null)
[ "$said" = "b true" ] && [ ! -e "/var/lib/systemd/linger/$(id -un)" ] && echo killed
exit 0`

// lingers reports whether logind on the host would end a job with the connection.
func (s *Shell) lingers(ctx context.Context) bool {
	printed, err := s.script(ctx, "can't ask logind", lingerScript)
	return err == nil && printed == "killed\n"
}

// Caveats are warnings about jobs on this host, for the user before jobs are started.
func (s *SSH) Caveats(ctx context.Context) []string {
	printed := s.Shell.Caveats(ctx)
	if s.lingers(ctx) {
		printed = append(
			[]string{"systemd-logind there ends everything at logout (KillUserProcesses=yes): a load does " +
				"not survive a lost connection; as root there: loginctl enable-linger USER"}, printed...)
	}
	return printed
}
