//go:build system

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/ablation"
)

// redundant is a command with two settings that cost the same fifth, once: both together cost no more than one of them.
// A third costs nothing. The noise is that of a count of the loads, and so the same for the same seed.
const redundant = `version: 1
name: redundant
title: two settings that stand in each other's way
place: any
repetitions: 1
jobs:
  - name: works
    exec: [sh, -c, 'echo x >> {count}; noise=$(($(grep -c x {count}) * 77 % 200)); rate=10000; [ -z "$A$B" ] || rate=8000; echo rate $((rate + noise))']
    metrics: {rate: {match: 'rate ([0-9]+)', unit: 1/s, better: higher, decides: true}}
`

// Where effects do not add up the pair that is why is measured, and named with what the two come to together.
func TestAnAblationMeasuresThePairThatDoesNotAddUp(t *testing.T) {
	t.Parallel()
	v := newFixture(t)
	v.suite = filepath.Join(filepath.Dir(v.suite), "redundant.yaml")
	suite := strings.ReplaceAll(redundant, "{count}", filepath.Join(filepath.Dir(v.suite), "count"))
	if err := os.WriteFile(v.suite, []byte(suite), 0o644); err != nil {
		t.Fatal(err)
	}
	settings := []string{"--setting", "env:A=1", "--setting", "env:B=1", "--setting", "env:C=1", "--blocks", "6",
		"--seed", "3"}
	ablate := func(more ...string) ablation.Document {
		t.Helper()
		cmd := v.command(slices.Concat([]string{"ablate", v.suite}, settings, more, []string{"--json"})...)
		var printed strings.Builder
		cmd.Stderr = &printed
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, printed.String())
		}
		var d ablation.Document
		if err := json.Unmarshal(out, &d); err != nil {
			t.Fatal(err)
		}
		t.Log(printed.String())
		return d
	}
	pair := func(d ablation.Document) *ablation.Interaction {
		i := slices.IndexFunc(d.Interactions, func(i ablation.Interaction) bool {
			return slices.Equal(i.Settings, []int{1, 2})
		})
		if i < 0 {
			return nil
		}
		return &d.Interactions[i]
	}
	d := ablate()
	p := pair(d)
	// The noise is bounded, and with it how far off the interval can be.
	if p == nil || p.Verdict != ablation.Faster || !p.Known() || *p.Lo < 1.1 || *p.Hi > 1.4 {
		t.Errorf("two losses of a fifth that count once come to 1.25 times what they multiply to: %+v", d.Interactions)
	}
	for _, s := range d.Settings[:2] {
		if s.Alone.Verdict != ablation.Slower || s.Removed.Verdict == ablation.Slower {
			t.Errorf("%s costs a fifth alone and nothing in the set: %+v, %+v", s.Setting, s.Alone, s.Removed)
		}
	}
	if len(d.Suspects) != 0 {
		t.Errorf("still suspected: %v", d.Suspects)
	}
	if d := ablate("--pairs", "0"); pair(d) != nil || !slices.Contains(d.Suspects, [2]int{1, 2}) {
		t.Errorf("measured although no pair was wanted: %+v, suspects %v", d.Interactions, d.Suspects)
	}
	if out, err := v.command(slices.Concat([]string{"ablate", v.suite, "--dry-run"},
		settings)...).CombinedOutput(); err != nil || !strings.Contains(string(out), "at most 3 pairs of settings") {
		t.Errorf("%v\n%s", err, out)
	}
}
