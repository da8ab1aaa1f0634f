package machines

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/rule"
)

// Evidence has its unit, and an adapter's path has the unit of its link.
func TestEvidenceHasUnits(t *testing.T) {
	for _, c := range []struct{ fact, value, want string }{
		{"nic.speed", "100000000000", "nic.speed is 100 Gbit/s"},
		{"nic.pci.bandwidth", "7201758242", "nic.pci.bandwidth is 57.61 Gbit/s"},
		{"disk.pci.bandwidth", "1048576000", "disk.pci.bandwidth is 1000 MiB/s"},
		{"nic.pci.share", "0.576", "nic.pci.share is 58%"},
		{"disk.queue.scheduler", "bfq", "disk.queue.scheduler is bfq"},
	} {
		if got := evidenceText(rule.Evidence{Fact: c.fact, Value: c.value}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A shortened finding keeps the step without which its command has no effect, without a prefix of ours before it.
func TestShortRemedyKeepsItsStep(t *testing.T) {
	rules, err := rule.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, r := range rules {
		if len(r.Remedies) == 0 || !strings.HasPrefix(r.Remedies[0].Set, "exec:") {
			continue
		}
		checked++
		first := r.Remedies[0]
		command := strings.TrimPrefix(first.Set, "exec:")
		text := command
		if first.Text != "" {
			text = strings.TrimRight(first.Text, ". ") + ": " + command
		}
		f := rule.Finding{Rule: r.ID, Severity: rule.Low, Remedies: []rule.Instruction{{Set: first.Set, Text: text}}}
		var short string
		for _, p := range briefRemedy(f) {
			for _, l := range p.Lines {
				short += l.Text
			}
		}
		if !strings.Contains(short, strings.Split(text, "\n")[0]) || strings.Contains(short, "exec:") {
			t.Errorf("%s: %q, want %q", r.ID, short, text)
		}
	}
	if checked < 5 {
		t.Errorf("%d rules have a command first", checked)
	}
}

// A sentence below a command is wrapped like any other; lines of a file are unchanged.
func TestSentencesBelowCommandsAreWrapped(t *testing.T) {
	in := rule.Instruction{System: "plain", Set: "nic:offload.tso=on",
		Text: "ethtool -K e0 tso on\nto keep it: a line in the interface's file\n[Link]"}
	part := remedyPart(0, []rule.Instruction{in})
	var typed []bool
	for _, l := range part.Lines {
		typed = append(typed, l.Typed)
	}
	if len(typed) != 4 || typed[2] || !typed[3] {
		t.Errorf("%+v", part.Lines)
	}
}
