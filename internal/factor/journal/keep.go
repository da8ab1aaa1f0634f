package journal

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/lab"
)

// keepRule is a setting that must stay.
type keepRule struct {
	text string
	// factor matches whole names of factors.
	factor *regexp.Regexp
	// spot reports whether a spot is one of the setting, whatever factor it is reached by.
	spot scheme.Holds
}

// keeper refuses changes of settings that must stay.
type keeper struct {
	writer *writer
	rules  []keepRule
}

// Keep has changes refused of settings that must stay: names of factors, in which * matches any text. A level after a
// name ("cmdline:numa=off") makes no difference. A setting is kept by whatever name it is reached: sysctl:vm.swappiness
// keeps sysfs:/proc/sys/vm/swappiness too, and queue:scheduler the scheduler of every disk.
func (j *Journal) Keep(ctx context.Context, texts []string) error { return j.keeper.add(ctx, texts) }

func (k *keeper) add(ctx context.Context, texts []string) error {
	for _, text := range texts {
		factorName, _, _ := strings.Cut(text, "=")
		kind, name, err := factor.Find(factorName)
		if err != nil {
			return &lab.Error{Kind: lab.Usage, What: "can't keep " + text, Err: err, Hints: spot.HintsOf(err)}
		}
		rule := keepRule{text: text, factor: scheme.Wildcard(factorName), spot: func(spot.Spot, string) bool {
			return false
		}}
		if kind.Holds != nil {
			rule.spot = kind.Holds(ctx, k.writer.target, name)
		}
		k.rules = append(k.rules, rule)
	}
	return nil
}

// refuse refuses a setting that must stay.
func (k *keeper) refuse(ctx context.Context, s scheme.Setting) error {
	if len(k.rules) == 0 {
		return nil
	}
	resolved, err := k.resolve(ctx, s.Spots)
	if err != nil {
		return err
	}
	_, bare := factor.SplitRole(s.Factor)
	for _, rule := range k.rules {
		if rule.factor.MatchString(bare) || slices.ContainsFunc(s.Spots, func(spot spot.Spot) bool {
			return rule.spot(spot, resolved[spot.Key()])
		}) {
			return &lab.Error{Kind: lab.Refused, What: fmt.Sprintf("%s is not changed: %s must stay (--keep)", s.Factor,
				rule.text)}
		}
	}
	return nil
}

// resolve finds the paths without links of the spots that are files.
func (k *keeper) resolve(ctx context.Context, spots []spot.Spot) (map[string]string, error) {
	resolved := map[string]string{}
	var inFiles []spot.Spot
	for _, s := range spots {
		if s.Kind == spot.InFile {
			inFiles = append(inFiles, s)
		}
	}
	if len(inFiles) == 0 {
		return resolved, nil
	}
	paths, err := spot.RealPaths(ctx, k.writer.target, spot.Paths(inFiles))
	if err != nil {
		return nil, err
	}
	for i, s := range inFiles {
		resolved[s.Key()] = paths[i]
	}
	return resolved, nil
}

// restore puts back at once what must be kept and the kernel has changed along with a step. Where the two conflict,
// the step fails.
func (k *keeper) restore(ctx context.Context, s *step) error {
	if len(k.rules) == 0 || len(s.Companions) == 0 {
		return nil
	}
	var held []position
	for _, p := range s.Companions {
		resolved, err := k.resolve(ctx, []spot.Spot{p.Spot})
		if err != nil {
			continue // it disappeared with the change, and the undoing brings it back
		}
		if slices.ContainsFunc(k.rules, func(r keepRule) bool { return r.spot(p.Spot, resolved[p.Key()]) }) {
			held = append(held, p)
		}
	}
	if len(held) == 0 {
		return nil
	}
	now, failed, err := k.writer.set(ctx, "hold", held, func(p position) string { return p.Old })
	if err != nil {
		return err
	}
	for i, p := range held {
		if now[i].Err == nil && !spot.Same(now[i].Value, p.Old) {
			return &lab.Error{Kind: lab.Refused,
				What: fmt.Sprintf("%s is not changed: the kernel changes %s along with it, which must stay (--keep)",
					s.Factor, p.Spot), Err: failed[i]}
		}
	}
	return k.check(ctx, s)
}

// check returns an error if the values of a step are no longer in effect.
func (k *keeper) check(ctx context.Context, s *step) error {
	var spots []spot.Spot
	for _, p := range s.Spots {
		spots = append(spots, p.Spot)
	}
	readings, err := spot.Read(ctx, k.writer.target, spots)
	if err != nil {
		return k.writer.unreachable(err)
	}
	for i, p := range s.Spots {
		if !spot.Same(readings[i].Value, p.New) {
			return &lab.Error{Kind: lab.Refused,
				What: fmt.Sprintf("%s is not changed: that would change a setting that must stay", s.Factor)}
		}
	}
	return nil
}
