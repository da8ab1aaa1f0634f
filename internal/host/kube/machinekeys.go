package kube

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// keyPair are those that were made for one machine: the user's, by which it lets in, and its own, by which it is known.
type keyPair struct {
	// dir is the folder with the keys and ssh's configuration; it is removed with the machine's record.
	dir string
	// userData is the configuration for cloud-init.
	userData string
}

// The files of the folder.
const (
	userKey    = "user_key"
	hostKey    = "host_key"
	knownHosts = "known_hosts"
	sshConfig  = "ssh_config"
)

// hostAlias is the machine's name to ssh, whatever its address.
const hostAlias = "machine"

// newKeys makes the keys of a machine. They are of a kind that the strictest policies allow (FIPS 186), too.
func newKeys(ctx context.Context, dir string) (keyPair, error) {
	k := keyPair{dir: dir}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return k, err
	}
	text := map[string]string{}
	for _, name := range []string{userKey, hostKey} {
		argv := []string{"ssh-keygen", "-q", "-t", "ecdsa", "-b", "256", "-N", "", "-C", headroom, "-f",
			filepath.Join(dir, name)}
		if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return k, &lab.Error{What: "can't make a key", Command: argv, Output: string(out), Err: err,
				Hints: []string{"apt install openssh-client"}}
		}
		for _, file := range []string{name, name + ".pub"} {
			data, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				return k, err
			}
			text[file] = string(data)
		}
	}
	k.userData = userData(text[userKey+".pub"], text[hostKey], text[hostKey+".pub"])
	return k, os.WriteFile(filepath.Join(dir, knownHosts), []byte(hostAlias+" "+text[hostKey+".pub"]), 0o600)
}

// userData is the configuration for cloud-init: who may log in, as the image's own user and as root, and which key the
// machine proves itself with. Source: cloud-init's reference of modules, SSH.
func userData(user, host, hostPublic string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#cloud-config\ndisable_root: false\nssh_pwauth: false\nssh_authorized_keys:\n  - %s\n"+
		"ssh_deletekeys: true\nssh_keys:\n  ecdsa_private: |\n", strings.TrimSpace(user))
	for line := range strings.Lines(host) {
		b.WriteString("    " + line)
	}
	fmt.Fprintf(&b, "  ecdsa_public: %s\n", strings.TrimSpace(hostPublic))
	return b.String()
}

// writeConfig writes the present address of the machine for ssh, so that one that was started again at another address
// is the same target. The user's own configuration is not read: nothing in it can be meant for this machine.
func (k keyPair) writeConfig(m MachineOptions, address, proxy string) error {
	quote := func(name string) string { return `"` + strings.ReplaceAll(filepath.Join(k.dir, name), "%", "%%") + `"` }
	text := fmt.Sprintf("Host %s\n\tHostName %s\n\tPort %d\n\tUser %s\n\tHostKeyAlias %s\n\tUserKnownHostsFile %s\n"+
		"\tGlobalKnownHostsFile /dev/null\n\tStrictHostKeyChecking yes\n\tUpdateHostKeys no\n\tIdentityAgent none\n"+
		"\tIdentitiesOnly yes\n\tIdentityFile %s\n\tLogLevel ERROR\n\tBatchMode yes\n",
		hostAlias, address, m.Port, m.User, hostAlias, quote(knownHosts), quote(userKey))
	if proxy != "" {
		text += "\tProxyCommand " + proxy + "\n"
	}
	return os.WriteFile(filepath.Join(k.dir, sshConfig), []byte(text), 0o600)
}
