package sweep

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func TestVersionsOfKernels(t *testing.T) {
	for name, want := range map[string]string{
		"6.1.0-28-amd64":                        "6.1.0-28",
		"6.12.9+bpo-amd64":                      "6.12.9",
		"6.12.48+deb13-amd64":                   "6.12.48",
		"v6.6.54":                               "6.6.54",
		"6.11-rc3":                              "6.11-rc3",
		"6.6.54-rc1":                            "6.6.54-rc1",
		"6.2":                                   "6.2",
		"6.2.0":                                 "6.2",
		"6.8.0-31-generic":                      "6.8.0-31",
		"/boot/vmlinuz-6.1.0-28-amd64":          "6.1.0-28",
		"/srv/kernels/linux-6.3.13/bzImage":     "6.3.13",
		"/usr/lib/modules/6.12.9-arch1/vmlinuz": "6.12.9",
		"linux-image-6.1.0-28-amd64_6.1.119-1_amd64.deb":            "6.1.119",
		"linux-image-6.12.9+bpo-amd64_6.12.9-1~bpo12+1_amd64.deb":   "6.12.9",
		"linux-image-6.7-rc4-amd64-unsigned_6.7~rc4-1~exp1_amd64.x": "6.7-rc4",
		"6.18.0-talos":   "6.18",
		"found":          "",
		"":               "",
		"/boot/vmlinuz":  "",
		"deb12-current":  "",
		"99999999999.99": "",
	} {
		if got := parseVersion(name).String(); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	for _, s := range []string{"6.1.0-28-amd64", "linux-image-6.1.0-28-amd64_6.1.119-1_amd64.deb", "v6.11-rc3",
		"/srv/linux-6.3.13/bzImage", "6.12.9+bpo-amd64"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := parseVersion(s)
		if again := parseVersion(v.String()); compareVersions(v, again) != 0 || v.known != again.known {
			t.Errorf("%q is %v, and that is %v", s, v, again)
		}
	})
}

// kernelFacts are what a kernel says of one vulnerability, and of one that all know; "" for a kernel from before it was
// found.
func kernelFacts(srso, build string) []lab.Fact {
	facts := []lab.Fact{{Key: "cpu.vulnerability.meltdown", Value: "Not affected"},
		{Key: "kernel.version", Value: build}}
	if srso != "" {
		facts = append(facts, lab.Fact{Key: "cpu.vulnerability.spec_rstack_overflow", Value: srso})
	}
	return facts
}

// The Talos report's chart: 6.1 and 6.4 to 6.6 have the SRSO patch, 6.2 and 6.3 ended before it came and do at twice
// the rate.
func TestFasterForLackOfAFix(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const fixed = "Mitigation: Safe RET"
	in := Input{Factor: "kernel:image", Baseline: 4, Cells: []CellInput{cellOf("randread")},
		Reference: &Arm{Name: "other host"}, Levels: []Arm{
			{Name: "6.6.54", Facts: kernelFacts(fixed, "")},
			{Name: "6.3.13", Facts: kernelFacts("", "")},
			{Name: "6.2.16", Facts: kernelFacts("", "")},
			{Name: "6.4.16", Facts: kernelFacts(fixed, "")},
			{Name: "6.1.0-28-amd64", Facts: kernelFacts(fixed, "#1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)")},
			{Name: "6.1.20", Facts: kernelFacts("Vulnerable: Microcode, no safe RET", "")},
		}, Warnings: []WarningInput{
			{Level: 1, CellWarning: lab.Warning{Code: "short-run", Taints: []string{"*"}}.In("randread", 0, 0)}}}
	in.Measured = noisy(r, "randread", "read.iops", 10, 0.005, 100, 200, 200, 100, 100, 200, 150)
	d := Analyze(in)
	var names []string
	for _, k := range d.Chain.Kernels {
		names = append(names, k.Version+" "+k.Support)
	}
	if want := "6.1.20 longterm, 6.1.119 longterm, 6.2.16 end of life, 6.3.13 end of life, 6.4.16 end of life, " +
		"6.6.54 longterm"; strings.Join(names, ", ") != want {
		t.Errorf("%q, want %q", names, want)
	}
	if d.Baseline != "6.1.0-28-amd64" || d.Reference != "other host" || d.Cells[0].ToReference.Ratio < 1.3 ||
		len(d.Cells[0].Levels[3].Warnings) != 1 {
		t.Errorf("levels went astray: %+v", d.Cells[0])
	}
	if d.Chain.Compared != 5 || d.Chain.Undecided != 0 {
		t.Errorf("%d numbers of neighbours compared, %d undecided", d.Chain.Compared, d.Chain.Undecided)
	}
	var changes []string
	for _, c := range d.Chain.Changes {
		text := c.From + " to " + c.To + " " + string(c.Verdict)
		if c.SameBranch {
			text += " in one branch"
		}
		for _, f := range c.LacksFix {
			text += ", " + f.Level + " lacks " + f.Vulnerability + " " + f.Says
		}
		changes = append(changes, text)
	}
	want := []string{
		"6.1.20 to 6.1.0-28-amd64 worse in one branch, 6.1.20 lacks spec_rstack_overflow Vulnerable: Microcode, no " +
			"safe RET",
		"6.1.0-28-amd64 to 6.2.16 better, 6.2.16 lacks spec_rstack_overflow ",
		"6.3.13 to 6.4.16 worse, 6.3.13 lacks spec_rstack_overflow ",
	}
	if !slices.Equal(changes, want) {
		t.Errorf("%q\nwant\n%q", changes, want)
	}
	if len(in.Levels[0].Facts) == 0 || in.Levels[0].Name != "6.6.54" || in.Measured[0].Level != 0 {
		t.Error("the input was changed")
	}
}

// What could not be read is no sign of a missing fix; nor is a processor that is not affected.
func TestNoFixIsMissedWithoutEvidence(t *testing.T) {
	having := Arm{Name: "b", Facts: kernelFacts("Mitigation: Safe RET", "")}
	for _, facts := range [][]lab.Fact{
		nil,
		kernelFacts("Not affected", ""),
		kernelFacts("Mitigation: IBPB", ""),
		append(kernelFacts("", ""), lab.Fact{Key: "cpu.vulnerability.spec_rstack_overflow",
			Unknown: "permission denied"}),
	} {
		if got := missingFixes(Arm{Name: "a", Facts: facts}, having); len(got) > 0 {
			t.Errorf("%v: %v", facts, got)
		}
	}
}
