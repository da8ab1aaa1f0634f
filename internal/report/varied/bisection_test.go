package varied

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/search"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

// bisectionDocument is a search among four arguments that found one, with what a reader must see of it.
func bisectionDocument() bisection.Document {
	candidates := []bisection.Candidate{
		{Factor: "cmdline:audit", Good: "absent", Bad: "0", Probability: 0.01},
		{Factor: "cmdline:quiet", Good: "absent", Bad: "", Probability: 0.004},
		{Factor: "cmdline:slub_debug", Good: "absent", Bad: "FZPU", Probability: 0.9992},
		{Factor: "cmdline:mitigations", Good: "off", Bad: "absent", Probability: 0.02},
	}
	with := func(i int, p float64) bisection.Candidate { c := candidates[i]; c.Probability = p; return c }
	return bisection.Document{
		Schema: bisection.Schema, Run: "7KQ4M2X9TD", Outcome: bisection.Found, Measurements: 7, Proofs: 2,
		InformationLimit: 2.2, Spread: 0.041,
		Culprits: []bisection.Culprit{{Factor: "cmdline:slub_debug", Good: "absent", Bad: "FZPU", Confidence: 0.9992,
			Needed: true, Enough: true}},
		Loss:      &bisection.Ratio{Ratio: 0.62, Lo: 0.59, Hi: 0.65, Measurements: 4},
		Reverted:  &bisection.Ratio{Ratio: 0.63, Lo: 0.6, Hi: 0.66, Measurements: 6},
		Applied:   &bisection.Ratio{Ratio: 0.64, Lo: 0.61, Hi: 0.67, Measurements: 6},
		Explained: &bisection.Share{Share: 0.97, Lo: 0.91, Hi: 1.03},
		Evidence: &bisection.Evidence{Counters: 87, CPU: &bisection.ChangedCounter{Counter: lab.CounterBusy,
			Ratio: 1.58, Lo: 1.49,
			Hi: 1.67, Without: 0.9, With: 0.91},
			Changed: []bisection.ChangedCounter{{Counter: "interrupts.TLB", Ratio: 812, Lo: 640, Hi: 1030,
				Without: 0.3, With: 310.4},
				{Counter: "softirqs.RCU", Ratio: 14.2, Lo: 11, Hi: 18.3, Without: 21, With: 190},
				{Counter: "vmstat.pgfault", Ratio: 0.21, Lo: 0.18, Hi: 0.25, Without: 400, With: 52}}},
		Candidates: candidates, Metric: "read.iops", Unit: lab.PerSecond,
		Expected: []bisection.Candidate{with(2, 0.62), with(0, 0.28)},
		Steps: []bisection.StepResult{
			{Number: 1, Arm: "slow", Purpose: "anchor", Applied: []int{1, 2, 3, 4}, Value: 3900},
			{Number: 2, Arm: "fast", Purpose: "anchor", Applied: []int{}, Value: 6300},
			{Number: 3, Arm: "mix1", Purpose: "tell", Applied: []int{1, 3}, Value: 4000,
				Likeliest: []bisection.Candidate{with(2, 0.48), with(0, 0.48)}},
			{Number: 4, Arm: "mix2", Purpose: "tell", Applied: []int{2, 3, 4}, Value: 3950,
				Likeliest: []bisection.Candidate{with(2, 0.992)}},
			{Number: 5, Arm: "mix3", Purpose: "proof", Applied: []int{1, 2, 4}, Value: 6200,
				Likeliest: []bisection.Candidate{with(2, 0.9992)}},
		},
		Warnings: []lab.CountedWarning{
			lab.Warning{Code: "emulated-guest", Text: "qemu:guest.yaml is emulated"}.In("", 0, 0).CountedWarning,
			lab.Warning{Code: "generator-bound", Text: "the fio job used 95% of a core"}.In("", 2, 9).CountedWarning},
	}
}

// commitBisections are searches among four commits: one names a commit, and one can't tell three apart.
func commitBisections() (one, several bisection.Document) {
	step := func(i int, p float64) bisection.Candidate {
		hash := func(i int) string { return strings.Repeat("abcde"[i:i+1], 11) + "0" }
		return bisection.Candidate{Factor: "commit:", Good: hash(i), Bad: hash(i + 1),
			Title: []string{"Add a cache", "Write block by block", "Tidy", "Say more"}[i], Probability: p}
	}
	one = bisection.Document{Run: "7KQ4M2X9TD", Outcome: bisection.Found, Series: true, Measurements: 8, Proofs: 6,
		Spread: 0.05, InformationLimit: 2,
		Loss: &bisection.Ratio{Ratio: 0.4, Lo: 0.36, Hi: 0.44, Measurements: 4}, Metric: "elapsed", Unit: lab.Seconds,
		Better:     lab.Lower,
		Candidates: []bisection.Candidate{step(0, 0), step(1, 0.999), step(2, 0), step(3, 0)},
		Steps: []bisection.StepResult{{Number: 1, Arm: "slow", Purpose: "anchor", Applied: []int{1, 2, 3, 4},
			Value: 0.25},
			{Number: 3, Arm: "mix1", Purpose: "tell", Applied: []int{1}, Value: 0.1,
				Likeliest: []bisection.Candidate{step(1, 0.6)}}},
		Unmeasurable: []bisection.State{{Level: step(2, 0).Bad, Title: "Tidy",
			Reason: "make ended with exit status 2: bench.c:4: expected ';'"}}}
	several = one
	c := step(1, 0.999)
	one.Culprits = []bisection.Culprit{{Factor: c.Factor, Good: c.Good, Bad: c.Bad, Title: c.Title, Confidence: 0.999,
		Needed: true, Enough: true,
		Effect: &bisection.Ratio{Ratio: 0.4, Lo: 0.37, Hi: 0.43, Measurements: 8}}}
	wide := one.Culprits[0]
	wide.Bad, wide.Title = step(3, 0).Good, ""
	wide.Among = []bisection.State{{Level: c.Bad, Title: c.Title, Reason: "bench ended with signal: aborted"},
		{Level: wide.Bad, Title: "Tidy"}}
	several.Culprits, several.Unmeasurable = []bisection.Culprit{wide}, wide.Among[:1]
	return one, several
}

// kernelBisection is a search among three kernels, named by the folders that they lie in.
func kernelBisection() bisection.Document {
	const folder = "/var/cache/kernels/linux-image-"
	first := bisection.Candidate{Factor: "kernel:", Good: folder + "6.1.0-47-amd64", Bad: folder + "6.1.0-56-amd64"}
	second := bisection.Candidate{Factor: "kernel:", Good: first.Bad, Bad: folder + "6.12.117-amd64",
		Probability: 0.999}
	return bisection.Document{Outcome: bisection.Found, Series: true, Measurements: 7, Proofs: 6, Spread: 0.05,
		InformationLimit: 2,
		Loss:             &bisection.Ratio{Ratio: 0.6, Lo: 0.56, Hi: 0.64, Measurements: 4}, Metric: "read.iops",
		Unit:       lab.PerSecond,
		Candidates: []bisection.Candidate{first, second},
		Culprits: []bisection.Culprit{{Factor: "kernel:", Good: second.Good, Bad: second.Bad, Confidence: 0.999,
			Needed: true, Enough: true,
			Effect: &bisection.Ratio{Ratio: 0.6, Lo: 0.57, Hi: 0.63, Measurements: 8}}},
		Steps: []bisection.StepResult{{Number: 1, Arm: "slow", Purpose: "anchor", Applied: []int{1, 2}, Value: 3900},
			{Number: 3, Arm: "mix1", Purpose: "tell", Applied: []int{1}, Value: 6400,
				Likeliest: []bisection.Candidate{second}}}}
}

func TestBisectionTables(t *testing.T) {
	var out bytes.Buffer
	found := bisectionDocument()
	builds := found
	builds.Excluded = &lab.Excluded{Count: 3056, First: []string{"INTEL_IOMMU_DEFAULT_ON", "GCC_PLUGIN_STACKLEAK"}}
	partly := found
	partly.Explained = &bisection.Share{Share: 0.5, Lo: 0.4, Hi: 0.6}
	partly.Culprits = append(partly.Culprits, bisection.Culprit{Factor: "cmdline:audit", Good: "absent",
		Bad: "0", Needed: true,
		Reverted: &bisection.Ratio{Ratio: 0.8, Lo: 0.77, Hi: 0.83, Measurements: 8}})
	partly.Rest, partly.Further = &bisection.Share{Share: 0.5, Lo: 0.4, Hi: 0.6}, search.Yes
	partly.Culprits = append(partly.Culprits, bisection.Culprit{Factor: "cmdline:nokaslr", Good: "absent",
		Bad: "present", Needed: true, Effect: &bisection.Ratio{Ratio: 0.8, Lo: 0.77, Hi: 0.83, Measurements: 30}})
	maybe := found
	maybe.Rest, maybe.Further = &bisection.Share{Share: 0.03, Lo: -0.2, Hi: 0.26}, search.Open
	helped := found
	helped.Opposing = []bisection.OpposingSetting{{Factor: "cmdline:mitigations", Good: "on", Bad: "off",
		Direction: bisection.Faster, Confidence: 0.97}}
	alike := bisection.Document{Outcome: bisection.NoDifference, Candidates: found.Candidates,
		Loss: &bisection.Ratio{Ratio: 0.99, Lo: 0.97, Hi: 1.01}, Measurements: 8, Spread: 0.03}
	small := alike
	small.Outcome, small.Loss = bisection.ManySmall, found.Loss
	undecided := alike
	undecided.Outcome, undecided.Wanted = bisection.Undecided, 40
	oneSided := found
	oneSided.Reverted = nil
	oneSided.Unmeasurable = []bisection.State{
		{Applied: []int{1, 2, 4}, Reason: "its kernel panicked: System is deadlocked on memory"},
		{Applied: []int{4}, Reason: "sh ended with exit status 1"}}
	unprovable := oneSided
	unprovable.Outcome, unprovable.Culprits, unprovable.Unprovable = bisection.Undecided, nil, true
	options := found
	options.Culprits = []bisection.Culprit{{Factor: "option:SLUB_DEBUG_ON", Good: "n", Bad: "y", Needed: true,
		With: []string{"SLUB_DEBUG", "STACKDEPOT", "STACKTRACE", "FRAME_POINTER"}}}
	open := found
	open.Candidates = append([]bisection.Candidate{}, found.Candidates...)
	open.Candidates[1].NotVerified, open.Candidates[3].NotVerified = "/proc/sys/kernel/printk shows 7",
		"there is no /sys/devices/system/cpu/vulnerabilities/spectre_v1"
	openAlike := alike
	openAlike.Candidates = open.Candidates
	one, several := commitBisections()
	kernels := kernelBisection()
	for _, c := range []struct {
		name  string
		d     bisection.Document
		width int
	}{{"found", found, 100}, {"found, narrow", found, 60}, {"the part of two builds that boots show", builds, 100},
		{"three explain half of it", partly, 100}, {"there may be more", maybe, 100},
		{"one works against it", helped, 100},
		{"alike", alike, 80}, {"many small", small, 80}, {"undecided", undecided, 80},
		{"mixtures that can't be measured", oneSided, 80}, {"nothing proves it", unprovable, 80},
		{"options that go together", options, 80},
		{"what is not verified", open, 100}, {"alike, and not verified", openAlike, 80},
		{"a commit", one, 100}, {"one of several commits", several, 80},
		{"kernels given by their paths", kernels, 80}} {
		out.WriteString("== " + c.name + "\n")
		out.WriteString(rendertest.Written(t, Search(c.d, report.Options{Options: render.Options{Width: c.width}}),
			"table", render.Options{Width: c.width}))
	}
	rendertest.Golden(t, "bisection.txt", out.String())
}

// The other formats say the same: the answer first, every measurement, and what weakens it.
func TestBisectionFormats(t *testing.T) {
	for _, f := range render.Formats() {
		var out bytes.Buffer
		if err := f.Write(&out, Search(bisectionDocument(), report.Options{}), render.Options{}); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if f.Name == "csv" {
			rows, err := csv.NewReader(&out).ReadAll()
			if err != nil || len(rows) != 6 || strings.Join(rows[3], ",") != "3,mix1,tell,read.iops,1/s,4000,1,0,1,0" {
				t.Errorf("%v\n%s", err, text)
			}
			continue
		}
		for _, want := range []string{"slub_debug=FZPU explains 97%", "slow without slub_debug=FZPU", "3.95k", "99.2%",
			"emulated", "95% of a core", "most likely at first: slub_debug=FZPU 62%"} {
			if !strings.Contains(strings.ReplaceAll(text, `\`, ""), want) {
				t.Errorf("%s lacks %q:\n%s", f.Name, want, text)
			}
		}
	}
}

// oddSearches are what pictures are rarely made for: a search that has just begun, one that measured nothing at all,
// 200 commits with long names, a loss of 5,000%, and kernels one below another.
func oddSearches() map[string]document.Document {
	begun, nothing := bisectionDocument(), bisectionDocument()
	begun.Outcome, begun.Culprits, begun.Steps = bisection.Undecided, nil, begun.Steps[:1]
	nothing.Outcome, nothing.Culprits, nothing.Steps = bisection.Undecided, nil, nil
	steps := func(n int, name func(i int) string) bisection.Document {
		d := kernelBisection()
		d.Candidates, d.Steps = nil, nil
		for i := range n {
			d.Candidates = append(d.Candidates, bisection.Candidate{Factor: "commit:", Good: name(i), Bad: name(i + 1),
				Title: name(i)})
		}
		for i := range min(n, 40) {
			applied := make([]int, i*n/min(n, 40))
			for j := range applied {
				applied[j] = j + 1
			}
			value := 100.0
			if i > 20 {
				value = 5100
			}
			d.Steps = append(d.Steps, bisection.StepResult{Number: i + 1, Applied: applied,
				Value: value * float64(i%3)})
		}
		last := d.Candidates[n/2]
		d.Culprits[0].Good, d.Culprits[0].Bad, d.Culprits[0].Title = last.Good, last.Bad, last.Title
		d.Culprits[0].Effect = &bisection.Ratio{Ratio: 51, Lo: 0.01, Hi: 1e9}
		return d
	}
	one, _ := commitBisections()
	all := map[string]document.Document{}
	for name, d := range map[string]bisection.Document{"found": bisectionDocument(), "begun": begun, "nothing": nothing,
		"commits": one, "kernels": kernelBisection(),
		"200 steps":  steps(200, func(i int) string { return fmt.Sprint(strings.Repeat("a-long-name-", 16), i) }),
		"long names": steps(12, func(i int) string { return fmt.Sprint(strings.Repeat("a-long-name-", 16), i) })} {
		all[name] = Search(d, report.Options{})
	}
	return all
}
