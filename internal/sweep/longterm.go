package sweep

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
