package suite

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/yamlfile"
)

// MaxPairs is how many pairs of clients and servers can be measured at the same time.
const MaxPairs = 256

// Experiment is a file that describes what to vary, over which suite, and how long. A zero value leaves the choice to
// the command line or to the command's default.
type Experiment struct {
	// Kind is the verb: sweep or ablate.
	Kind string
	// Suite by name, or the path of a file.
	Suite string
	// Place under test.
	Place string
	// On is the target of the place, or the ends of a network as after --on. Addresses are the addresses of the
	// network's server, or of each of its servers.
	On        []string
	Addresses []string
	// NetworkPairs is how many pairs of a network measure at the same time.
	NetworkPairs int
	// Factors of a sweep as typed after --factor, settings of an ablation as typed after --setting.
	Factors []string
	// Baseline level of a sweep.
	Baseline string
	// Reference is a place that the levels of a sweep are compared with, and ReferenceOn its target.
	Reference, ReferenceOn string
	// Keep are settings that must not change.
	Keep []string
	// Set are fio parameters for every job: "runtime=5s".
	Set []string
	// Blocks at most; Repetitions of each cell in a visit.
	Blocks, Repetitions int
	Budget              time.Duration
	// Share of the best level's result that suffices, Margin within which two levels count as the same, Alpha the risk
	// of any wrong claim; as shares of 1.
	Share, Margin, Alpha float64
	// Limit is the latency that a load must not exceed, as after --limit.
	Limit string
	// Commands of exec: factors, by their names.
	Commands map[string]lab.SettingCommands
}

// IsExperiment reports whether a YAML file is an experiment, not a suite: it has the key that only experiments have.
func IsExperiment(data []byte) bool {
	var top map[string]yaml.Node
	if yaml.Unmarshal(data, &top) != nil {
		return false
	}
	_, ok := top["experiment"]
	return ok
}

// DecodeExperiment reads an experiment file. check describes a fault of a factor or setting, and how to correct it. The
// error holds all Problems at once.
//
//	version: 1
//	experiment: sweep
//	suite: quick
//	factors: ["queue:scheduler=none,mq-deadline"]
func DecodeExperiment(name string, data []byte, check func(text string) (complaint, hint string)) (Experiment, error) {
	r := newReporter(name)
	root := r.Parse(data)
	if root == nil {
		return Experiment{}, r.Err()
	}
	return r.experiment(root, check), r.Err()
}

func (r *reporter) experiment(root *yaml.Node, check func(string) (string, string)) Experiment {
	var e Experiment
	entries := r.Mapping(root, "an experiment", []string{"version", "experiment", "suite", "place", "on", "address",
		"net_pairs", "factors", "settings", "baseline", "reference", "reference_on", "keep",
		"set", "blocks", "repetitions", "budget", "share", "margin", "alpha", "limit", "commands"})
	if !r.Version(root, entries, formatVersion) {
		return e
	}
	var factors, settings, limit *yaml.Node
	for _, en := range entries {
		switch en.Key {
		case "experiment":
			e.Kind = r.OneOf(en.Value, en.Key, "sweep", "ablate")
		case "suite":
			e.Suite, _ = r.Scalar(en.Value, en.Key)
		case "place":
			e.Place, _ = r.Scalar(en.Value, en.Key)
		case "on":
			e.On = r.oneOrSeveral(en.Value, en.Key)
		case "address":
			e.Addresses = r.oneOrSeveral(en.Value, en.Key)
		case "net_pairs":
			e.NetworkPairs = r.Count(en.Value, en.Key, 1, MaxPairs)
		case "factors":
			factors, e.Factors = en.Value, r.factors(en.Value, check)
		case "settings":
			settings, e.Factors = en.Value, r.factors(en.Value, check)
		case "baseline":
			e.Baseline, _ = r.Scalar(en.Value, en.Key)
		case "reference":
			e.Reference, _ = r.Scalar(en.Value, en.Key)
		case "reference_on":
			e.ReferenceOn, _ = r.Scalar(en.Value, en.Key)
		case "keep":
			e.Keep = r.words(en.Value, en.Key)
		case "set":
			e.Set = r.words(en.Value, en.Key)
		case "blocks":
			e.Blocks = r.Count(en.Value, en.Key, 1, maxRepetitions)
		case "repetitions":
			e.Repetitions = r.Count(en.Value, en.Key, 1, maxRepetitions)
		case "budget":
			e.Budget = r.Duration(en.Value, en.Key)
		case "share":
			e.Share = r.share(en.Value, en.Key)
		case "margin":
			e.Margin = r.share(en.Value, en.Key)
		case "alpha":
			e.Alpha = r.share(en.Value, en.Key)
		case "limit":
			limit, e.Limit = en.Value, r.limit(en.Value, en.Key)
		case "commands":
			e.Commands = r.settingCommands(en.Value)
		}
	}
	switch {
	case e.Kind == "sweep" && settings != nil:
		r.At(settings, "write factors: with the levels of each", "a sweep has factors, not settings")
	case e.Kind == "ablate" && factors != nil:
		r.At(factors, "write settings: with one level each", "an ablation has settings, not factors")
	case e.Kind == "ablate" && limit != nil:
		r.At(limit, "take it out, or sweep a load", "an ablation has no limit of latency")
	case e.Kind != "" && factors == nil && settings == nil:
		r.At(root, "add factors: [\"queue:scheduler=none,mq-deadline\"], or settings: of an ablation",
			"the experiment varies nothing")
	}
	return e
}

// oneOrSeveral reads a word, or a list of words.
func (r *reporter) oneOrSeveral(n *yaml.Node, what string) []string {
	if n.Kind == yaml.SequenceNode {
		return r.words(n, what)
	}
	if word, ok := r.Scalar(n, what); ok {
		return []string{word}
	}
	return nil
}

func (r *reporter) factors(n *yaml.Node, check func(string) (string, string)) []string {
	var list []string
	for _, e := range r.Sequence(n, "what is varied") {
		text, ok := r.Scalar(e, "a factor")
		if !ok {
			continue
		}
		if complaint, hint := check(text); complaint != "" {
			r.At(e, hint, "%s", complaint)
			continue
		}
		list = append(list, text)
	}
	return list
}

func (r *reporter) words(n *yaml.Node, what string) []string {
	var list []string
	for _, e := range r.Sequence(n, what) {
		if text, ok := r.Scalar(e, "an element of "+what); ok {
			list = append(list, text)
		}
	}
	return list
}

// share reads a fraction, as a percentage or as a number below one.
func (r *reporter) share(n *yaml.Node, what string) float64 {
	v, ok := r.Scalar(n, what)
	if !ok {
		return 0
	}
	f, err := unit.ParseShare(v)
	if err != nil {
		r.At(n, "write a percentage above 0% and below 100%, like 90%", "%s can't be %s", what, yamlfile.Quoted(v))
		return 0
	}
	return f
}

func (r *reporter) limit(n *yaml.Node, what string) string {
	v, ok := r.Scalar(n, what)
	if !ok {
		return ""
	}
	if _, _, err := ParseLimit(v); err != nil {
		r.At(n, "", "%s: %s", what, err)
		return ""
	}
	return v
}

func (r *reporter) settingCommands(n *yaml.Node) map[string]lab.SettingCommands {
	all := map[string]lab.SettingCommands{}
	for _, e := range r.Mapping(n, "commands", nil) {
		var f lab.SettingCommands
		for _, c := range r.Mapping(e.Value, e.Key, []string{"apply", "verify", "undo"}) {
			argv := r.words(c.Value, c.Key)
			switch c.Key {
			case "apply":
				f.Apply = argv
			case "verify":
				f.Verify = argv
			case "undo":
				f.Undo = argv
			}
		}
		var missing []string
		for _, c := range []struct {
			name string
			argv []string
		}{{"apply", f.Apply}, {"verify", f.Verify}, {"undo", f.Undo}} {
			if len(c.argv) == 0 {
				missing = append(missing, c.name)
			}
		}
		if len(missing) > 0 {
			r.At(e.Where, "each is a list: apply: [tuned-adm, profile, \"{level}\"]", "exec:%s lacks %s", e.Key,
				strings.Join(missing, " and "))
		}
		all[e.Key] = f
	}
	return all
}
