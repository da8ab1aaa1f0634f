package host

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// SSHOptions say which host is meant and how it is reached.
type SSHOptions struct {
	// Name is what the user calls the target: "ssh://db1".
	Name string
	// Destination as ssh takes it: "host", "user@host", a name of the user's own configuration.
	Destination string
	// Args are further arguments for ssh, before the destination: "-p", "2222", "-F", "/dev/null", "-i", KEY.
	Args []string
	// Jobs is the folder there that holds the folders of detached jobs; empty for one that is found there, in memory if
	// possible.
	Jobs string
	// Patience is how long a connection that was lost is tried for again; 0 for two minutes.
	Patience time.Duration
	// Gone says before each connection that the machine is gone for good, by an error that is ErrGone; nil where nobody
	// knows.
	Gone func(ctx context.Context) error
	// limit is how long making a connection may take; 0 for connectLimit.
	limit time.Duration
}

// SSH is a host that is reached with the user's own OpenSSH client: with their configuration, keys, agent and jump
// hosts, none of which is read here. Nothing is installed there. One connection is shared by all commands
// (ControlMaster).
type SSH struct{ *Shell }

// NewSSH returns a host as a target. Nothing is connected before the first use, or Connect.
func NewSSH(o SSHOptions) *SSH {
	s := &SSH{NewShell(o.Name, nil, o.Patience)}
	s.transport, s.jobs = sshTransport{o, s.Shell}, o.Jobs
	return s
}

// SSHScheme begins the names of hosts that are reached by ssh.
const SSHScheme = "ssh:"

// portOption is a port at the end of a name, as virsh and others write it.
var portOption = regexp.MustCompile(`^(ssh://[^/?#]*[^/?#:])/?\?port=([0-9]+)$`)

// SSHSpelling has the port behind the host: "ssh://host?port=2222" is "ssh://host:2222".
func SSHSpelling(name string) string { return portOption.ReplaceAllString(name, "$1:$2") }

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
		return wrong("a name can't begin with a hyphen") // ssh would read an option
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

// sshTransport is the way to a host over ssh.
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

// Vanished is logind, where it ends what a user leaves behind.
func (w sshTransport) Vanished(ctx context.Context) string {
	if w.shell.lingers(ctx) {
		return "systemd-logind there ends everything at logout (KillUserProcesses=yes); as root there: loginctl " +
			"enable-linger USER"
	}
	return ""
}

// lingerScript prints "killed" where logind ends what a user leaves behind at the end of the session.
const lingerScript = `[ "$(id -u)" = 0 ] && exit 0
said=$(busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager KillUserProcesses 2>/dev/null)
[ "$said" = "b true" ] && [ ! -e "/var/lib/systemd/linger/$(id -un)" ] && echo killed
exit 0`

// lingers says whether logind there would end a job with the connection.
func (s *Shell) lingers(ctx context.Context) bool {
	printed, err := s.script(ctx, "can't ask logind", lingerScript)
	return err == nil && printed == "killed\n"
}

// Caveats are what there is to know of jobs on this host before they are started.
func (s *SSH) Caveats(ctx context.Context) []string {
	printed := s.Shell.Caveats(ctx)
	if s.lingers(ctx) {
		printed = append(
			[]string{"systemd-logind there ends everything at logout (KillUserProcesses=yes): a load does " +
				"not survive a lost connection; as root there: loginctl enable-linger USER"}, printed...)
	}
	return printed
}
