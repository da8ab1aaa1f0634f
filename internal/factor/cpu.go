package factor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/linux"
)

// cpuSettings are what can be set of CPUs, each with the files that hold it: the first pattern that finds any.
// Source: Documentation/ABI/testing/sysfs-devices-system-cpu.
func cpuSettings() map[string][]string {
	return map[string][]string{
		"online":   nil, // bindOnline
		"smt":      {scheme.CPURoot + "/smt/control"},
		"governor": {scheme.CPURoot + "/cpufreq/policy*/scaling_governor"},
		"epp":      {scheme.CPURoot + "/cpufreq/policy*/energy_performance_preference"},
		"boost":    {scheme.CPURoot + "/cpufreq/boost", scheme.CPURoot + "/intel_pstate/no_turbo"},
	}
}

// cpuScheme is cpu:, which CPUs there are and how fast they run.
func cpuScheme() scheme.Scheme {
	return scheme.Scheme{Name: "cpu", Title: "which CPUs there are and how fast they run", Class: scheme.Live,
		Needs:    "nothing",
		Syntax:   "cpu:online, smt, governor, epp or boost",
		Examples: []string{`cpu:online="0-3,8",0-15`, "cpu:smt=on,off", "cpu:governor=performance,powersave"},
		Levels: "online: sets of CPUs; smt: on, off; boost: 1, 0; governor and epp: what the driver of cpufreq " +
			"offers",
		Verified: "/sys/devices/system/cpu", Check: checkCPU, Bind: bindCPU, Holds: cpuFiles,
		Canonical: linux.CanonicalCPUs}
}

func checkCPU(name, level string) error {
	if _, ok := cpuSettings()[name]; !ok {
		return errors.New("cpu: takes online, smt, governor, epp or boost, not " + strconv.Quote(name))
	}
	switch {
	case level == "":
	case name == "online":
		_, err := linux.ParseCPUs(level)
		return err
	case name == "smt" && level != "on" && level != "off":
		return errors.New("cpu:smt is on or off, not " + strconv.Quote(level)) // forceoff holds until the next boot
	case name == "boost" && level != "0" && level != "1":
		return errors.New("cpu:boost is 1 or 0, not " + strconv.Quote(level))
	}
	return nil
}

// cpuFiles are the files that a setting is kept in.
func cpuFiles(_ context.Context, _ host.Target, name string) scheme.Holds {
	patterns := map[string][]string{"online": {scheme.CPURoot + "/cpu*/online", scheme.CPURoot + "/smt/control"},
		"smt":      {scheme.CPURoot + "/smt/control"},
		"governor": {scheme.CPURoot + "/*/scaling_governor"},
		"epp":      {scheme.CPURoot + "/*/energy_performance_preference"},
		"boost":    {scheme.CPURoot + "/*/boost", scheme.CPURoot + "/*/no_turbo"}}
	return scheme.InFiles(patterns[name]...)
}

func bindCPU(ctx context.Context, w scheme.Scope, name string) (scheme.Setting, error) {
	if name == "online" {
		return bindOnline(ctx, w)
	}
	var paths []string
	for _, pattern := range cpuSettings()[name] {
		if paths = spot.Glob(ctx, w.Target, pattern); len(paths) > 0 {
			break
		}
	}
	if len(paths) == 0 {
		return scheme.Setting{}, &lab.Error{Kind: lab.Refused, What: "the CPUs have no setting cpu:" + name,
			Target: host.RemoteName(w.Target),
			Hints:  []string{"a guest's host decides on frequencies; on hardware the driver of cpufreq may be missing"}}
	}
	s := scheme.Setting{Spots: spot.Files(paths)}
	for _, p := range paths {
		s.Companions = append(s.Companions, scheme.CompanionsOf(ctx, w.Target, p)...)
	}
	switch {
	case name == "smt":
		return smt(ctx, w, s)
	case strings.HasSuffix(paths[0], "/no_turbo"):
		invert(&s)
	case name == "governor":
		s.Possible = listed(ctx, w, path.Dir(paths[0])+"/scaling_available_governors")
	case name == "epp":
		s.Possible = listed(ctx, w, path.Dir(paths[0])+"/energy_performance_available_preferences")
	}
	return s.Readable(ctx, w.Target)
}

// smt refuses where the kernel has no choice: notsupported, notimplemented, forceoff.
func smt(ctx context.Context, w scheme.Scope, s scheme.Setting) (scheme.Setting, error) {
	s, err := s.Readable(ctx, w.Target)
	if err != nil {
		return s, err
	}
	s.Target = w.Target
	level, err := s.Read(ctx)
	if err == nil && level != "on" && level != "off" {
		err = &lab.Error{Kind: lab.Refused, What: "SMT can't be switched here: " + s.Spots[0].Path + " says " + level,
			Target: host.RemoteName(w.Target)}
	}
	s.Possible = []string{"on", "off"}
	return s, err
}

// invert makes boost of no_turbo, which is 1 when boost is 0.
func invert(s *scheme.Setting) {
	flip := func(v string) string { return map[string]string{"0": "1", "1": "0"}[v] }
	s.Values = func(level string) ([]string, error) { return []string{flip(level)}, nil }
	s.Level = func(values []string) string { return flip(values[0]) }
}

// listed are the words of a file; nil where it is not there.
func listed(ctx context.Context, w scheme.Scope, file string) []string {
	read, err := w.Target.ReadFiles(ctx, file)
	if err != nil || read[file].Err != nil {
		return nil
	}
	return strings.Fields(string(read[file].Data))
}

// bindOnline is the set of CPUs that are online: each that can be switched has a file.
func bindOnline(ctx context.Context, w scheme.Scope) (scheme.Setting, error) {
	const presentFile, onlineFile = scheme.CPURoot + "/present", scheme.CPURoot + "/online"
	read, err := w.Target.ReadFiles(ctx, presentFile, onlineFile)
	if err != nil {
		return scheme.Setting{}, err
	}
	for _, f := range []string{presentFile, onlineFile} {
		if read[f].Err != nil {
			return scheme.Setting{}, spot.FileReading(f, read[f]).Err
		}
	}
	present, err := linux.ParseCPUs(string(read[presentFile].Data))
	if err != nil {
		return scheme.Setting{}, err
	}
	var switched []int
	for _, p := range spot.Glob(ctx, w.Target, scheme.CPURoot+"/cpu[0-9]*/online") {
		if n, err := strconv.Atoi(strings.TrimPrefix(path.Base(path.Dir(p)), "cpu")); err == nil &&
			slices.Contains(present, n) {
			switched = append(switched, n)
		}
	}
	slices.Sort(switched)
	var fixed []int
	for _, n := range present {
		if !slices.Contains(switched, n) {
			fixed = append(fixed, n)
		}
	}
	if len(switched) == 0 {
		return scheme.Setting{}, &lab.Error{Kind: lab.Refused, What: "no CPU can be switched off",
			Target: host.RemoteName(w.Target),
			Hints:  []string{"the kernel may be built without CONFIG_HOTPLUG_CPU, or there is one CPU only"}}
	}
	var s scheme.Setting
	for _, n := range switched {
		s.Spots = append(s.Spots, spot.Spot{Kind: spot.InFile, Path: fmt.Sprintf("%s/cpu%d/online", scheme.CPURoot, n)})
	}
	s.Companions = scheme.HotplugCompanions(ctx, w.Target)
	s.Possible = []string{linux.FormatCPUs(present)}
	s.Level = func(values []string) string {
		online := slices.Clone(fixed)
		for i, v := range values {
			if v == "1" {
				online = append(online, switched[i])
			}
		}
		slices.Sort(online)
		return linux.FormatCPUs(online)
	}
	s.Values = func(level string) ([]string, error) { return onlineValues(level, present, fixed, switched) }
	return s.Readable(ctx, w.Target)
}

func onlineValues(level string, present, fixed, switched []int) ([]string, error) {
	asked, err := linux.ParseCPUs(level)
	if err != nil {
		return nil, scheme.Wrong(err.Error())
	}
	for _, n := range asked {
		if !slices.Contains(present, n) {
			return nil, scheme.Wrong(fmt.Sprintf("there is no CPU %d: present are %s", n, linux.FormatCPUs(present)))
		}
	}
	for _, n := range fixed {
		if !slices.Contains(asked, n) {
			return nil, &lab.Error{Kind: lab.Refused,
				What: fmt.Sprintf("CPU %d can't be switched off, and %s leaves it out", n, level)}
		}
	}
	if len(asked) == 0 {
		return nil, scheme.Wrong("no CPU would be left")
	}
	values := make([]string, len(switched))
	for i, n := range switched {
		values[i] = map[bool]string{true: "1", false: "0"}[slices.Contains(asked, n)]
	}
	return values, nil
}
