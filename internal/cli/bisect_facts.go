package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

func newBisectFactsCommand(a *app.App) *cobra.Command {
	s := newSearch(a)
	s.o.SettableOnly = true
	c := &cobra.Command{
		Use: "facts FAST SLOW SUITE [DEVICE or DIR]",
		Long: `Finds which differences between a fast machine and a slow one cost the performance. FAST and SLOW are subjects of
"headroom facts diff": targets, saved runs, snapshots. Every difference that can be set on the target of the
search is set there: sysctls, module parameters, disk queues, governors, huge pages, and, if the target may be
rebooted, kernel arguments. The report lists the differences that can't be set. Where FAST and SLOW are runs that
were profiled, settings are likelier at first whose functions of the kernel ran on the slow side only.`,
		Example: `  headroom bisect facts fast.json slow.json quick /srv
  headroom bisect facts ssh://node6 local quick /srv --keep "sysctl:net.*"
  headroom bisect facts fast.json slow.json read.yaml /dev/nvme0n1 --on qemu:guest.yaml`,
		Args: func(c *cobra.Command, args []string) error {
			if s.o.Resume != "" || s.o.Show != "" {
				return argumentCount(0, 0, "no argument")(c, args)
			}
			return argumentCount(3, 4, "two machines, a suite and a directory or device")(c, args)
		},
		ValidArgsFunction: completion{a}.subjects(2),
		Annotations:       namedArguments(argumentsAreFacts),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if s.o.Resume != "" || s.o.Show != "" {
				return s.run(c, args)
			}
			if s.o.Factors, s.o.Excluded, err = s.differingFactors(c.Context(), args[0], args[1]); err != nil {
				return err
			}
			if s.o.Profiles, err = profilesBeside(a, args[0], args[1]); err != nil {
				return err
			}
			return s.run(c, args[2:])
		},
	}
	f := flagsOf(a, c)
	s.searchFlags(f)
	f.json()
	return c
}

// differingFactors returns the settings that differ between two machines, and the other differences.
func (s *search) differingFactors(ctx context.Context, fast, slow string) ([]string, *lab.Excluded, error) {
	a, err := s.app.Subjects().Facts(ctx, fast, facts.SnapshotLimit)
	if err != nil {
		return nil, nil, err
	}
	b, err := s.app.Subjects().Facts(ctx, slow, facts.SnapshotLimit)
	if err != nil {
		return nil, nil, err
	}
	choices := factor.DifferingFactors(settingsOf(a.Facts), settingsOf(b.Facts))
	if s.o.Reboot != "" || s.o.BootOn != "" || slices.ContainsFunc(s.o.Ends, s.bootsFreely) {
		// If the lines do not differ, or can't be split, their arguments are among the other differences.
		if arguments, err := factor.DifferingArguments(valueOf(a.Facts, "kernel.cmdline"),
			valueOf(b.Facts, "kernel.cmdline")); err == nil {
			choices = append(choices, arguments...)
		}
	}
	chosen := map[string]bool{}
	choices = slices.DeleteFunc(choices, func(choice string) bool {
		name, _, _ := strings.Cut(choice, "=")
		chosen[name] = true
		return factor.IsKept(s.o.Keep, name)
	})
	if len(choices) < 2 {
		return nil, nil, app.Usage(fmt.Sprintf("%s and %s differ in %s that can be set", fast, slow,
			prose.Count(len(choices), "thing")),
			"headroom facts diff "+fast+" "+slow+" shows what else differs",
			"headroom ablate measures the cost of one difference")
	}
	rest, err := differencesWithout(chosen, a, b)
	return choices, excludedDifferences(rest), err
}

// bootsFreely reports whether an experiment may boot a target in any way that it varies, without permission.
func (s *search) bootsFreely(name string) bool { return s.app.Traits(name).OwnBoot }

// differencesWithout returns the differences between two machines that are in none of the chosen factors: no factor
// controls them, disks of one machine differ in them, or they are kernel arguments and nothing may be restarted.
func differencesWithout(chosen map[string]bool, a, b facts.Document) ([]diff.Difference, error) {
	knowledge, err := diff.Load()
	if err != nil {
		return nil, err
	}
	setter := factor.Setters(b.Facts)
	return slices.DeleteFunc(knowledge.Compare(side(a, false), side(b, false)).Differences,
		func(d diff.Difference) bool {
			if argument, is := strings.CutPrefix(d.Fact, "kernel.cmdline."); is {
				return chosen["cmdline:"+argument]
			}
			return slices.ContainsFunc(keysOf(d), func(key string) bool {
				name, settable := setter(key)
				return settable && chosen[name]
			})
		}), nil
}

// keysOf returns the keys of the facts behind a difference: "volume.under-test.2.queue.scheduler" for the second volume
// under the place.
func keysOf(d diff.Difference) []string {
	keys := []string{d.Fact}
	class, rest, _ := strings.Cut(d.Fact, ".")
	for _, pair := range d.About {
		if "."+pair.B == catalogue.UnderTestRole || strings.HasPrefix("."+pair.B, catalogue.UnderTestRole+".") {
			keys = append(keys, class+"."+pair.B+"."+rest)
		}
	}
	return keys
}

// settingsOf returns the facts that are a machine's settings: no counters, no names, no unknown facts.
func settingsOf(all []lab.Fact) []lab.Fact {
	index := catalogue.NewIndex()
	return slices.DeleteFunc(slices.Clone(all), func(f lab.Fact) bool {
		d, _ := index.Lookup(f.Key)
		return f.Unknown != "" ||
			slices.Contains([]catalogue.Mark{catalogue.Moving, catalogue.Identity, catalogue.Address, catalogue.Name},
				d.Mark)
	})
}

func valueOf(all []lab.Fact, key string) string {
	i := slices.IndexFunc(all, func(f lab.Fact) bool { return f.Key == key && f.Unknown == "" })
	if i < 0 {
		return ""
	}
	return all[i].Value
}
