package factor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/prose"
)

// disciplineName is a kind of queueing discipline, as tc names it.
var disciplineName = prose.Pattern(`^[a-z][a-z0-9_]{0,15}$`)

// qdiscScheme is qdisc:, the queueing discipline that an adapter sends through.
func qdiscScheme() scheme.Scheme {
	return scheme.Scheme{Name: "qdisc", Title: "the queueing discipline that an adapter sends through",
		Class: scheme.Live, Needs: "nothing",
		Syntax:   "qdisc:ADAPTER",
		Examples: []string{"qdisc:eth0=fq,fq_codel", "qdisc:under-test=found,fq"},
		Levels:   "kinds that the kernel has, without options; of an adapter with several queues each gets one",
		Verified: "tc qdisc show", Check: checkDiscipline, Bind: bindDiscipline,
		Holds: func(_ context.Context, _ host.Target, name string) scheme.Holds {
			match := scheme.Wildcard(name)
			return func(s spot.Spot, _ string) bool { return s.Kind == spot.InDiscipline && match.MatchString(s.Path) }
		}}
}

func checkDiscipline(name, level string) error {
	if !adapterName().MatchString(name) || name == "." || name == ".." {
		return errors.New("qdisc: takes the name of an adapter, not " + strconv.Quote(name))
	}
	if level != "" && !disciplineName().MatchString(level) {
		return errors.New("qdisc:" + name + " is the name of a discipline like fq, without options, not " +
			strconv.Quote(level))
	}
	return nil
}

// bindDiscipline is the queueing discipline that an adapter sends through. One that was configured is refused, since
// its options can't be put back; those that the kernel assigns have the handle 0.
func bindDiscipline(ctx context.Context, w scheme.Scope, name string) (scheme.Setting, error) {
	device, err := w.AdapterName(name)
	if err != nil {
		return scheme.Setting{}, err
	}
	root, err := spot.DisciplinesOf(ctx, w.Target, device)
	if err != nil {
		return scheme.Setting{}, err
	}
	if root.Handle != "0:" {
		return scheme.Setting{},
			scheme.Refusal("qdisc:"+name,
				fmt.Sprintf("%s has the discipline %s with options set by another program, which can't be restored; tc qdisc "+
					"del dev %s root gives it the kernel's own", device, root.Text, device))
	}
	s := scheme.Setting{Spots: []spot.Spot{{Kind: spot.InDiscipline, Path: device}}}
	s.Values = func(level string) ([]string, error) {
		if root.Kind == spot.MultiQueue && level != spot.MultiQueue {
			level = spot.MultiQueue + " " + level
		}
		return []string{level}, nil
	}
	s.Level = func(values []string) string { return strings.TrimPrefix(values[0], spot.MultiQueue+" ") }
	return s.Readable(ctx, w.Target)
}
