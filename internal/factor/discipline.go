package factor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/target"
)

// disciplineName is a kind of queueing discipline, as tc names it.
var disciplineName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,15}$`)

// disciplineScheme is qdisc:, the queueing discipline that an adapter sends through.
func disciplineScheme() Scheme {
	return Scheme{Name: "qdisc", Title: "the queueing discipline that an adapter sends through",
		Class: Live, Needs: "nothing",
		Syntax:   "qdisc:ADAPTER",
		Examples: []string{"qdisc:eth0=fq,fq_codel", "qdisc:under-test=found,fq"},
		Levels:   "kinds that the kernel has, without options; of an adapter with several queues each gets one",
		Verified: "tc qdisc show", check: checkDiscipline, bind: bindDiscipline,
		holds: func(_ context.Context, _ target.Target, name string) Holds {
			match := wildcard(name)
			return func(s Spot, _ string) bool { return s.Kind == inDiscipline && match.MatchString(s.Path) }
		}}
}

func checkDiscipline(name, level string) error {
	if !adapterName.MatchString(name) || name == "." || name == ".." {
		return errors.New("qdisc: takes the name of an adapter, not " + strconv.Quote(name))
	}
	if level != "" && !disciplineName.MatchString(level) {
		return errors.New("qdisc:" + name + " is the name of a discipline like fq, without options, not " +
			strconv.Quote(level))
	}
	return nil
}

// multiQueue is the discipline of an adapter with several queues, which has one for each of them.
const multiQueue = "mq"

// bindDiscipline is the queueing discipline that an adapter sends through. One that somebody has set up is refused,
// since its options can't be put back; those that the kernel gives to an adapter by itself have the handle 0.
func bindDiscipline(ctx context.Context, w Scope, name string) (Setting, error) {
	device, err := w.AdapterName(name)
	if err != nil {
		return Setting{}, err
	}
	root, err := disciplinesOf(ctx, w.Target, device)
	if err != nil {
		return Setting{}, err
	}
	if root.handle != "0:" {
		return Setting{},
			refusal("qdisc:"+name,
				fmt.Sprintf("%s has the discipline %s with options of somebody's, which can't be put back; tc qdisc "+
					"del dev %s root gives it the kernel's own", device, root.text, device))
	}
	s := Setting{Spots: []Spot{{Kind: inDiscipline, Path: device}}}
	s.Values = func(level string) ([]string, error) {
		if root.kind == multiQueue && level != multiQueue {
			level = multiQueue + " " + level
		}
		return []string{level}, nil
	}
	s.Level = func(values []string) string { return strings.TrimPrefix(values[0], multiQueue+" ") }
	return s.Readable(ctx, w.Target)
}

// disciplines are those of an adapter.
type disciplines struct {
	// kind and handle of the one at the root, and text, all of it: "fq", "mq fq_codel".
	kind, handle, text string
	// leaves are the classes of the root, by their names.
	leaves []string
}

func disciplinesOf(ctx context.Context, t target.Target, device string) (disciplines, error) {
	argv := []string{"tc", "-json", "qdisc", "show", "dev", device}
	out, err := t.Run(ctx, argv...)
	if err != nil {
		return disciplines{}, err
	}
	if out.ExitCode != 0 {
		printed := strings.TrimSpace(string(out.Stderr))
		return disciplines{}, &lab.Error{What: "can't read the queueing discipline of " + device,
			Target:  target.RemoteName(t),
			Command: argv, Output: printed,
			Hints: append(hintsFor(printed), "tc comes with iproute2")}
	}
	d, err := parseDisciplines(out.Stdout)
	if err != nil {
		return d, &lab.Error{What: "can't read the queueing discipline of " + device, Target: target.RemoteName(t),
			Command: argv, Err: err}
	}
	return d, nil
}

// parseDisciplines reads what tc prints of an adapter. What filters hang on (ingress, clsact) is no discipline that
// sends.
//
//	[{"kind":"noqueue","handle":"0:","root":true,"refcnt":2,"options":{}}]
//	[{"kind":"mq","handle":"0:","root":true,"options":{}},
//	 {"kind":"fq_codel","handle":"0:","parent":":1","options":{"limit":10240,"flows":1024}},{"kind":"clsact","handle":"ffff:","parent":"ffff:fff1","options":{}}]
func parseDisciplines(text []byte) (disciplines, error) {
	var list []struct {
		Kind   string `json:"kind"`
		Handle string `json:"handle"`
		Root   bool   `json:"root"`
		Parent string `json:"parent"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return disciplines{}, err
	}
	var d disciplines
	var kinds []string
	for _, q := range list {
		switch {
		case q.Root:
			d.kind, d.handle = q.Kind, q.Handle
		case q.Kind != "ingress" && q.Kind != "clsact":
			d.leaves = append(d.leaves, q.Parent)
			if !slices.Contains(kinds, q.Kind) {
				kinds = append(kinds, q.Kind)
			}
		}
	}
	if d.kind == "" {
		return d, errors.New("it has none at its root")
	}
	d.text = strings.Join(append([]string{d.kind}, kinds...), " ")
	return d, nil
}

func disciplineReading(ctx context.Context, t target.Target, s Spot) reading {
	d, err := disciplinesOf(ctx, t, s.Path)
	return reading{value: d.text, err: err}
}

// writeDiscipline gives an adapter a discipline: first the one that the kernel gives it by itself, which is all where
// that is the one; else each queue, or the only one, gets the one that was asked for.
func writeDiscipline(ctx context.Context, t target.Target, s Spot, mark, value string) error {
	tc := func(args ...string) error {
		argv := marked(mark, append([]string{"tc", "qdisc"}, args...)...)
		out, err := t.Run(ctx, argv...)
		if err == nil && out.ExitCode != 0 {
			printed := complaint(string(out.Stderr))
			err = &lab.Error{What: fmt.Sprintf("can't give %s the discipline %s", s.Path, value),
				Target:  target.RemoteName(t),
				Command: argv[4:], Output: printed,
				Hints: append(hintsFor(printed),
					"the kernel may have no such discipline: its module is sch_"+value[strings.LastIndex(value,
						" ")+1:])}
		}
		return err
	}
	now, err := disciplinesOf(ctx, t, s.Path)
	if err == nil && now.handle != "0:" {
		err = tc("delete", "dev", s.Path, "root")
	}
	if err == nil {
		now, err = disciplinesOf(ctx, t, s.Path)
	}
	if err != nil || now.text == value {
		return err
	}
	leaf, several := strings.CutPrefix(value, multiQueue+" ")
	if !several {
		return tc("replace", "dev", s.Path, "root", value)
	}
	if err := tc("replace", "dev", s.Path, "root", "handle", "1:", multiQueue); err != nil {
		return err
	}
	if now, err = disciplinesOf(ctx, t, s.Path); err != nil {
		return err
	}
	for _, parent := range now.leaves {
		if err := tc("replace", "dev", s.Path, "parent", parent, leaf); err != nil {
			return err
		}
	}
	return nil
}
