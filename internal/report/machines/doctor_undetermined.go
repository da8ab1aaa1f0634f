package machines

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/diagnosis"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/rule"
)

// undetermined is a set of rules without an answer for one reason, and the machines where they have none.
type undetermined struct {
	why       string
	rules, on []string
}

// notCollected is the reason for facts that a snapshot does not have at all: one line is enough for all of them.
const notCollected = "not collected"

// undeterminedIn groups rules without an answer by the fact that is missing, because one unreadable file leaves several
// rules undetermined. names are the machines' names; a nil report means that a machine could not be read.
func undeterminedIn(names []string, reports []*rule.Report) []undetermined {
	var rows []undetermined
	for i, r := range reports {
		if r == nil {
			continue
		}
		for _, f := range r.Findings {
			if f.Verdict != rule.Unknown {
				continue
			}
			why := whyUnknown(f)
			at := slices.IndexFunc(rows, func(u undetermined) bool { return u.why == why })
			if at < 0 {
				at, rows = len(rows), append(rows, undetermined{why: why})
			}
			u := &rows[at]
			if !slices.Contains(u.rules, f.Rule) {
				u.rules = append(u.rules, f.Rule)
			}
			if n := len(u.on); n == 0 || u.on[n-1] != names[i] {
				u.on = append(u.on, names[i])
			}
		}
	}
	return rows
}

func whyUnknown(f rule.Finding) string {
	switch {
	case len(f.Missing) == 0:
		return "unknown"
	case f.Missing[0].Reason == notCollected:
		return notCollected
	}
	return f.Missing[0].Fact + ": " + f.Missing[0].Reason
}

// undeterminedBlocks lists what is undetermined. of are all machines; if there are several, it names those concerned.
func undeterminedBlocks(rows []undetermined, of []string, o DiagnosisOptions) []document.Block {
	const most = 8 // rules that need one fact; more are only counted
	if len(rows) == 0 {
		return nil
	}
	var list []document.Entry
	for _, u := range rows {
		all := strings.Join(u.rules, ", ")
		rules := all
		if more := len(u.rules) - most; more > 1 && !o.All {
			rules = strings.Join(u.rules[:most], ", ") + fmt.Sprintf(" and %d more (--all)", more)
		}
		where := ""
		if len(u.on) < len(of) {
			where = diagnosis.On(u.on, of)
		}
		title := rules + ": " + u.why
		if where != "" {
			title += " (" + where + ")"
		}
		list = append(list, document.Entry{Mark: "?", Name: all, Title: title, Values: []document.Value{
			report.TextValue("rules", all), report.TextValue("why", u.why), report.TextValue("on", where)}})
	}
	const title = "Unknown"
	return []document.Block{document.Heading{Text: title}, document.Entries{Name: title, List: list}}
}
