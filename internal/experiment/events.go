package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/served"
	"github.com/headroom/headroom/internal/outage"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/recovery"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/runner/engine"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/unit"
)

// EventOptions are the flags of events during a load.
type EventOptions struct {
	Events, Undo, On []string
	Length           string
	NoUndo           bool
	ExpectedShare    string
}

// EventFlags are their names.
func EventFlags() []string {
	return []string{"event", "undo", "no-undo", "event-on", "event-for", "event-left"}
}

// undoEvents is what stands in the place of a command to undo all events before it.
const undoEvents = "undo"

// Parse reads the events. where finds the target of an event by what --event-on says, "" for nothing.
func (o EventOptions) Parse(where func(on string) (string, error)) ([]lab.Event, error) {
	if len(o.Events) == 0 {
		if len(o.Undo)+len(o.On) > 0 || o.ExpectedShare != "" || o.NoUndo {
			return nil, app.Usage("there is no event",
				"name one: --event '30s: ip link set eth1 down' --undo 'ip link set eth1 up'")
		}
		return nil, nil
	}
	length, err := unit.ParseDuration(o.Length)
	if err != nil || length <= 0 {
		return nil, app.Usage("--event-for "+o.Length+" is no length of time", "write something like 20s")
	}
	left := 0.0
	if o.ExpectedShare != "" {
		if left, err = unit.ParseShare(o.ExpectedShare); err != nil {
			return nil, app.Usage("--event-left: " + err.Error())
		}
	}
	var all []lab.Event
	undo := o.Undo
	for _, text := range o.Events {
		at, what, found := strings.Cut(text, ":")
		what = strings.TrimSpace(what)
		after, err := unit.ParseDuration(at)
		if !found || err != nil || what == "" {
			return nil, app.Usage(fmt.Sprintf("--event %q does not say when and what", text),
				"write the time after the start of the load, and the command: --event '30s: ip link set eth1 down'")
		}
		if what == undoEvents {
			if err := undoEventsAt(all, after.Seconds(), text); err != nil {
				return nil, err
			}
			continue
		}
		u := lab.Event{At: after.Seconds(), For: length.Seconds(), ExpectedShare: left}
		if u.Target, err = o.target(len(all), where); err != nil {
			return nil, err
		}
		if u.Factor, u.Level, err = factorOf(what); err != nil {
			return nil, err
		}
		if u.Named, err = namedEvent(what); err != nil {
			return nil, err
		}
		if len(u.Named) > 0 {
			if k, _ := FindEvent(u.Named[0]); !k.Undone {
				u.For = 0
			}
		} else if u.Factor == "" {
			if u.Command, err = WordsOf("--event", what); err != nil {
				return nil, err
			}
			switch {
			case len(undo) > 0:
				if u.Undo, err = WordsOf("--undo", undo[0]); err != nil {
					return nil, err
				}
				undo = undo[1:]
				if len(u.Undo) == 0 {
					return nil, app.Usage("--undo is empty", "name the command that undoes "+what)
				}
			case !o.NoUndo:
				return nil, &lab.Error{Kind: lab.Refused, What: fmt.Sprintf("no command is given that undoes %q", what),
					Hints: []string{"--undo 'COMMAND' undoes it, also after a crash",
						"--no-undo says that it ends by itself, as a restart does"}}
			}
			if len(u.Undo) == 0 {
				u.For = 0
			}
		}
		all = append(all, u)
	}
	if len(undo) > 0 {
		return nil, app.Usage(fmt.Sprintf("--undo %q belongs to no event", undo[0]),
			"there is one for each event that is a command, in their order")
	}
	if len(o.On) > 1 && len(o.On) != len(all) {
		return nil, app.Usage(fmt.Sprintf("--event-on is there %d times for %s", len(o.On),
			prose.Count(len(all), "event")),
			"name one for all, or one for each in their order")
	}
	slices.SortStableFunc(all, func(a, b lab.Event) int { return int(math.Copysign(1, a.At-b.At)) })
	return all, nil
}

// namedEvent are the words of an event that is known by its name; none where a text is something else.
func namedEvent(what string) ([]string, error) {
	words := strings.Fields(what)
	k, known := FindEvent(words[0])
	if !known {
		return nil, nil
	}
	if err := k.Check(words); err != nil {
		return nil, app.Usage("--event "+what+": "+err.Error(), "--event '30s: "+k.Name+" "+k.Arguments+"'")
	}
	return words, nil
}

// EventNames are those that a shell completes, with what they do.
func EventNames() []string {
	var all []string
	for _, k := range EventKinds() {
		all = append(all, "20s: "+k.Name+" "+k.Arguments+"\t"+k.Does)
	}
	return all
}

// undoEventsAt undoes all events so far at a moment of the load.
func undoEventsAt(all []lab.Event, at float64, text string) error {
	for i, u := range all {
		if u.HasUndo() && at > u.At && (u.For == 0 || u.At+u.For > at || i == len(all)-1) {
			all[i].For = at - u.At
		}
	}
	if n := len(all); n == 0 || at <= all[n-1].At {
		return app.Usage(fmt.Sprintf("--event %q undoes nothing", text), "what it undoes comes before it")
	}
	return nil
}

// target of an event by its number.
func (o EventOptions) target(i int, where func(string) (string, error)) (string, error) {
	switch {
	case len(o.On) == 0:
		return where("")
	case len(o.On) == 1:
		return where(o.On[0])
	case i < len(o.On):
		return where(o.On[i])
	}
	return where(o.On[len(o.On)-1]) // the number is found to be wrong later
}

// factorOf are a factor and its level; none where a text is a command.
func factorOf(what string) (name, level string, err error) {
	if strings.ContainsAny(what, " \t") || !strings.Contains(what, "=") || !strings.Contains(what, ":") ||
		strings.Contains(what, "/") && strings.IndexByte(what, '/') < strings.IndexByte(what, ':') {
		return "", "", nil
	}
	c, err := factor.Parse(what)
	switch {
	case err != nil:
		return "", "", err
	case len(c.Levels) != 1 || c.Levels[0] == scheme.Found:
		return "", "", app.Usage("an event sets one level: "+what, "for example: --event '30s: sysctl:vm.swappiness=0'")
	case c.Scheme.Class != scheme.Live:
		return "", "", app.Usage(c.Factor()+" can't be set while a load runs",
			"headroom factors lists what each factor needs")
	}
	return c.Factor(), c.Levels[0], nil
}

// WordsOf returns the words of a command on the command line. It refuses what only a shell understands, since no shell
// reads it.
func WordsOf(flag, command string) ([]string, error) {
	if strings.ContainsAny(command, "\"'`$\\|&;<>") {
		return nil, app.Usage(flag+" takes words, and no shell reads it",
			"put it into a script: "+flag+" 'sh "+strings.TrimPrefix(flag, "--")+".sh'")
	}
	return strings.Fields(command), nil
}

// BuildWords are the words of a build command.
func BuildWords(build string) ([]string, error) {
	if strings.TrimSpace(build) == "" {
		return nil, nil
	}
	return WordsOf("--build", build)
}

// PlanEvents reads the events that the command line names, on targets that where tells.
func (m *Measurement) PlanEvents(where func(string) (string, error)) error {
	events, err := m.Options.Events.Parse(where)
	if err != nil {
		return err
	}
	m.Run.Events = events
	return CheckEvents(events, m.Run.Cells)
}

// CheckEvents refuses events that a load of the cells is too short for.
func CheckEvents(events []lab.Event, cells []lab.Cell) error {
	if len(events) == 0 {
		return nil
	}
	last := events[len(events)-1].At
	for _, c := range cells {
		if c.Command != nil || c.Engine == lab.EnginePerftest {
			return app.Usage("an event needs a load with a rate over time, and "+c.Job+" has none",
				"take a suite of loads of fio, iperf3 or sockperf")
		}
		took := (expectedTime(c) - engine.Ramp(c)).Seconds()
		if took == 0 {
			return app.Usage("it is not known how long "+c.Job+" runs, so that no event can be planned",
				"give it a time: --set runtime=60s --set time_based=1")
		}
		if last+outage.MinBefore > took || events[0].At < outage.MinBefore {
			option := "runtime"
			if _, network := served.Of(c.Engine); network {
				option = "time"
			}
			return app.Usage(
				fmt.Sprintf("%s counts for %s, and an event needs %.0f s before it to know what is usual, "+
					"and as many after it", c.Job, unit.Duration(unit.SecondsToDuration(took)), outage.MinBefore),
				fmt.Sprintf("make it longer: --set %s=%.0fs", option, math.Ceil(last)+30))
		}
	}
	return nil
}

// EventTarget is the target that --event-on names: the role of an end, or a target. Where it says nothing, it is the
// end of the role otherwise; of an empty one it must say something.
func EventTarget(kinds app.TargetKinds, on, otherwise string, ends ...lab.RunTarget) (string, error) {
	var hints []string
	for _, e := range ends {
		if e.Role == cmp.Or(on, otherwise) {
			return e.Target, nil
		}
		hints = append(hints, "--event-on "+e.Role)
	}
	if kinds.Has(on) {
		return on, nil
	}
	what := "--event-on " + on + " is no target"
	if on == "" {
		what = "--event-on is required: it names the target of the events"
	}
	return "", app.Usage(what, append(hints[:min(len(hints), app.MaxNamed)],
		"--event-on TARGET, which is "+kinds.Forms())...)
}

// PlanEventsOfAll reads the events that the command line names, which happen during the loads of all measurements.
func PlanEventsOfAll(all []*Measurement, where func(on string) (string, error)) error {
	err := all[0].PlanEvents(where)
	for _, m := range all[1:] {
		m.Run.Events = slices.Clone(all[0].Run.Events)
	}
	return err
}

// PrintEvents prints events during the loads of a target.
func PrintEvents(p *app.App, events []lab.Event, target string) {
	for _, u := range events {
		text := fmt.Sprintf("event: %s into each load, %s", unit.Duration(unit.SecondsToDuration(u.At)), u.Text())
		if u.Target != target {
			text += " on " + u.Target
		}
		switch {
		case u.HasUndo() && u.For > 0:
			text += ", undone " + unit.Duration(unit.SecondsToDuration(u.For)) + " later"
		case u.HasUndo():
			text += ", undone at the end"
		}
		p.Print("  ", text)
	}
}

// OpenEvents opens the targets of the run's events, but for those that are open, and their journals. What it returns
// gives them back, with what could not be undone.
func (m *Measurement) OpenEvents(ctx context.Context, open ...host.Target) (func() error, error) {
	o := openedEvents{app: m.App, store: m.Store, run: m.Run.ID, underTest: m.Target, place: m.Place(),
		known:    map[string]host.Target{m.Target.Name(): m.Target},
		journals: map[string]*journal.Journal{}}
	if m.Server != nil {
		o.known[m.Server.Target.Name()] = m.Server.Target
	}
	for _, t := range open {
		o.known[t.Name()] = t
	}
	for i, u := range m.Run.Events {
		ev, err := o.open(ctx, u, i+1)
		if err != nil {
			return nil, errors.Join(err, o.release(ctx))
		}
		m.Run.Events[i] = ev.Event
		m.Events = append(m.Events, ev)
	}
	return func() error { return o.release(ctx) }, nil
}

// openedEvents are the targets and journals of a run's events.
type openedEvents struct {
	app   *app.App
	store *store.Store
	run   string
	// underTest is the target that is measured, and place what is measured there.
	underTest host.Target
	place     lab.Place
	// known are the open targets, by name; opened are the targets that were opened only for events.
	known    map[string]host.Target
	opened   []host.Target
	journals map[string]*journal.Journal // by target
}

// release undoes what is not undone yet, and gives back the targets.
func (o *openedEvents) release(ctx context.Context) error {
	var all []*journal.Journal
	for _, name := range slices.Sorted(maps.Keys(o.journals)) {
		all = append(all, o.journals[name])
	}
	err := app.PutBack(ctx, all...)
	for _, t := range o.opened {
		o.app.CloseTarget(t)
	}
	return err
}

// open opens the event of a number.
func (o *openedEvents) open(ctx context.Context, u lab.Event, number int) (runner.ScheduledEvent, error) {
	ev := runner.ScheduledEvent{Event: u, Target: o.known[u.Target]}
	var err error
	if ev.Target == nil {
		if err := recovery.RecoverLeftovers(ctx, o.app, o.store, nil, u.Target); err != nil {
			return ev, err
		}
		if ev.Target, err = o.app.OpenTarget(ctx, u.Target); err != nil {
			return ev, err
		}
		o.known[u.Target], o.opened = ev.Target, append(o.opened, ev.Target)
	}
	if len(u.Named) > 0 {
		if ev.Event, err = o.planNamed(ctx, u, ev.Target); err != nil {
			return ev, err
		}
	}
	if !u.HasUndo() {
		return ev, nil
	}
	if o.journals[u.Target] == nil {
		j, err := o.app.Journal(o.store, fmt.Sprintf("%s%s%d", o.run, recovery.EventJournal, number), ev.Target)
		if err != nil {
			return ev, err
		}
		o.journals[u.Target] = j
	}
	ev.Journal = o.journals[u.Target]
	if u.Factor != "" {
		ev.Setting, err = factor.Bind(ctx, scheme.Scope{Target: ev.Target, Place: o.place}, u.Factor)
		if err == nil {
			err = ev.Journal.Lock(ctx, ev.Setting)
		}
	}
	return ev, err
}

// planNamed returns the commands of an event that is known by its name, for the present state of its target.
func (o *openedEvents) planNamed(ctx context.Context, u lab.Event, t host.Target) (lab.Event, error) {
	w := EventScope{Target: t}
	if t.Name() == o.underTest.Name() {
		w.Place = o.place
	}
	if vm, ok := o.underTest.(host.Migratable); ok {
		w.Machine, w.Namespace = vm.MachineName()
	}
	k, known := FindEvent(u.Named[0])
	if !known {
		return u, app.Usage("no event has the name " + u.Named[0])
	}
	p, err := k.Plan(ctx, w, u.Named)
	u.Command, u.Undo = p.Command, p.Undo
	if u.ExpectedShare == 0 {
		u.ExpectedShare = p.ExpectedShare
	}
	return u, err
}

// underTest is the word for the machine that is measured, if headroom has created it.
const underTest = "under-test"

// migrateScript creates a migration, from an object and a namespace, and waits for its end.
const migrateScript = `migration=$(printf '%s' "$1" | kubectl create -n "$2" -o name -f -) || exit 1
while :; do
	phase=$(kubectl get -n "$2" "$migration" -o 'jsonpath={.status.phase}') || exit 1
	case $phase in
	Succeeded) exit 0 ;;
	Failed)
		kubectl get -n "$2" "$migration" -o 'jsonpath={.status.migrationState.failureReason}' >&2
		exit 1
		;;
	esac
	sleep 1
done`

// vmMigrate makes KubeVirt move a machine to another node, like virtctl migrate. Source: KubeVirt's API reference,
// VirtualMachineInstanceMigration.
func vmMigrate(ctx context.Context, w EventScope, words []string) (EventPlan, error) {
	namespace, name, ok := strings.Cut(words[0], "/")
	if words[0] == underTest {
		namespace, name, ok = w.Namespace, w.Machine, w.Machine != ""
	}
	if !ok || namespace == "" || name == "" {
		return EventPlan{}, refused("kubectl get vmi -A lists the machines: vm-migrate NAMESPACE/NAME",
			"%q names no machine of KubeVirt; under-test is one that is measured as kube:vm?…", words[0])
	}
	const condition = `{.status.phase} {.status.conditions[?(@.type=="LiveMigratable")].status} {.status.conditions[?(@.type=="LiveMigratable")].message}`
	text, there, err := output(ctx, w.Target, "kubectl", "get", "vmi", "-n", namespace, name, "-o",
		"jsonpath="+condition)
	if err != nil {
		return EventPlan{}, err
	}
	phase, rest, _ := strings.Cut(text, " ")
	can, why, _ := strings.Cut(rest, " ")
	switch {
	case !there || phase != "Running":
		return EventPlan{}, refused(
			"--event-on local, where kubectl reaches the cluster; kubectl get vmi -n "+namespace+" lists its machines",
			"no machine %s of namespace %s runs that could be moved", name, namespace)
	case can == "False":
		return EventPlan{}, refused("a machine is moved whose disks can be seen by two nodes (ReadWriteMany), or are in "+
			"no volume", "KubeVirt can't move the machine %s: %s", name, strings.TrimSpace(why))
	}
	object, err := json.Marshal(map[string]any{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
		"metadata": map[string]any{"generateName": "headroom-",
			"labels": map[string]string{"app.kubernetes.io/managed-by": "headroom"}},
		"spec": map[string]string{"vmiName": name},
	})
	if err != nil {
		return EventPlan{}, &lab.Error{What: fmt.Sprintf("can't write the migration of %s", name), Err: err}
	}
	return EventPlan{Command: []string{"sh", "-c", migrateScript, "headroom", string(object), namespace}}, nil
}
