//go:build !kube

package kube

import (
	"context"

	"headroom/internal/lab"
	"headroom/internal/target"
)

// Pod can't be had: this program was built without clusters. To link their libraries makes it touch some seven megabytes more when it starts, on every
// machine that it measures, which is more than it promises to take.
type Pod struct{ target.Target }

// Machine can't be had either.
type Machine struct{ target.Target }

// Scheme begins the names of pods and machines, Form is what a name looks like, and the variables would name their images.
const (
	Scheme        = "kube:"
	Form          = "kube:pod?OPTIONS or kube:vm?OPTIONS"
	ImageVariable = "HEADROOM_KUBE_IMAGE"
	DiskVariable  = "HEADROOM_KUBE_DISK"
)

// Options of a pod or machine, of which nothing is known here.
type Options struct {
	Image, Node string
	Machine     *MachineOptions
}

// MachineOptions of a machine.
type MachineOptions struct{ Boot, BootClaim string }

// Parse says how to come to a program that has clusters.
func Parse(string) (Options, error) { return Options{}, unlinked() }

// Goes and Forgets say of no target that it is a pod's, and IsMachine that it is a machine.
func Goes(string) bool      { return false }
func Forgets(string) bool   { return false }
func IsMachine(string) bool { return false }

// Host is where a pod is noted, and told of.
type Host struct {
	Records string
	Say     func(string)
	SSH     []string
}

// Open says how to come to a program that has clusters.
func Open(context.Context, Options, Host) (*Pod, error) { return nil, unlinked() }

// OpenMachine says the same.
func OpenMachine(context.Context, Options, Host) (*Machine, error) { return nil, unlinked() }

// Node is that of no pod, and of no machine.
func (*Pod) Node() string     { return "" }
func (*Machine) Node() string { return "" }

// Clear says how to come to a program that has clusters: what was made in one can only be removed by that.
func Clear(context.Context, Record) ([]string, error) { return nil, unlinked() }

// Names are those of no machine.
func (*Machine) Names() (machine, namespace string) { return "", "" }

func unlinked() error {
	return &lab.Error{Kind: lab.Usage, What: "this headroom was built without clusters", Hints: []string{"build one that has them: make build TAGS=kube"}}
}
