package kube

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/headroom/headroom/internal/lab"
)

// ParseName reads the name of a pod as a target: "kube:pod?class=fast&size=20Gi&cpu=2". All faults are in one error.
func ParseName(name string) (Options, error) {
	o := Options{Name: name, Pull: "IfNotPresent", Deadline: defaultDeadline, Wait: defaultWait,
		NodeLabels: map[string]string{}}
	kind, query, _ := strings.Cut(strings.TrimPrefix(name, Scheme), "?")
	var faults []string
	known, example := list(), "kube:pod?class=fast&size=20Gi&cpu=2"
	switch kind {
	case "pod":
	case nodesKind:
		o.Nodes, o.Privileged, o.HostNetwork = true, true, true
	case machineKind:
		known, example = machineList(), "kube:vm?boot=quay.io/containerdisks/fedora:42&class=fast&cores=4"
		o.Wait, o.Machine = machineWait, newMachineOptions()
	default:
		faults = append(faults, fmt.Sprintf("after %s comes pod, nodes or vm, not %q", Scheme, kind))
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		key, value, has := strings.Cut(part, "=")
		value, err := url.QueryUnescape(value)
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s: %s", part, err))
			continue
		}
		if seen[key] && key != "selector" {
			faults = append(faults, key+" is given twice")
			continue
		}
		seen[key] = true
		if err := o.set(known, key, value, has); err != nil {
			faults = append(faults, err.Error())
		}
	}
	if o.Machine != nil {
		faults = append(faults, o.machineContradictions(seen)...)
	} else {
		faults = append(faults, o.contradictions(seen)...)
	}
	if len(faults) > 0 {
		return Options{}, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%q is no target", name),
			Hints: append(faults, "options are "+strings.Join(keys(known), ", ")+"; "+example+" is an example")}
	}
	return o, nil
}

func keys(known []option) []string {
	var names []string
	for _, k := range known {
		if !k.own {
			names = append(names, k.name)
		}
	}
	return names
}

// option is one option of a target's name.
type option struct {
	name string
	// flag takes no value; both says that it may, too.
	flag, both bool
	// own is set by headroom itself, in names of pods of a series.
	own bool
	set func(o *Options, value string) error
}

// volume is an option that selects the volume under test.
func volume(kind VolumeKind) func(o *Options, value string) error {
	return func(o *Options, value string) error {
		if o.Volume.Kind != "" {
			return fmt.Errorf("%s and %s are two volumes, and only one is measured", o.Volume.Kind, kind)
		}
		o.Volume.Kind, o.Volume.Of = kind, value
		return nil
	}
}

// list is the list of a pod's options.
func list() []option {
	text := func(field func(o *Options) *string, check func(string) []string) func(o *Options, value string) error {
		return func(o *Options, value string) error {
			if check != nil {
				if wrong := check(value); len(wrong) > 0 {
					return fmt.Errorf("%q is no name: %s", value, wrong[0])
				}
			}
			*field(o) = value
			return nil
		}
	}
	duration := func(field func(o *Options) *time.Duration) func(o *Options, value string) error {
		return func(o *Options, value string) error {
			d, err := time.ParseDuration(value)
			if err != nil || d < time.Second {
				return fmt.Errorf("%q is no time of a second or more; write something like 30m", value)
			}
			*field(o) = d
			return nil
		}
	}
	number := func(field func(o *Options) *int) func(o *Options, value string) error {
		return func(o *Options, value string) error {
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > maxPods {
				return fmt.Errorf("%q is no number from 1 to %d", value, maxPods)
			}
			*field(o) = n
			return nil
		}
	}
	set := func(field func(o *Options) *bool) func(o *Options, value string) error {
		return func(o *Options, _ string) error { *field(o) = true; return nil }
	}
	return []option{
		{name: "class", set: volume(Claimed)},
		{name: "ephemeral", set: volume(Ephemeral)},
		{name: "claim", set: volume(Existing)},
		{name: "emptydir", both: true, set: func(o *Options, value string) error {
			if value != "" && value != "memory" {
				return fmt.Errorf("emptydir is alone, or emptydir=memory, not %q", value)
			}
			o.Volume.Memory = value == "memory"
			return volume(EmptyDir)(o, "")
		}},
		{name: "hostpath", set: func(o *Options, value string) error {
			if !strings.HasPrefix(value, "/") || strings.Contains(value, "..") {
				return fmt.Errorf("hostpath is the whole path of a folder or device of the node, not %q", value)
			}
			return volume(HostPath)(o, value)
		}},
		{name: "size", set: func(o *Options, value string) error {
			return quantity(value, func(text string) { o.Volume.Size = text })
		}},
		{name: "mode", set: func(o *Options, value string) error {
			if value != "block" && value != "filesystem" {
				return fmt.Errorf("mode is filesystem or block, not %q", value)
			}
			o.Volume.Block = value == "block"
			return nil
		}},
		{name: "at", set: func(o *Options, value string) error {
			if !strings.HasPrefix(value, "/") || value == "/" || strings.ContainsAny(value, ":") ||
				strings.Contains(value, "..") {
				return fmt.Errorf("at is the whole path in the container, not %q", value)
			}
			o.Volume.At = value
			return nil
		}},
		{name: "context", set: text(func(o *Options) *string { return &o.Context }, nil)},
		{name: "kubeconfig", set: text(func(o *Options) *string { return &o.Kubeconfig }, nil)},
		{name: "namespace", set: text(func(o *Options) *string { return &o.Namespace }, validation.IsDNS1123Label)},
		{name: "image", set: text(func(o *Options) *string { return &o.Image }, nil)},
		{name: "pull", set: func(o *Options, value string) error {
			policies := map[string]string{"always": "Always", "missing": "IfNotPresent", "never": "Never"}
			if o.Pull = policies[value]; o.Pull == "" {
				return fmt.Errorf("pull is always, missing or never, not %q", value)
			}
			return nil
		}},
		{name: "pullsecret", set: text(func(o *Options) *string {
			return &o.PullSecret
		}, validation.IsDNS1123Subdomain)},
		{name: "node", set: text(func(o *Options) *string { return &o.Node }, validation.IsDNS1123Subdomain)},
		{name: "selector", set: func(o *Options, value string) error {
			for part := range strings.SplitSeq(value, ",") {
				key, label, ok := strings.Cut(part, "=")
				if !ok || len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(label)) > 0 {
					return fmt.Errorf("selector is labels of nodes, like selector=disk=nvme,zone=a, not %q", part)
				}
				o.NodeLabels[key] = label
			}
			return nil
		}},
		{name: "tolerate", flag: true, set: set(func(o *Options) *bool { return &o.Tolerate })},
		{name: "cpu", set: func(o *Options, value string) error { return Amounts(value, &o.CPU) }},
		{name: "memory", set: func(o *Options, value string) error { return Amounts(value, &o.Memory) }},
		{name: "count", set: number(func(o *Options) *int { return &o.Count })},
		{name: "replica", own: true, set: number(func(o *Options) *int { return &o.Replica })},
		{name: "hostnetwork", flag: true, set: set(func(o *Options) *bool { return &o.HostNetwork })},
		{name: "privileged", flag: true, set: set(func(o *Options) *bool { return &o.Privileged })},
		{name: "restricted", flag: true, set: set(func(o *Options) *bool { return &o.Restricted })},
		{name: "deadline", set: duration(func(o *Options) *time.Duration { return &o.Deadline })},
		{name: "wait", set: duration(func(o *Options) *time.Duration { return &o.Wait })},
	}
}

func (o *Options) set(known []option, key, value string, has bool) error {
	i := slices.IndexFunc(known, func(k option) bool { return k.name == key })
	if i < 0 {
		return fmt.Errorf("there is no option %q", key)
	}
	k := known[i]
	switch {
	case k.flag && has && value != "":
		return fmt.Errorf("%s takes no value", key)
	case !k.flag && !k.both && value == "":
		return fmt.Errorf("%s needs a value", key)
	}
	if err := k.set(o, value); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// contradictions returns combinations of options that are invalid, and fills in options that depend on others.
func (o *Options) contradictions(given map[string]bool) []string {
	v := &o.Volume
	var faults []string
	made := v.Kind == Claimed || v.Kind == Ephemeral
	if given["size"] && !made && v.Kind != EmptyDir {
		faults = append(faults, "size applies only to a new volume: with class, ephemeral or emptydir")
	}
	if given["mode"] && !made {
		faults = append(faults, "mode applies only to a new volume: with class or ephemeral")
	}
	if given["at"] && v.Kind == "" {
		faults = append(faults, "at is the volume's path, and there is no volume: add class, ephemeral, claim, "+
			"emptydir or hostpath")
	}
	if o.Privileged && o.Restricted {
		faults = append(faults, "privileged and restricted contradict each other")
	}
	if o.Restricted && (o.HostNetwork || v.Kind == HostPath) {
		faults = append(faults, "the restricted standard forbids hostnetwork and hostpath")
	}
	if o.Nodes && o.Restricted {
		faults = append(faults, "a pod that is for its node may do what root of the node may, which the restricted "+
			"standard forbids")
	}
	if o.Nodes && o.Count > 0 {
		faults = append(faults, "count is for kube:pod; kube:nodes makes one on each node")
	}
	if o.Replica > o.Count {
		faults = append(faults, "replica is which of count pods it is")
	}
	if o.Count > 0 && v.Kind == Existing {
		faults = append(faults, "claim is one volume, and each of count pods needs its own: take class or ephemeral")
	}
	if made && v.Size == "" {
		v.Size = defaultSize
	}
	if v.Kind != "" && v.At == "" {
		v.At = map[bool]string{true: DefaultDevice, false: DefaultFolder}[v.Block]
	}
	return faults
}

// rewriteName is a name without some options, and with others.
func rewriteName(name string, without []string, with ...string) string {
	kind, query, _ := strings.Cut(name, "?")
	var options []string
	for part := range strings.SplitSeq(query, "&") {
		if key, _, _ := strings.Cut(part, "="); part != "" && !slices.Contains(without, key) {
			options = append(options, part)
		}
	}
	return kind + "?" + strings.Join(append(options, with...), "&")
}

func quantity(value string, set func(string)) error {
	q, err := resource.ParseQuantity(value)
	if err != nil || q.Sign() <= 0 {
		return fmt.Errorf("%q is no amount; write something like 10Gi", value)
	}
	set(value)
	return nil
}

// Amounts reads "2", which is requested and the limit, "1..2", "1.." and "..2".
func Amounts(value string, r *Range) error {
	from, to, both := strings.Cut(value, "..")
	if !both {
		from, to = value, value
	}
	if from == "" && to == "" {
		return errors.New("write an amount, like 2, or two, like 1..2")
	}
	parsed := map[string]resource.Quantity{}
	for _, text := range []string{from, to} {
		if text == "" {
			continue
		}
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Sign() <= 0 {
			return fmt.Errorf("%q is no amount; write something like 2, 500m or 1Gi", text)
		}
		parsed[text] = q
	}
	if low, high := parsed[from], parsed[to]; from != "" && to != "" && low.Cmp(high) > 0 {
		return fmt.Errorf("%s is more than %s", from, to)
	}
	*r = Range{from, to}
	return nil
}
