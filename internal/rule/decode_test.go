package rule

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/yamlfile"
)

// ruleText returns a minimal rule, with more lines after it.
func ruleText(id, when string, more ...string) string {
	severity := "severity: medium"
	if len(more) > 0 && strings.HasPrefix(more[0], "severity:") {
		severity, more = more[0], more[1:]
	}
	text := fmt.Sprintf("- id: %s\n  title: The title of %s\n  class: kernel\n  %s\n  when: '%s'\n  because: of this\n",
		id, id,
		severity, when)
	for _, m := range more {
		text += "  " + m + "\n"
	}
	return text
}

func decoded(t testing.TB, text string) []Rule {
	t.Helper()
	rules, err := Decode("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func set(t testing.TB, texts ...string) *Set {
	t.Helper()
	s, err := Compile(decoded(t, strings.Join(texts, "")))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDecode(t *testing.T) {
	rules := decoded(t, ruleText("a-rule", `cpu.threads > 4`, "scope: disk", `applies: disk.driver == "nvme"`,
		"metrics: [iops, latency]", "silent_if: [other]", "guard: true",
		"effects: [{text: up to 60%, low: 0.1, high: 0.6, where: here, source: {title: A paper, url: "+
			"'https://example.org/'}}]",
		"remedies: [{set: 'cmdline:iommu.strict=0', reboot: true, cost: none, only: iommu.vfio_groups == 0}]"))
	r := rules[0]
	if r.ID != "a-rule" || r.Scope != "disk" || !r.Guard || r.when == nil || r.applies == nil ||
		r.Remedies[0].only == nil ||
		r.Effects[0].High != 0.6 || r.Effects[0].Source.URL != "https://example.org/" || r.SilentIf[0] != "other" {
		t.Errorf("got %+v", r)
	}
}

// Lines and fields are found behind anchors too.
func TestAliases(t *testing.T) {
	rules := decoded(t, ruleText("a", "true", "sources: &s [{title: A text}]")+ruleText("b", "true", "sources: *s"))
	if rules[1].Sources[0].Title != "A text" {
		t.Errorf("got %+v", rules[1].Sources)
	}
}

func TestBadFiles(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"all at once": {
			"- id: Not_Kebab\n  title: x\n  class: kernl\n  severity: grave\n  scope: disk\n  when: disk.sise > 1\n" +
				"  metrics: [iops, speed]\n" +
				"- id: second\n  class: disk\n  severity: low\n  wen: 'true'\n  guard: maybe\n  because: x\n",
			[]string{
				`test.yaml:1: the id "Not_Kebab" won't do (write small letters, digits and dashes: clock-source)`,
				`test.yaml:1: the rule Not_Kebab has no because`,
				`test.yaml:3: class can't be "kernl" (did you mean kernel?)`,
				`test.yaml:4: severity can't be "grave" (write one of high, medium, low)`,
				`test.yaml:6: there is no fact disk.sise (did you mean disk.size?)`,
				`test.yaml:7: metrics can't be "speed" (write one of iops, bandwidth, latency, cpu, variance)`,
				`test.yaml:8: the rule second has no title`,
				`test.yaml:8: the rule second has no when`,
				`test.yaml:11: the rule has no field wen (did you mean when?)`,
				`test.yaml:12: maybe is not what belongs here (true or false)`,
			}},
		"twice and in circles": {
			ruleText("a", "true", "silent_if: [b]") + ruleText("b", "true", "silent_if: [c]") +
				ruleText("c", "true", "silent_if: [a]") +
				ruleText("a", "true"),
			[]string{
				"test.yaml:1: the rules silence each other: a → b → c → a (delete one silent_if)",
				"test.yaml:22: a rule a stands on line 1 already (give it another id)",
			}},
		"itself": {ruleText("a", "true", "silent_if: [a]"),
			[]string{"test.yaml:1: the rules silence each other: a → a (delete one silent_if)"}},
		"shows what is no fact": {ruleText("a", "true", "shows: [nic.socket, nic.sockett]"),
			[]string{"test.yaml:7: the rule a shows nic.sockett, which is no fact (docs/reference/facts.md lists them)"}},
		"effects and remedies": {
			ruleText("a", "true", "effects:", "- {text: much, low: 40, high: 60}", "sources:",
				"- {title: x, url: ftp://x}", "remedies:",
				"- {cost: none}", "- {set: 'registry:x=1', cost: none}", "- {text: do it}",
				"- {text: x, cost: none, only: cpu.thread > 1}"),
			[]string{
				"test.yaml:8: a published effect needs its text and its source",
				"test.yaml:8: low and high are shares from 0 to 1, the lower one first (write 0.2 for 20%)",
				`test.yaml:10: the address "ftp://x" can't be opened (begin it with https://)`,
				"test.yaml:12: a remedy says nothing (add text: or set:)",
				`test.yaml:13: "registry:x=1" is no setting (begin it with one of cmdline, sysctl, module, queue, sysfs, cpu, nic, irq, ` +
					`mount, guest, exec and a colon)`,
				"test.yaml:14: a remedy does not say what it costs (write cost: none when there is none)",
				"test.yaml:15: there is no fact cpu.thread (did you mean cpu.threads?)",
			}},
		"lines of a long condition": {
			"- id: a\n  title: x\n  class: kernel\n  severity: low\n  because: x\n  when: |\n    cpu.threads > 1 &&\n" +
				"      cpu.coress > 2\n",
			[]string{"test.yaml:8: there is no fact cpu.coress (did you mean cpu.cores?)"}},
		"fields inside": {
			ruleText("a", "true", "effects:", "- {text: x, hihg: 0.1, source: {titel: x, title: y}}", "remedies:",
				"- {text: x, cost: none, sett: y}"),
			[]string{
				"test.yaml:8: the effect has no field hihg (did you mean high?)",
				"test.yaml:8: the source has no field titel (did you mean title?)",
				"test.yaml:10: the remedy has no field sett (did you mean set?)",
			}},
		"key twice": {"- id: a\n  id: b\n",
			[]string{`test.yaml:2: not valid YAML: mapping key "id" already defined at line 1`}},
		"scope": {ruleText("a", "true", "scope: discs"),
			[]string{`test.yaml:7: scope can't be "discs" (did you mean disk?)`}},
		"no list": {"id: a\n",
			[]string{"test.yaml:1: a rule file is a list of rules (begin each rule with a dash: - id: …)"}},
		"no mapping": {"- a\n", []string{"test.yaml:1: a is not what belongs here (a mapping)"}},
		"null":       {"-\n", []string{"test.yaml:1: a rule is a mapping (begin each rule with a dash: - id: …)"}},
		"empty":      {"", []string{"test.yaml: the file is empty (write a list of rules)"}},
		"no YAML":    {"- id: [\n", []string{"test.yaml:1: not valid YAML: did not find expected node content"}},
		"two documents": {ruleText("a", "true") + "---\n[]\n",
			[]string{"test.yaml: a second YAML document follows the first (keep one list in a file)"}},
		"huge": {strings.Repeat("#", maxFile+1),
			[]string{"test.yaml: the file is larger than 1 MiB, which no list of rules is"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode("test.yaml", []byte(c.text))
			checkProblems(t, err, c.want)
		})
	}
}

func checkProblems(t *testing.T, err error, want []string) {
	t.Helper()
	if _, ok := errors.AsType[yamlfile.Problems](err); !ok || lab.KindOf(err) != lab.Usage {
		t.Fatalf("got %v", err)
	}
	if err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
}

// Faults that appear only once the built-in rules and a user's rules are combined.
func TestCompile(t *testing.T) {
	first := decoded(t, ruleText("a", "true", "silent_if: [b]")+ruleText("b", "true"))
	second, err := Decode("own.yaml", []byte(ruleText("c", "true", "silent_if: [nobody]")+ruleText("a", "true")))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Compile(append(first, second...))
	checkProblems(t, err, []string{
		"own.yaml:1: the rule c is silent for nobody, which there is not",
		"own.yaml:8: a rule a stands in test.yaml already (give it another id)",
	})
	second, err = Decode("own.yaml", []byte(ruleText("c", "true", "silent_if: [a]")))
	if err != nil {
		t.Fatal(err)
	}
	second[0].SilentIf, first[1].SilentIf = []string{"a"}, []string{"c"}
	_, err = Compile(append(first, second...))
	checkProblems(t, err, []string{"test.yaml:1: the rules silence each other: a → b → c → a (delete one silent_if)"})
	if _, err := Compile([]Rule{{ID: "a"}}); err == nil {
		t.Error("a rule without a compiled condition was taken")
	}
}
