package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/stat"
)

// Releases of Linux form branches: 6.1 continues as 6.1.1, 6.1.2, … for years, while 6.2 came from the mainline and
// ended after some weeks. A fix from the mainline can be in the one and not in the other, so a late 6.1 can have fixes
// that 6.2 lacks.

// Chain is the order of the kernels, and the changes between neighbours.
type Chain struct {
	Kernels []Kernel      `json:"kernels"`
	Changes []ChainChange `json:"changes"`
	// Compared is how many numbers of neighbours were compared. Undecided is how many of these are shown neither to
	// differ nor to be the same.
	Compared  int `json:"compared,omitempty"`
	Undecided int `json:"undecided,omitempty"`
}

// Kernel is read from the name of a level.
type Kernel struct {
	Level string `json:"level"`
	// Version is as precise as known ("6.1.119"), Branch is its branch ("6.1"). Both are empty if the name has no
	// version.
	Version string `json:"version,omitempty"`
	Branch  string `json:"branch,omitempty"`
	// Support is "longterm", "end of life", or empty if the built-in list of kernel.org is too old to know.
	Support string `json:"support,omitempty"`
	// Ends is the projected end of a longterm branch: "2027-12".
	Ends string `json:"ends,omitempty"`
}

// ChainChange is a metric of a cell that differs between neighbours of the chain.
type ChainChange struct {
	Cell   string `json:"cell"`
	Title  string `json:"title"`
	Metric string `json:"metric"`
	From   string `json:"from"`
	To     string `json:"to"`
	// SameBranch is false if To is not a successor of From, but of an earlier kernel.
	SameBranch bool `json:"same_branch"`
	Ratio
	// LacksFix lists the fixes that the better of the two lacks.
	LacksFix []MissingFix `json:"lacks_fix,omitempty"`
}

// MissingFix is a weakness of the processor that one kernel works around and the other does not.
type MissingFix struct {
	// Vulnerability is the kernel's name for it: "spec_rstack_overflow".
	Vulnerability string `json:"vulnerability"`
	// Level lacks the fix. Says is the state that it reports; empty if it does not know the vulnerability at all.
	Level string `json:"level"`
	Says  string `json:"says,omitempty"`
	// Other is the level that has the fix, and OtherSays the state that it reports.
	Other     string `json:"other"`
	OtherSays string `json:"other_says"`
}

// version is the version of a kernel. Debian's stable kernels are all named 6.1.0-28 or the like, so Debian's number
// orders them.
type version struct {
	major, minor, patch int
	// candidate is the number of a release candidate; 0 for a release.
	candidate int
	// debian is the number after 6.1.0-, if the patch level is not known; 0 otherwise.
	debian int
	known  bool
}

var (
	kernelVersion = prose.Pattern(
		`(?:^|\D)([2-9]|[1-9]\d)\.(\d{1,3})(?:\.(\d{1,3}))?(?:[-~]rc(\d{1,3}))?(?:-(\d{1,4})\b)?`)
	// packageVersion matches the version after the name in a Debian package's file name:
	// linux-image-6.1.0-28-amd64_6.1.119-1_amd64.deb
	packageVersion = prose.Pattern(`_(\d+\.\d+\.\d+[^_]*)_`)
	// builtFrom matches the version that Debian's kernels report: #1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)
	builtFrom = prose.Pattern(`Debian (\d+\.\d+\.\d+)`)
)

// parseVersion reads the version out of a release (6.1.0-28-amd64, 6.12.9+bpo-amd64), a tag (v6.6.54, 6.11-rc3), a
// package's file name, or the path of a kernel.
func parseVersion(name string) version {
	parts := strings.Split(name, "/")
	for _, part := range slices.Backward(parts) {
		if m := packageVersion().FindStringSubmatch(part); m != nil {
			part, _, _ = strings.Cut(m[1], "-") // the package's own revision follows
		}
		m := kernelVersion().FindStringSubmatch(part)
		if m == nil {
			continue
		}
		v := version{major: atoi(m[1]), minor: atoi(m[2]), patch: atoi(m[3]), candidate: atoi(m[4]), known: true}
		if m[3] == "0" && m[4] == "" {
			v.debian = atoi(m[5])
		}
		return v
	}
	return version{}
}

// atoi parses digits that are few enough; it returns 0 for none.
func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

func (v version) branch() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

func (v version) String() string {
	switch {
	case !v.known:
		return ""
	case v.debian > 0:
		return fmt.Sprintf("%s.0-%d", v.branch(), v.debian)
	}
	text := v.branch()
	if v.patch > 0 {
		text += fmt.Sprintf(".%d", v.patch)
	}
	if v.candidate > 0 {
		text += fmt.Sprintf("-rc%d", v.candidate)
	}
	return text
}

// compareVersions orders branches by their start, and candidates before releases within a branch.
func compareVersions(a, b version) int {
	released := func(v version) int {
		if v.candidate > 0 {
			return v.candidate
		}
		return 1 << 16
	}
	return cmp.Or(cmp.Compare(a.major, b.major), cmp.Compare(a.minor, b.minor), cmp.Compare(a.patch, b.patch),
		cmp.Compare(released(a), released(b)), cmp.Compare(a.debian, b.debian))
}

// versionOf returns the version that an arm's kernel reported, if it was saved, or the version in the name of the
// level.
func versionOf(a Arm) version {
	v := parseVersion(a.Name)
	for _, f := range a.Facts {
		switch f.Key {
		case "kernel.release":
			if !v.known {
				v = parseVersion(f.Value)
			}
		case "kernel.version":
			if m := builtFrom().FindStringSubmatch(f.Value); m != nil {
				return parseVersion(m[1])
			}
		}
	}
	return v
}

func ofKernels(factor string) bool { return strings.HasPrefix(factor, "kernel:") || factor == "kernel" }

// orderKernels sorts the levels of a kernel: factor by version. Levels without a version come last.
func (in *Input) orderKernels() {
	if !ofKernels(in.Factor) {
		return
	}
	order := make([]int, len(in.Levels))
	versions := make([]version, len(in.Levels))
	for i, l := range in.Levels {
		order[i], versions[i] = i, versionOf(l)
		if versions[i].debian > 0 {
			in.Notes = append(in.Notes,
				fmt.Sprintf("%s counts by Debian's own number; which %s.y it was made of is not known", l.Name,
					versions[i].branch()))
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if versions[a].known != versions[b].known {
			if versions[a].known {
				return -1
			}
			return 1
		}
		return compareVersions(versions[a], versions[b])
	})
	place := make([]int, len(order)+1)
	levels := make([]Arm, len(order))
	for to, from := range order {
		place[from], levels[to] = to, in.Levels[from]
	}
	place[len(order)] = len(order) // the reference
	in.Levels, in.Baseline = levels, place[in.Baseline]
	in.Measured, in.Warnings = slices.Clone(in.Measured), slices.Clone(in.Warnings)
	for i, m := range in.Measured {
		if m.Level >= 0 && m.Level < len(place) {
			in.Measured[i].Level = place[m.Level]
		}
	}
	for i, w := range in.Warnings {
		if w.Level >= 0 && w.Level < len(place) {
			in.Warnings[i].Level = place[w.Level]
		}
	}
}

// chain returns nil for levels that are not kernels. A change between neighbours is one of the pairs of levels that all
// hold together, so there may be several along the chain.
func (in *Input) chain(rows []*row) *Chain {
	if !ofKernels(in.Factor) {
		return nil
	}
	out := &Chain{Kernels: []Kernel{}, Changes: []ChainChange{}}
	versions := make([]version, len(in.Levels))
	for i, l := range in.Levels {
		v := versionOf(l)
		versions[i] = v
		k := Kernel{Level: l.Name, Version: v.String()}
		if v.known {
			k.Branch = v.branch()
			k.Support, k.Ends = support(v)
		}
		out.Kernels = append(out.Kernels, k)
	}
	for _, r := range rows {
		last := -1
		for i := range in.Levels {
			if !r.measured(i) {
				continue
			}
			if last >= 0 {
				out.Compared++
				d := r.ratios[i][last].Decide(r.margin)
				if d == stat.Undecided {
					out.Undecided++
				}
				if d == stat.Above || d == stat.Below {
					better, worse := i, last
					if d == stat.Below {
						better, worse = last, i
					}
					out.Changes = append(out.Changes, ChainChange{Cell: r.cell.ID, Title: r.cell.Title,
						Metric: r.metric, From: in.name(last), To: in.name(i),
						SameBranch: versions[i].known && versions[last].known && versions[i].branch() ==
							versions[last].branch(),
						Ratio:    *r.published(r.ratios[i][last]),
						LacksFix: missingFixes(in.Levels[better], in.Levels[worse])})
				}
			}
			last = i
		}
	}
	return out
}

const vulnerability = "cpu.vulnerability."

// missingFixes returns the mitigations that one kernel has and the other reports as missing, or does not know: a kernel
// that is older than a vulnerability has no file for it.
func missingFixes(lacking, having Arm) []MissingFix {
	says := map[string]string{}
	for _, f := range lacking.Facts {
		if name, ok := strings.CutPrefix(f.Key, vulnerability); ok && f.Unknown == "" {
			says[name] = f.Value
		}
	}
	if len(says) == 0 {
		return nil // nothing is known, which does not show that a fix is missing
	}
	var out []MissingFix
	for _, f := range having.Facts {
		name, ok := strings.CutPrefix(f.Key, vulnerability)
		if !ok || !strings.HasPrefix(f.Value, "Mitigation") {
			continue
		}
		state, known := says[name]
		if unknown(lacking.Facts, f.Key) || known && !strings.HasPrefix(state, "Vulnerable") {
			continue
		}
		out = append(out, MissingFix{Vulnerability: name, Level: lacking.Name, Says: state, Other: having.Name,
			OtherSays: f.Value})
	}
	slices.SortFunc(out, func(a, b MissingFix) int { return cmp.Compare(a.Vulnerability, b.Vulnerability) })
	return out
}

// unknown reports whether a fact could not be read, as opposed to a missing fact.
func unknown(facts []lab.Fact, key string) bool {
	return slices.ContainsFunc(facts, func(f lab.Fact) bool { return f.Key == key && f.Unknown != "" })
}

// branch is a branch of Linux that is maintained for years. Ends is the month of its projected end.
type branch struct {
	name, ends   string
	major, minor int
}

// longterm returns the branches that kernel.org lists as longterm, or did. Every other branch ended some weeks after
// its successor was released. Source: https://www.kernel.org/category/releases.html, "Longterm release kernels", as of
// 2025, with branches of earlier versions of the page that have ended since.
func longterm() []branch {
	return []branch{
		{"4.14", "2024-01", 4, 14},
		{"4.19", "2024-12", 4, 19},
		{"5.4", "2025-12", 5, 4},
		{"5.10", "2026-12", 5, 10},
		{"5.15", "2026-12", 5, 15},
		{"6.1", "2027-12", 6, 1},
		{"6.6", "2026-12", 6, 6},
		{"6.12", "2026-12", 6, 12},
	}
}

// support returns the support of the branch of a version: empty if it is newer than the list.
func support(v version) (state, ends string) {
	list := longterm()
	for _, b := range list {
		if b.major == v.major && b.minor == v.minor {
			return "longterm", b.ends
		}
	}
	newest := list[len(list)-1]
	if compareVersions(version{major: v.major, minor: v.minor}, version{major: newest.major, minor: newest.minor}) < 0 {
		return "end of life", ""
	}
	return "", ""
}
