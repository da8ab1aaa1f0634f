package results

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
)

// stepOf returns the rung that a run measured.
func stepOf(run lab.Run) ladder.Step {
	step := ladder.Step{Rung: RungOf(run), Below: -1, Ceilings: map[string][]ceiling.Ceiling{}}
	if n, err := strconv.Atoi(run.Arms[0].Levels[BelowLevel]); err == nil {
		step.Below = n - 1
	}
	if step.Kind == ladder.Guest {
		levels := run.Arms[0].Levels
		step.Like = levels[InterfaceLevel] + ", " + levels[QueuesLevel]
		return step // the links of its disks are emulated too, and bound nothing
	}
	machine := ceiling.NewMachine(run.Targets[0])
	for _, c := range run.Cells {
		step.Ceilings[c.ID] = machine.Of(c.Params)
	}
	place := run.Targets[0].Place
	if step.Kind == ladder.Drive && len(place.Disks) == 1 {
		// A drive of the same driver, model and size should be as fast.
		model := factOf(run, "disk.under-test.model", "")
		step.Like = fmt.Sprintf("%s %s %d", driverOf(place.Disks[0]), model, place.Size)
	}
	return step
}

// driverOf returns the driver that the name of a disk implies: "nvme" of nvme0n1, "sd" of sda and of sdab. Disks of
// some drivers are distinguished by letters.
func driverOf(disk string) string {
	for _, lettered := range []string{"sd", "vd", "xvd", "hd"} {
		if rest, ok := strings.CutPrefix(disk, lettered); ok && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz") == "" {
			return lettered
		}
	}
	if i := strings.IndexAny(disk, "0123456789"); i > 0 {
		return disk[:i]
	}
	return disk
}

// RungOf returns the rung that an arm measured, for readers.
func RungOf(run lab.Run) ladder.Rung {
	place := run.Targets[0].Place
	r := ladder.Rung{Name: place.Path, Kind: ladder.Kind(run.Arms[0].Levels[KindLevel]), Filesystem: place.Filesystem,
		Disks: place.Disks, Run: run.ID, Jobs: 1}
	if len(run.Cells) > 0 {
		if n, err := strconv.Atoi(run.Cells[0].Params["numjobs"]); err == nil {
			r.Jobs = n
		}
	}
	r.Target = run.Targets[0].Remote()
	switch {
	case r.Kind == ladder.Guest:
		r.Places, r.CPUs = []string{place.Resolved}, processors(run)
		r.Interface, r.Backing = run.Arms[0].Levels[InterfaceLevel], run.Arms[0].Levels[BackingLevel]
		_, file, _ := strings.Cut(r.Target, ":")
		r.Name = filepath.Base(place.Path) + " in " + filepath.Base(file)
	case place.Members != nil:
		r.Places, r.Jobs = slices.Clone(place.Members), len(place.Members)
		first, last := strings.TrimPrefix(r.Places[0], "/dev/"), strings.TrimPrefix(r.Places[r.Jobs-1], "/dev/")
		between := " … "
		if r.Jobs == 2 {
			between = ", "
		}
		r.Name = first + between + last
	case place.Kind == lab.NoPlace:
		r.Places, r.Name = []string{}, "fio's null engine"
	default:
		r.Places = []string{place.Path}
		if place.Kind == lab.Device {
			r.Places = []string{place.Resolved}
		}
	}
	if r.Kind == ladder.Null && r.Jobs > 1 {
		r.Name += fmt.Sprintf(" x%d", r.Jobs)
	}
	return r
}

// factOf returns a fact of the machine of a run; empty if unknown.
func factOf(run lab.Run, key, about string) string {
	i := slices.IndexFunc(run.Targets[0].Facts, func(f lab.Fact) bool { return f.Key == key && f.About == about })
	if i < 0 {
		return ""
	}
	return run.Targets[0].Facts[i].Value
}

// processors returns the number of processors of the machine of a run; 0 if unknown.
func processors(run lab.Run) int {
	n, err := strconv.Atoi(factOf(run, "cpu.threads", ""))
	if err != nil {
		return 0
	}
	return n
}
