package spot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// MultiQueue is the discipline of an adapter with several queues, which has a separate one for each of them.
const MultiQueue = "mq"

// disciplines are the queueing disciplines of an adapter.
type disciplines struct {
	// Kind and Handle of the root discipline, and Text, all of it: "fq", "mq fq_codel".
	Kind, Handle, Text string
	// leaves are the classes of the root, by their names.
	leaves []string
}

func DisciplinesOf(ctx context.Context, t host.Target, device string) (disciplines, error) {
	argv := []string{"tc", "-json", "qdisc", "show", "dev", device}
	out, err := t.Run(ctx, argv...)
	if err != nil {
		return disciplines{}, err
	}
	if out.ExitCode != 0 {
		printed := strings.TrimSpace(string(out.Stderr))
		return disciplines{}, &lab.Error{What: "can't read the queueing discipline of " + device,
			Target:  host.RemoteName(t),
			Command: argv, Output: printed,
			Hints: append(hintsFor(printed), "tc comes with iproute2")}
	}
	d, err := parseDisciplines(out.Stdout)
	if err != nil {
		return d, &lab.Error{What: "can't read the queueing discipline of " + device, Target: host.RemoteName(t),
			Command: argv, Err: err}
	}
	return d, nil
}

// parseDisciplines parses tc's output for an adapter. Disciplines for filters (ingress, clsact) do not send, and are
// ignored.
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
			d.Kind, d.Handle = q.Kind, q.Handle
		case q.Kind != "ingress" && q.Kind != "clsact":
			d.leaves = append(d.leaves, q.Parent)
			if !slices.Contains(kinds, q.Kind) {
				kinds = append(kinds, q.Kind)
			}
		}
	}
	if d.Kind == "" {
		return d, errors.New("it has none at its root")
	}
	d.Text = strings.Join(append([]string{d.Kind}, kinds...), " ")
	return d, nil
}

func disciplineReading(ctx context.Context, t host.Target, s Spot) Reading {
	d, err := DisciplinesOf(ctx, t, s.Path)
	return Reading{Value: d.Text, Err: err}
}

// writeDiscipline sets the discipline of an adapter. First it restores the kernel's default, which is sufficient if
// that is the requested one; otherwise each queue, or the only one, gets the requested discipline.
func writeDiscipline(ctx context.Context, t host.Target, s Spot, mark, value string) error {
	tc := func(args ...string) error {
		argv := Marked(mark, append([]string{"tc", "qdisc"}, args...)...)
		out, err := t.Run(ctx, argv...)
		if err == nil && out.ExitCode != 0 {
			printed := complaint(string(out.Stderr))
			err = &lab.Error{What: fmt.Sprintf("can't give %s the discipline %s", s.Path, value),
				Target:  host.RemoteName(t),
				Command: argv[4:], Output: printed,
				Hints: append(hintsFor(printed),
					"the kernel may have no such discipline: its module is sch_"+value[strings.LastIndex(value,
						" ")+1:])}
		}
		return err
	}
	now, err := DisciplinesOf(ctx, t, s.Path)
	if err == nil && now.Handle != "0:" {
		err = tc("delete", "dev", s.Path, "root")
	}
	if err == nil {
		now, err = DisciplinesOf(ctx, t, s.Path)
	}
	if err != nil || now.Text == value {
		return err
	}
	leaf, several := strings.CutPrefix(value, MultiQueue+" ")
	if !several {
		return tc("replace", "dev", s.Path, "root", value)
	}
	if err := tc("replace", "dev", s.Path, "root", "handle", "1:", MultiQueue); err != nil {
		return err
	}
	if now, err = DisciplinesOf(ctx, t, s.Path); err != nil {
		return err
	}
	for _, parent := range now.leaves {
		if err := tc("replace", "dev", s.Path, "parent", parent, leaf); err != nil {
			return err
		}
	}
	return nil
}
