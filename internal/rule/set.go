package rule

import (
	"slices"
	"strings"
)

// Set is a consistent set of rules, ready for evaluation.
type Set struct {
	vocabulary vocabulary
	// rules in evaluation order: those that silence others first.
	rules []Rule
}

// BuiltInSet returns the built-in rules, compiled.
func BuiltInSet() (*Set, error) {
	rules, err := BuiltIn()
	if err != nil {
		return nil, err
	}
	return Compile(rules)
}

// Compile combines the rules of one or more files. Their IDs must differ, the rules in SilentIf must exist, and no rule
// may silence itself, directly or through others.
func Compile(rules []Rule) (*Set, error) {
	r := newReporter("")
	seen := map[string]place{}
	for _, rule := range rules {
		r.Name = rule.place.file
		if first, twice := seen[rule.ID]; twice {
			where := "another file"
			if first.file != "" {
				where = first.file
			}
			r.Add(rule.place.line, 0, "give it another id", "a rule %s stands in %s already", rule.ID, where)
		}
		seen[rule.ID] = rule.place
	}
	for i := range rules {
		rule := &rules[i]
		r.Name = rule.place.file
		for _, id := range rule.SilentIf {
			if _, ok := seen[id]; !ok {
				r.Add(rule.place.line, 0, "", "the rule %s is silent for %s, which there is not", rule.ID, id)
			}
		}
		if rule.when == nil {
			r.Add(rule.place.line, 0, "read rules with Decode", "the rule %s has no condition", rule.ID)
		}
	}
	if circle := silenceCircle(rules); len(circle) > 0 {
		r.Name = seen[circle[0]].file
		r.Add(seen[circle[0]].line, 0, "delete one silent_if", "the rules silence each other: %s",
			strings.Join(circle, " → "))
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return &Set{vocabulary: newVocabulary(), rules: inOrder(rules)}, nil
}

// Rules returns all rules of the set.
func (s *Set) Rules() []Rule { return slices.Clone(s.rules) }

// inOrder sorts rules so that each comes after those in its SilentIf, and otherwise keeps the order.
func inOrder(rules []Rule) []Rule {
	byID := map[string]*Rule{}
	for i := range rules {
		byID[rules[i].ID] = &rules[i]
	}
	var sorted []Rule
	done := map[string]bool{}
	var visit func(r *Rule)
	visit = func(r *Rule) {
		if done[r.ID] {
			return
		}
		done[r.ID] = true
		for _, id := range r.SilentIf {
			if before, ok := byID[id]; ok {
				visit(before)
			}
		}
		sorted = append(sorted, *r)
	}
	for i := range rules {
		visit(&rules[i])
	}
	return sorted
}

// silenceCircle finds rules that silence each other in a circle; nil if there is none.
func silenceCircle(rules []Rule) []string {
	next := map[string][]string{}
	for _, r := range rules {
		next[r.ID] = append(next[r.ID], r.SilentIf...)
	}
	const visiting, finished = 1, 2
	state := map[string]int{}
	var way, circle []string
	var visit func(id string)
	visit = func(id string) {
		if circle != nil || state[id] == finished {
			return
		}
		way = append(way, id)
		if state[id] == visiting {
			circle = slices.Clone(way[slices.Index(way, id):])
			return
		}
		state[id] = visiting
		for _, n := range next[id] {
			visit(n)
			if circle != nil {
				return
			}
		}
		state[id] = finished
		way = way[:len(way)-1]
	}
	for _, r := range rules {
		visit(r.ID)
	}
	return circle
}
