package interference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// answer describes in words which loads lose to which others, and whether that is one ceiling.
func answer(d *Document) Answer {
	if len(d.Combinations) == 0 {
		return Answer{Verdict: Undecided, Text: "one load by itself has nothing to lose to"}
	}
	all := d.Combinations[len(d.Combinations)-1]
	if all.Sum.Value == nil || all.Alone.Value == nil {
		return Answer{Verdict: Undecided, Text: "no pass has all of the loads alone and together, so nothing " +
			"is known of what they lose"}
	}
	for _, t := range d.Combinations {
		if t.Whole.Verdict == Loses {
			return Answer{Verdict: Loses, Text: lossText(d, all)}
		}
	}
	// What all do together can be undecided where some load loses for sure, and the other way round.
	if losers := losses(d); len(losers) > 0 {
		return Answer{Verdict: Loses, Text: strings.Join(losers, "; ") + "; what they do together is " +
			share(all.Whole) + " of the sum of each alone"}
	}
	if open := openText(d); open != "" {
		return Answer{Verdict: Undecided, Text: "no load surely loses, but some are undecided: " + open}
	}
	return Answer{Verdict: Keeps,
		Text: fmt.Sprintf("no load loses more than %g%% to the others: %s together do %s, %s of the sum of each alone "+
			"(%s)",
			100*d.Margin, names(d, all.Groups), amount(all.Sum), share(all.Whole), amount(all.Alone))}
}

// lossText returns text about which loads lose how much, and to which ceiling.
func lossText(d *Document, all CombinationResult) string {
	text := fmt.Sprintf("%s together do %s, %s of the sum of each alone (%s)", names(d, all.Groups), amount(all.Sum),
		share(all.Whole), amount(all.Alone))
	for _, s := range d.Shared {
		who := names(d, s.Groups)
		if len(s.Groups) == len(d.Groups) {
			who = "they"
		}
		text += "; " + sharedText(d, s, who)
	}
	if free := unaffected(d); len(free) > 0 && len(d.Shared) > 0 {
		text += "; " + names(d, free) + " " + verb(free, "has", "have") + " no part in that"
	}
	return text
}

func sharedText(d *Document, s SharedCeiling, who string) string {
	switch {
	case len(s.Groups) == 2 && s.One == Agrees:
		return fmt.Sprintf("%s share a ceiling of %s", who, amount(s.Rate))
	case s.One == Agrees:
		return fmt.Sprintf("%s share one ceiling of %s: whichever of them are loaded, they do as much together, or "+
			"all that they can alone", who, amount(s.Rate))
	case s.One == Disagrees:
		return fmt.Sprintf("%s take from each other, but by more than one ceiling: some of them do not reach the "+
			"%s that all do together, or exceed it", who, amount(s.Rate))
	}
	return fmt.Sprintf("%s take from each other; whether it is one ceiling of %s is undecided after so few passes",
		who, amount(s.Rate))
}

// losses are the groups that lose, and beside whom, where the sum does not show it.
func losses(d *Document) []string {
	var texts []string
	for _, t := range d.Combinations {
		for i, k := range t.Kept {
			if k.Verdict == Loses {
				texts = append(texts, keptText(d, t, i))
			}
		}
	}
	return texts
}

// keptText reports the share that one of a combination's groups keeps.
func keptText(d *Document, t CombinationResult, i int) string {
	others := slices.Delete(slices.Clone(t.Groups), i, i+1)
	return fmt.Sprintf("%s keeps %s of what it does alone beside %s", d.Groups[t.Groups[i]].Name, share(t.Kept[i]),
		names(d, others))
}

// openText reports an undecided rate, and how many passes decide it: of most groups together, or else of one of them.
// It is empty if all is decided.
func openText(d *Document) string {
	told := func(text string, k Kept, n int) string {
		e := stat.Estimate{Bounds: k.Bounds}
		if k.Value != nil {
			e.Value = *k.Value
		}
		return text + prose.PassesToDecide(e.PassesToDecide(n, d.Margin, stat.FamilyWise(d.Alpha, d.Claims)))
	}
	for _, t := range slices.Backward(d.Combinations) {
		if t.Whole.Verdict == Undecided {
			return told(fmt.Sprintf("%s together do %s, %s of the sum of each alone", names(d, t.Groups), amount(t.Sum),
				share(t.Whole)), t.Whole, min(t.Sum.N, t.Alone.N))
		}
	}
	for _, t := range slices.Backward(d.Combinations) {
		for i, k := range t.Kept {
			if k.Verdict == Undecided {
				return told(keptText(d, t, i), k, min(t.Sum.N, d.Groups[t.Groups[i]].Alone.N))
			}
		}
	}
	return ""
}

// unaffected returns the groups that share no ceiling with others.
func unaffected(d *Document) []int {
	var list []int
	for g := range d.Groups {
		in := false
		for _, s := range d.Shared {
			for _, member := range s.Groups {
				in = in || member == g
			}
		}
		if !in {
			list = append(list, g)
		}
	}
	return list
}

func names(d *Document, groups []int) string {
	var list []string
	for _, g := range groups {
		list = append(list, d.Groups[g].Name)
	}
	return prose.List(list)
}

func verb(groups []int, one, several string) string {
	if len(groups) == 1 {
		return one
	}
	return several
}

func amount(r Rate) string {
	if r.Value == nil {
		return "nothing that was measured"
	}
	return unit.Bitrate(*r.Value)
}

// share is what was kept with its interval, where that says anything: "61% [58%, 64%]".
func share(k Kept) string {
	if k.Value == nil {
		return "an unknown share"
	}
	if !k.Informative() {
		return unit.Percent(*k.Value)
	}
	return fmt.Sprintf("%s [%s, %s]", unit.Percent(*k.Value), unit.Percent(*k.Lo), unit.Percent(*k.Hi))
}
