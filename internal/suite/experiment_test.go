package suite

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// noColon is a minimal check for these tests; real factors are checked by their own package.
func noColon(text string) (complaint, hint string) {
	if !strings.Contains(text, ":") {
		return text + " has no colon", "write SCHEME:NAME=LEVEL"
	}
	return "", ""
}

func TestBadExperiments(t *testing.T) {
	for name, data := range fixtures(t, "testdata/badexperiments/*.yaml") {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeExperiment(name, []byte(data), noColon)
			checkProblems(t, err, wanted(data, "want"))
			if !IsExperiment([]byte(data)) {
				t.Error("it is not taken for an experiment")
			}
		})
	}
}

func TestAnExperimentIsReadWhole(t *testing.T) {
	text := `version: 1
experiment: sweep
suite: nvme
place: /dev/nvme1n1
on: ssh://root@db1
factors: ["queue:scheduler=none,mq-deadline"]
baseline: none
keep: ["cmdline:numa=off"]
set: [runtime=5s]
blocks: 6
repetitions: 2
budget: 30m
share: 0.8
margin: 2%
limit: p99.9=2ms
alpha: 1%
commands:
  profile: {apply: [tuned-adm, profile, "{level}"], verify: [cat, /etc/tuned/active_profile], undo: [tuned-adm, profile, "{old}"]}
`
	got, err := DecodeExperiment("x.yaml", []byte(text), noColon)
	if err != nil {
		t.Fatal(err)
	}
	want := Experiment{
		Kind: "sweep", Suite: "nvme", Place: "/dev/nvme1n1", On: []string{"ssh://root@db1"},
		Factors:  []string{"queue:scheduler=none,mq-deadline"},
		Baseline: "none", Keep: []string{"cmdline:numa=off"}, Set: []string{"runtime=5s"}, Blocks: 6, Repetitions: 2,
		Budget: 30 * time.Minute,
		Share:  0.8, Margin: 0.02, Alpha: 0.01, Limit: "p99.9=2ms",
		Commands: map[string]lab.SettingCommands{"profile": {Apply: []string{"tuned-adm", "profile", "{level}"},
			Verify: []string{"cat", "/etc/tuned/active_profile"}, Undo: []string{"tuned-adm", "profile", "{old}"}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if suite := []byte("version: 1\njobs: []\n"); IsExperiment(suite) || IsExperiment([]byte("- a")) {
		t.Error("a suite is taken for an experiment")
	}
}

func FuzzDecodeExperiment(f *testing.F) {
	for _, data := range fixtures(f, "testdata/badexperiments/*.yaml") {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := DecodeExperiment("x.yaml", data, noColon)
		if err == nil && e.Kind != "sweep" && e.Kind != "ablate" && e.Kind != "" {
			t.Errorf("an experiment of kind %q", e.Kind)
		}
	})
}
