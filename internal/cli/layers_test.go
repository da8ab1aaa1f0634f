package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestLayersOfTheCommandLine(t *testing.T) {
	for args, want := range map[string][]layerSide{
		"/dev/sdb /srv":           {{"", localTarget, "/dev/sdb"}, {"", localTarget, "/srv"}},
		"raw=/dev/sdb files=/srv": {{"raw", localTarget, "/dev/sdb"}, {"files", localTarget, "/srv"}},
		"ssh://db1 /dev/sdb /srv": {{"", "ssh://db1", "/dev/sdb"}, {"", "ssh://db1", "/srv"}},
		"/dev/sdb ssh://db1 /srv local /mnt": {{"", localTarget, "/dev/sdb"}, {"", "ssh://db1", "/srv"},
			{"", localTarget, "/mnt"}},
		"kube:pod?privileged raw=/dev/sdb pod=kube:pod?class=a vm=kube:pod?class=b": {
			{"raw", "kube:pod?privileged", "/dev/sdb"}, {"pod", "kube:pod?class=a", ""},
			{"vm", "kube:pod?class=b", ""}},
		"raw=ssh://db1 /dev/sdb /srv": {{"raw", "ssh://db1", "/dev/sdb"}, {"", "ssh://db1", "/srv"}},
		"/srv local":                  {{"", localTarget, "/srv"}}, // which is too few
	} {
		if got := layersOf(strings.Fields(args), new(program).allKinds()); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", args, got, want)
		}
	}
}
