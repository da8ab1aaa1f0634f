package report

import (
	"fmt"
	"math"

	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// AccountText returns a sentence about the part that accounts for most of a loss, or of a gain, without its full stop.
//
//	everything takes 2.36 times as long, which accounts for 98% [91, 105] of the 280 µs that an I/O takes longer;
//	page-table isolation (off → on) differs and could be why
//	nothing clearly accounts for the 280 µs that an I/O takes longer; the largest part is waiting, 95% [-38, 228]
func AccountText(a *difference.Account) string {
	most, clearly := a.Most()
	loss := " the " + unit.Latency(math.Abs(a.Loss.Value)/1e9) + " that an I/O takes " + longer(a.Loss.Value)
	if !clearly {
		return "nothing clearly accounts for" + loss + "; the largest part is " + partName(most) + ", " +
			ShareText(most.Share)
	}
	text := PartText(most)
	if most.Reason == difference.Uniform {
		text += ", which"
	}
	text += " accounts for " + ShareText(most.Share) + " of" + loss
	if causes := CausesText(most.Causes); causes != "" {
		text += "; " + causes
	}
	return text
}

func longer(loss float64) string {
	if loss < 0 {
		return "less"
	}
	return "longer"
}

// PartText describes the reason of a part.
func PartText(p difference.Part) string {
	switch p.Reason {
	case difference.Uniform:
		return fmt.Sprintf("everything takes %.2f times as long", p.Factor)
	case difference.InLayer:
		return p.Title
	case difference.Waiting:
		return "waiting"
	case difference.OtherWork:
		return "other work of the machine"
	}
	return "what no layer clearly differs in"
}

// partName returns the text of a part as the object of a sentence.
func partName(p difference.Part) string {
	if p.Reason == difference.Uniform {
		return "that " + PartText(p)
	}
	return PartText(p)
}

// ShareText returns a share of a loss with its interval: 98% [91, 105].
func ShareText(share difference.Range) string {
	return percent(share.Value) + "% [" + percent(share.Low) + ", " + percent(share.High) + "]"
}

// percent returns a share in whole percent, and 0 instead of -0.
func percent(share float64) string { return fmt.Sprintf("%.0f", math.Round(100*share)+0) }

// CausesText names the facts that can slow down everything. It is empty without any.
func CausesText(causes []difference.FactChange) string {
	if len(causes) == 0 {
		return ""
	}
	const most = 3
	var names []string
	for _, c := range causes[:min(most, len(causes))] {
		names = append(names, fmt.Sprintf("%s (%s → %s)", c.Title, c.A, c.B))
	}
	if more := len(causes) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(causes) == 1 {
		return names[0] + " differs and could be why"
	}
	return prose.List(names) + " differ and could be why"
}
