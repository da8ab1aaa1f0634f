package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/experiment/vary"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// kernelSearch is a search among the differences between the builds of two kernels.
type kernelSearch struct {
	*search
	kernels lab.Kernels
}

func newBisectKconfigCommand(a *app.App) *cobra.Command {
	s := &kernelSearch{search: newSearch(a)}
	k := &s.kernels
	c := &cobra.Command{
		Use: "kconfig SUITE [DEVICE or DIR] --good CONFIG --bad CONFIG --on TARGET [--tree DIR]",
		Long: `Finds which options that differ between two kernel builds cost the performance.

Without --tree it tests the options that have an equivalent boot argument: IOMMU_DEFAULT_DMA_STRICT is
iommu.strict=1. It boots one kernel, which must know these arguments, with mixtures of them. All other
differences are counted and not tested; the report names the ones most likely to matter.

With --tree, the source of a kernel, it tests every difference that the tree knows: it builds kernels with some
options from one configuration and the rest from the other, as few as possible, and boots them in a guest.
Modules are not built, so everything that the guest needs must be built in. Options that the tree can't switch
independently stay together. Built kernels are kept in the user's cache.

--good and --bad are configurations: /boot/config-RELEASE, /proc/config.gz, or a .config.`,
		Example: `  headroom bisect kconfig read.yaml /dev/nvme0n1 --on qemu:guest.yaml --good debian.config --bad talos.config
  headroom bisect kconfig read.yaml /dev/nvme0n1 --on ssh://root@a --reboot ssh://root@a --good fast.config --bad slow.config
  headroom bisect kconfig read.yaml /dev/nvme0n1 --on qemu:guest.yaml --good fast.config --bad slow.config --tree ~/src/linux`,
	}
	f := flagsOf(a, c)
	f.StringVar(&k.Good, "good", "", "the fast kernel's configuration")
	f.StringVar(&k.Bad, "bad", "", "the slow kernel's configuration")
	f.StringVar(&k.Tree, "tree", "", "a kernel source tree, to build options that no boot argument sets")
	f.StringArrayVar(&k.Make, "make", nil, "a variable for the kernel's make, like CC=gcc-12; may be repeated")
	s.complete(c, func() (list []string, err error) {
		if k.Tree != "" {
			s.o.Kernels, err = s.between(c.Context())
			return nil, err
		}
		list, s.o.Excluded, err = differingBuilds(k.Good, k.Bad)
		return list, err
	})
	if err := c.MarkFlagDirname("tree"); err != nil {
		panic(err) // the flag does not exist: a programming error
	}
	return c
}

// differingBuilds returns the kernel arguments that replace differences between two builds, and the remaining
// differences.
func differingBuilds(good, bad string) ([]string, *lab.Excluded, error) {
	if good == "" || bad == "" {
		return nil, nil, app.Usage("headroom bisect kconfig needs both configurations",
			"name a file with --good and one with --bad, like /boot/config-$(uname -r)")
	}
	knowledge, err := diff.Load()
	if err != nil {
		return nil, nil, err
	}
	var sides [2]diff.Side
	for i, name := range []string{good, bad} {
		if sides[i], err = vary.ReadBuild(name); err != nil {
			return nil, nil, err
		}
	}
	boots, rest := knowledge.ByBoots(sides[0], sides[1])
	if len(boots) == 0 {
		return nil, nil, app.Usage(fmt.Sprintf("no boot argument stands for any of the %s between the two builds",
			prose.Count(len(rest), "difference")),
			"headroom facts diff "+good+" "+bad+" lists them")
	}
	var list []string
	for _, b := range boots {
		list = append(list, factor.Series("cmdline:"+b.Argument, []string{b.A, b.B}))
	}
	return list, excludedDifferences(rest), nil
}

// maxNamedExcluded is how many excluded differences a sentence names.
const maxNamedExcluded = 6

// excludedDifferences returns differences between a fast side, a, and a slow one that a search leaves out, with the
// likeliest to matter.
func excludedDifferences(rest []diff.Difference) *lab.Excluded {
	if len(rest) == 0 {
		return nil
	}
	u := &lab.Excluded{Count: len(rest)}
	for _, d := range rest {
		// A difference that is known to slow the fast side is not a suspect.
		if d.Slower != "a" && len(u.First) < maxNamedExcluded {
			u.First = append(u.First, d.Name)
		}
	}
	return u
}
