package paired

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
)

func TestSidesOfALiveComparison(t *testing.T) {
	for _, c := range []struct {
		args       string
		suite, set string
		base, next liveSide
	}{
		{"/mnt/a /mnt/b", "", "", liveSide{"quick", "/mnt/a", app.LocalTarget},
			liveSide{"quick", "/mnt/b", app.LocalTarget}},
		{"/mnt/a /mnt/b", "nvme", "", liveSide{"nvme", "/mnt/a", app.LocalTarget},
			liveSide{"nvme", "/mnt/b", app.LocalTarget}},
		{"cdm /mnt/a /mnt/a", "", "", liveSide{"cdm", "/mnt/a", app.LocalTarget},
			liveSide{"cdm", "/mnt/a", app.LocalTarget}},
		{"a.yaml b.fio /srv", "", "", liveSide{"a.yaml", "/srv", app.LocalTarget},
			liveSide{"b.fio", "/srv", app.LocalTarget}},
		{"/srv", "", "iodepth=1", liveSide{"quick", "/srv", app.LocalTarget},
			liveSide{"quick", "/srv", app.LocalTarget}},
		{"./quick /srv", "", "", liveSide{"quick", "./quick", app.LocalTarget},
			liveSide{"quick", "/srv", app.LocalTarget}},
		// loads without storage
		{"a.yaml b.yaml", "", "", liveSide{"a.yaml", "", app.LocalTarget}, liveSide{"b.yaml", "", app.LocalTarget}},
		{"ssh://a ssh://b /srv", "", "", liveSide{"quick", "/srv", "ssh://a"}, liveSide{"quick", "/srv", "ssh://b"}},
		{"ssh://a /a /b nvme", "", "", liveSide{"nvme", "/a", "ssh://a"}, liveSide{"nvme", "/b", "ssh://a"}},
		{"local qemu:guest.yaml /a /b", "", "", liveSide{"quick", "/a", app.LocalTarget},
			liveSide{"quick", "/b", "qemu:guest.yaml"}},
		{"kube:pod?class=fast kube:pod?class=slow", "", "", liveSide{"quick", "", "kube:pod?class=fast"},
			liveSide{"quick", "", "kube:pod?class=slow"}},
	} {
		o := LiveOptions{Suite: c.suite}
		if c.set != "" {
			o.SetBase = []string{c.set}
		}
		base, next, err := o.sides(strings.Fields(c.args), new(app.App).AllKinds())
		if err != nil || base != c.base || next != c.next {
			t.Errorf("%s: %v against %v, %v", c.args, base, next, err)
		}
	}
	for _, args := range []string{"", "/srv", "quick", "quick /srv", "/a /b /c", "a.yaml b.yaml c.yaml /srv",
		"ssh://a /srv", "ssh://a ssh://b ssh://c /srv"} {
		if _, _, err := (&LiveOptions{}).sides(strings.Fields(args), new(app.App).AllKinds()); lab.KindOf(err) !=
			lab.Usage {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
}

func TestTermsOfALiveComparison(t *testing.T) {
	got, err := (&LiveOptions{Confirm: 4}).terms(0.03, 0.05, []string{"read.iops"})
	if err != nil || got.Pairs != DefaultPairs || got.Confirm != 4 || got.Margin != 0.03 || got.Alpha != 0.05 ||
		len(got.Metrics) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, o := range []LiveOptions{{Confirm: -1}, {Budget: -1}} {
		if _, err := o.terms(0.03, 0.05, nil); lab.KindOf(err) != lab.Usage {
			t.Errorf("%+v: %v, want a usage error", o, err)
		}
	}
}

// As many claims as metrics that can decide: what one error probability is shared by must be known before anything is
// measured.
func TestClaimsOfACell(t *testing.T) {
	for _, c := range []struct {
		rw, metrics string
		want        int
	}{
		{"randread", "", 1}, {"write", "", 1}, {"randrw", "", 2}, {"", "", 1}, {"readwrite:4", "", 2}, {"trim", "", 1},
		{"randread", "read.iops write.iops", 1}, {"randrw", "read.iops write.iops", 2},
		{"write", "write.iops cpu.per_io", 2},
	} {
		contest := pairedComparison{terms: lab.Terms{Metrics: strings.Fields(c.metrics)}}
		if got := contest.decidedMetrics(lab.Cell{Params: map[string]string{"rw": c.rw}}); got != c.want {
			t.Errorf("%s by %q: %d claims, want %d", c.rw, c.metrics, got, c.want)
		}
	}
}
