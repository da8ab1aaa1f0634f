package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/diagnosis"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/machines"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/rule"
)

// doctorCommand diagnoses machines.
type doctorCommand struct {
	app          *app.App
	rules        string
	failOn       string
	all          bool
	unquantified bool
	risks        bool
	redact       bool
	keep         []string
	systems      []string
	timeout      time.Duration
	on           []string
	result       results.DocumentOutput
}

func newDoctorCommand(a *app.App) *cobra.Command {
	o := &doctorCommand{app: a}
	c := &cobra.Command{
		Use: "doctor [TARGET | RUN[:ROLE] | FILE | -]...",
		Long: `Checks some two hundred rules against the facts of this machine, of another one (ssh://host), of a saved run, or
of files (a sosreport, a folder with /proc and /sys, text that commands printed), in about a second: without load,
network traffic or changes, as any user. Each finding has the facts that were read, the effect that others measured
and where, what to change, the cost of the change, and how to measure the effect here; findings of low severity are
shortened without --all. Rules that could not be checked are listed with the missing facts. The findings of a profiled
run also use its profiles; of any run, findings that can't account for the times of its loads come last.

For several machines (given one by one, as the nodes of a cluster, or as a saved run of several targets; RUN:ROLE
is one of its targets), each finding is printed once with the machines that have it. For three or more, the report
also names facts in which a few machines differ from the others.`,
		Example: `  headroom doctor
  headroom doctor ssh://node7
  headroom doctor 'kube:pod?class=fast'
  headroom doctor 'kube:nodes?selector=node-role.kubernetes.io/worker='
  headroom doctor ssh://db1 ssh://db2 ssh://db3
  headroom doctor last
  headroom doctor ssh://node7 -o node7.html
  headroom doctor 4J0P:server
  headroom doctor sosreport-db1.tar.xz
  lspci -nnvv | headroom doctor -
  headroom doctor --keep cmdline:numa=off
  headroom doctor --for talos --fail-on high
  ssh node7 headroom facts --json | headroom doctor -`,
		Args: argumentCount(0, unlimited,
			"nothing, or what to diagnose: targets, runs, files of facts, - for standard input"),
		ValidArgsFunction: completion{a}.subjects(unlimited),
		Annotations:       namedArguments(argumentsAreTargets),
		RunE:              o.run,
	}
	f := flagsOf(a, c)
	f.StringArrayVar(&o.keep, "keep", nil, "a setting that must stay, like cmdline:numa=off: no finding suggests to "+
		"change it; may be repeated")
	f.StringArrayVar(&o.systems, "for", nil, "write remedies for this system: "+strings.Join(rule.Systems(), ", "))
	f.StringVar(&o.rules, "rules", "", "a file of your own rules, checked together with the built-in ones")
	f.StringVar(&o.failOn, "fail-on", "",
		"exit with 3 if there is a finding of this severity or worse: high, medium, low")
	f.BoolVar(&o.all, "all", false, "print findings of low severity in full, and list the rules that are clear or "+
		"don't apply")
	f.BoolVar(&o.unquantified, "unpriced", false, "check also rules whose effect is neither published nor computed")
	f.BoolVar(&o.risks, "risks", false, "report risks, too: mitigations or the IOMMU switched off")
	f.DurationVar(&o.timeout, "timeout", facts.SnapshotLimit,
		"time limit; facts that are not read by then are unknown")
	f.BoolVar(&o.redact, "redact", false, "hide serial numbers, addresses, host and user names")
	f.StringArrayVar(&o.on, "on", nil, "a target to diagnose, the same as an argument; may be repeated")
	f.document(&o.result)
	f.json()
	f.targets("on")
	f.values("for", rule.Systems)
	f.values("fail-on", rule.Severities)
	return c
}

func (o *doctorCommand) run(c *cobra.Command, args []string) error {
	if _, _, err := o.result.Formats(o.app.JSON); err != nil {
		return err
	}
	several, err := o.subjectsOn(args)
	if err != nil {
		return err
	}
	if len(several) > 0 {
		return o.diagnoseSeveral(c.Context(), several)
	}
	name, err := subjectOn(args, o.on)
	if err != nil {
		return err
	}
	return o.diagnose(c.Context(), name)
}

func (o *doctorCommand) diagnose(ctx context.Context, name string) error {
	set, err := o.selectedRules()
	if err != nil {
		return err
	}
	d, err := o.app.Subjects().Facts(ctx, name, o.timeout)
	if err != nil {
		return err
	}
	profiles, err := o.profileFacts(name)
	if err != nil {
		return err
	}
	measured, err := o.app.Subjects().MeasuredOf(name)
	if err != nil {
		return err
	}
	d.Facts = slices.Concat(d.Facts, profiles, measured)
	if o.redact {
		d = d.Redacted()
	}
	found, err := diagnosis.Of(set, d, o.asked())
	if err != nil {
		return err
	}
	of := func(shown report.Options) document.Document {
		reported := found
		if !shown.Serials && !o.redact { // names are hidden in facts rather than in texts, where some look like words
			reported.Report = diagnosis.Ask(set, d.Redacted(), o.asked())
		}
		return machines.Diagnosis(reported, o.shown())
	}
	if err := results.ShowResult(o.app, nil, results.ResultDocument{Published: found, Document: of}, o.result); err !=
		nil {
		return err
	}
	return gate(found.Report, o.failOn)
}

// profileFacts returns facts from a run's profiles; none without profiles.
func (o *doctorCommand) profileFacts(name string) ([]lab.Fact, error) {
	loads, costs, err := costsOf(o.app, name)
	return diagnosis.FactsOfProfiles(costs, loads), err
}

// selectedRules returns the rules, or an error if an option is invalid.
func (o *doctorCommand) selectedRules() (*rule.Set, error) {
	if o.failOn != "" && !slices.Contains(rule.Severities(), o.failOn) {
		return nil, app.Usage("--fail-on "+o.failOn+" is no severity",
			"severities are "+strings.Join(rule.Severities(), ", "))
	}
	for _, s := range o.systems {
		if !slices.Contains(rule.Systems(), s) {
			return nil, app.Usage("--for "+s+" is no system that remedies can be written for",
				"systems are "+strings.Join(rule.Systems(), ", "))
		}
	}
	for _, k := range o.keep {
		if err := rule.CheckKeep(k); err != nil {
			return nil, err
		}
	}
	return results.LoadRules(o.rules)
}

// asked returns the options of the rules.
func (o *doctorCommand) asked() rule.Options {
	return rule.Options{Keep: o.keep, Systems: o.systems, Unquantified: o.unquantified, Risks: o.risks, All: o.all}
}

// shown returns the options of the report.
func (o *doctorCommand) shown() machines.DiagnosisOptions {
	return machines.DiagnosisOptions{Full: o.all || len(o.systems) > 0, All: o.all}
}

// gate returns an error if a finding has the severity failOn or a worse one.
func gate(r rule.Report, failOn string) error {
	var found []string
	for _, f := range r.Findings {
		if f.Verdict == rule.Found && failsGate(f.Severity, failOn) {
			found = append(found, f.Rule)
		}
	}
	return gateError(found, failOn)
}

// failsGate reports whether a severity is failOn or worse. Without --fail-on none is.
func failsGate(severity, failOn string) bool {
	return slices.Index(rule.Severities(), severity) <= slices.Index(rule.Severities(), failOn)
}

// gateError names the findings; nil if there are none.
func gateError(found []string, failOn string) error {
	if len(found) == 0 {
		return nil
	}
	return &lab.Error{Kind: lab.Gate, What: fmt.Sprintf("%s of severity %s or worse: %s",
		prose.Count(len(found), "finding"), failOn, strings.Join(found, ", "))}
}
