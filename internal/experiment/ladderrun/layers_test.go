package ladderrun

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/app"
)

func TestLayersOfTheCommandLine(t *testing.T) {
	for args, want := range map[string][]layerSide{
		"/dev/sdb /srv":           {{"", app.LocalTarget, "/dev/sdb"}, {"", app.LocalTarget, "/srv"}},
		"raw=/dev/sdb files=/srv": {{"raw", app.LocalTarget, "/dev/sdb"}, {"files", app.LocalTarget, "/srv"}},
		"ssh://db1 /dev/sdb /srv": {{"", "ssh://db1", "/dev/sdb"}, {"", "ssh://db1", "/srv"}},
		"/dev/sdb ssh://db1 /srv local /mnt": {{"", app.LocalTarget, "/dev/sdb"}, {"", "ssh://db1", "/srv"},
			{"", app.LocalTarget, "/mnt"}},
		"kube:pod?privileged raw=/dev/sdb pod=kube:pod?class=a vm=kube:pod?class=b": {
			{"raw", "kube:pod?privileged", "/dev/sdb"}, {"pod", "kube:pod?class=a", ""},
			{"vm", "kube:pod?class=b", ""}},
		"raw=ssh://db1 /dev/sdb /srv": {{"raw", "ssh://db1", "/dev/sdb"}, {"", "ssh://db1", "/srv"}},
		"/srv local":                  {{"", app.LocalTarget, "/srv"}}, // which is too few
	} {
		if got := layersOf(strings.Fields(args), new(app.App).AllKinds()); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", args, got, want)
		}
	}
}
