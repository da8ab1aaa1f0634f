package kube

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// proxy is the command that ssh speaks through, which it has the user's shell exec; empty where the machine's address
// is reached from here.
func (r *machineRequest) proxy() (string, error) {
	var argv []string
	switch through := r.options.Machine.Through; through {
	case "":
		return "", nil
	case ByVirtctl:
		argv = []string{ByVirtctl, "port-forward", "--stdio=true", "--namespace=" + r.cluster.namespace}
		if r.options.Context != "" {
			argv = append(argv, "--context="+r.options.Context)
		}
		if r.options.Kubeconfig != "" {
			argv = append(argv, "--kubeconfig="+r.options.Kubeconfig)
		}
		argv = append(argv, "vmi/"+r.name(), strconv.Itoa(r.options.Machine.Port))
	default:
		jump, err := host.ParseSSH(through)
		if err != nil {
			return "", err
		}
		argv = append(append([]string{"ssh"}, r.ssh...), jump.Args...)
		argv = append(argv, "-W", "[%h]:%p", "--", jump.Destination)
	}
	for _, word := range argv {
		if !PlainWord().MatchString(word) && word != "[%h]:%p" {
			return "", &lab.Error{Kind: lab.Usage,
				What:   fmt.Sprintf("%q can't be part of the way to the machine: ssh gives it to a shell", word),
				Target: r.options.Name}
		}
	}
	return strings.Join(argv, " "), nil
}

// lacksWay refuses a way that can't be gone.
func (r *machineRequest) lacksWay() error {
	if _, err := r.proxy(); err != nil {
		return err
	}
	if r.options.Machine.Through != ByVirtctl {
		return nil
	}
	if _, err := exec.LookPath(ByVirtctl); err != nil {
		return &lab.Error{Kind: lab.Refused, What: "virtctl is not installed", Target: r.options.Name, Err: err,
			Hints: []string{"it is among the files of KubeVirt's release, or kubectl krew install virt",
				"a host that reaches addresses of pods will do as well: through=ssh://user@node"}}
	}
	return nil
}
