package cli

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/ladderrun"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/host/kube"
	"github.com/headroom/headroom/internal/host/qemu"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/suite"
)

// What doctor tells to type to measure a finding is taken by this version: its commands, flags, suites and factors.
func TestMeasureLinesCanBeTyped(t *testing.T) {
	rules, err := rule.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, r := range rules {
		for command := range strings.Lines(r.Measuring()) {
			lines++
			for _, complaint := range wrongWith(t, strings.TrimSpace(command)) {
				t.Errorf("%s: %s: %s", r.ID, command, complaint)
			}
		}
	}
	if lines < 100 {
		t.Errorf("only %d commands in %d rules", lines, len(rules))
	}
}

// The check itself finds what is wrong.
func TestMeasureLinesThatCannotBeTyped(t *testing.T) {
	for command, want := range map[string]string{
		"headroom ablate quick DIR --add queue:scheduler=none":                        "unknown flag: --add",
		"headroom ablate fast DIR --setting queue:scheduler=none":                     `no built-in suite "fast"`,
		"headroom ablate quick --setting queue:scheduler=none":                        "names no place",
		"headroom ablate nvme DIR --setting queue:scheduler=none":                     "the suite nvme needs a device",
		"headroom ablate quick DIR":                                                   "varies nothing",
		"headroom ablate quick DIR --setting cpu:energy_preference=performance":       "cpu: takes online",
		"headroom ablate quick DIR --setting queue:scheduler=none,bfq":                "one level",
		"headroom ablate quick DIR --setting exec:reseat=card":                        "experiment's file",
		"headroom ablate quick DIR --setting cmdline:iommu.strict=0":                  "--on",
		"headroom ablate nvme DEVICE --setting cmdline:quiet=absent --on TARGET":      "only reads",
		"headroom sweep quick DIR --factor queue:scheduler=none":                      "two levels",
		"headroom sweep ladder DEVICE --factor guest:chipset=ide,scsi --on qemu:FILE": "guest: takes one of",
		"headroom sweep ladder DEVICE --factor guest:aio=a,native --on qemu:FILE":     "a is no aio",
		"headroom sweep quick PLACE --factor job:iodepth=1,2":                         "PLACE",
		"headroom net quick": "measures no network",
		"headroom ablate network --on SERVER --setting sysctl:net.core.busy_read=50":   "does not say which end",
		"headroom ablate network --setting sysctl:net.core.busy_read=50":               "names no end",
		"headroom ablate network --on server=SERVER --setting nic:under-test/mut=9000": "mut",
		"headroom ablate network --on server=SERVER --setting cmdline:mitigations=off": "restarted",
		"headroom ladder DIR": "climbs no network",
		"headroom ladder --on 'client=kube:pod?nod=a' --on 'server=kube:pod?node=b'": "is no target",
	} {
		if got := strings.Join(wrongWith(t, command), "; "); !strings.Contains(got, want) {
			t.Errorf("%s: %q does not say %q", command, got, want)
		}
	}
}

// wrongWith says what keeps a command line from being taken.
func wrongWith(t *testing.T, command string) []string {
	t.Helper()
	words := typedWords(command)
	if len(words) < 2 || words[0] != "headroom" {
		return []string{"it is no command of headroom"}
	}
	for _, w := range regexp.MustCompile(`\b[A-Z]{3,}\b`).FindAllString(command, -1) {
		if !slices.ContainsFunc(rule.Placeholders(), func(p rule.Placeholder) bool { return p.Word == w }) {
			return []string{"nobody says what " + w + " stands for"}
		}
	}
	c, rest, err := bare().Find(words[1:])
	if err != nil {
		return []string{err.Error()}
	}
	if !c.HasParent() {
		return []string{"there is no command " + words[1]}
	}
	if err := c.ParseFlags(rest); err != nil {
		return []string{err.Error()}
	}
	args := c.Flags().Args()
	if c.Args != nil {
		if err := c.Args(c, args); err != nil {
			return []string{err.Error()}
		}
	}
	if c.Name() == "compare" {
		return nil
	}
	if c.Name() == "net" {
		return wrongNetwork(args)
	}
	if c.Name() == "ladder" {
		return wrongEnds(c)
	}
	if s, err := suite.Load(args[0]); err == nil && s.Place == suite.Network {
		return append(wrongEndsOf(c), wrongFactors(c, "SERVER")...)
	}
	on := strings.Trim(c.Flag("on").Value.String(), "[]")
	return append(wrongPlace(args, on), wrongFactors(c, on)...)
}

// wrongNetwork checks the suite of a network's test.
func wrongNetwork(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	if s, err := suite.Load(args[0]); err != nil || s.Place != suite.Network {
		return []string{fmt.Sprintf("%s measures no network (%v)", args[0], err)}
	}
	return nil
}

// bare is the command line without anything that would be carried out.
func bare() *cobra.Command {
	a := app.New(app.Environment{Stdout: io.Discard, Stderr: io.Discard, Env: func(string) string {
		return ""
	}})
	return wholeTree(a)
}

// wrongEnds checks the ends of a network whose ladder is climbed.
func wrongEnds(c *cobra.Command) []string {
	typed, _ := c.Flags().GetStringArray("on")
	if !(ladderrun.Options{On: typed}).OfNetwork() {
		return []string{"it climbs no network"}
	}
	return wrongEndsOf(c)
}

// wrongEndsOf checks how the ends of a network are named.
func wrongEndsOf(c *cobra.Command) []string {
	typed, _ := c.Flags().GetStringArray("on")
	if len(typed) == 0 {
		return []string{"it names no end of a network"}
	}
	var complaints []string
	for _, end := range typed {
		role, name := app.RoleOf(end)
		if role != experiment.ClientRole && role != experiment.ServerRole {
			complaints = append(complaints, end+" does not say which end it is")
		}
		if _, err := kube.ParseName(name); strings.HasPrefix(name, kube.Scheme) && err != nil {
			complaints = append(complaints, err.Error())
		}
	}
	return complaints
}

// wrongPlace checks a suite and what it is to measure.
func wrongPlace(args []string, on string) []string {
	s, err := suite.Load(args[0])
	if err != nil {
		return []string{err.Error()}
	}
	if len(args) < 2 {
		return []string{"it names no place"}
	}
	kind := map[string]lab.PlaceKind{"DIR": lab.Directory, "DEVICE": lab.Device}[args[1]]
	cells, err := s.Cells(kind, false)
	if err != nil {
		return []string{err.Error()}
	}
	elsewhere := on != "local" && on != ""
	for _, c := range cells {
		prepared := slices.ContainsFunc(c.Steps, func(s lab.Step) bool { return s != lab.Load })
		if kind == lab.Device && elsewhere && (prepared || !fio.OnlyReads(c.Params)) {
			return []string{"a device elsewhere is measured by what only reads, unlike " + c.ID}
		}
	}
	return nil
}

// wrongFactors checks what an ablation or a sweep varies.
func wrongFactors(c *cobra.Command, on string) []string {
	var typed []string
	for _, name := range []string{"setting", "factor"} {
		if f := c.Flags().Lookup(name); f != nil {
			typed, _ = c.Flags().GetStringArray(name)
		}
	}
	if c.Name() != "run" && len(typed) == 0 {
		return []string{"it varies nothing"}
	}
	var complaints []string
	for _, text := range typed {
		if err := checkTyped(text, c.Name(), on); err != nil {
			complaints = append(complaints, err.Error())
		}
	}
	return complaints
}

func checkTyped(text, command, on string) error {
	choice, err := factor.Parse(text)
	switch {
	case err != nil:
		return err
	case command == app.AblateKind && len(choice.Levels) != 1:
		return errors.New("an ablation has one level of " + text)
	case command == app.SweepKind && len(choice.Levels) < 2:
		return errors.New("a sweep has at least two levels of " + text)
	case choice.Scheme.Name == "exec":
		return errors.New(text + " needs an experiment's file")
	case choice.Scheme.Class == scheme.OfBoot && on != "TARGET" && !strings.HasPrefix(on, qemu.Scheme):
		return errors.New(text + " needs --on with what can be restarted")
	case choice.Scheme.Name != "guest":
		return nil
	}
	i := slices.IndexFunc(qemu.Settings(), func(s qemu.Setting) bool { return s.Name == choice.Name })
	if i < 0 {
		return errors.New("a guest has no setting " + choice.Name)
	}
	return guestLevels(qemu.Settings()[i], choice.Levels)
}

// guestLevels checks levels where a guest's setting lists them: "none, intel". Numbers are left to the guest.
func guestLevels(s qemu.Setting, levels []string) error {
	if strings.Contains(s.Levels, " to ") || strings.Contains(s.Levels, "…") {
		return nil
	}
	for _, l := range levels {
		if !slices.Contains(strings.Split(s.Levels, ", "), l) {
			return errors.New(l + " is no " + s.Name + ": " + s.Levels)
		}
	}
	return nil
}

// typedWords splits as a shell does, as far as lines "measure" need it: single quotes, and a comment at the end.
func typedWords(command string) []string {
	command, _, _ = strings.Cut(command, " # ")
	var words []string
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

// What doctor tells to change is called as factors are, where both name the whole thing: adapters, interrupts and
// guests are those of the finding there, and options of a mount are those of fstab.
func TestRemediesAreCalledLikeFactors(t *testing.T) {
	rules, err := rule.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, r := range rules {
		for _, remedy := range r.Remedies {
			name, level, _ := strings.Cut(remedy.Set, "=")
			scheme, _, _ := strings.Cut(name, ":")
			held := name == "cpu:latency" // no value that is set: a file is held open
			if held || !slices.Contains([]string{"sysctl", "sysfs", "module", "queue", "cpu", "cmdline"}, scheme) {
				continue
			}
			checked++
			if err := factor.Check(name, level); err != nil {
				t.Errorf("%s: %s: %v", r.ID, remedy.Set, err)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d remedies are factors", checked)
	}
}

func TestPlaceholdersAreExplained(t *testing.T) {
	got := rule.PlaceholdersIn("headroom ablate nvme DEVICE --setting queue:scheduler=none\nheadroom run quick DIR " +
		"--label before")
	want := "DIR is a directory on the storage in question; " +
		"DEVICE is a disk (an empty one; ladder only reads, so there it may be in use)"
	if got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if got := rule.PlaceholdersIn("headroom compare before after"); got != "" {
		t.Errorf("%q", got)
	}
}
