package guard

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// blankEvidence is the evidence of a device that passed every check and was found empty.
func blankEvidence() Evidence {
	return Evidence{
		Path: "/dev/nvme1n1",
		Identity: Identity{Path: "/dev/nvme1n1", Device: "/dev/nvme1n1", Name: "nvme1n1", Disk: "nvme1n1",
			Size:  7681501126656,
			Model: "Samsung PM9A3", Serial: "S6CKNN0T700123"},
		Sample: Sample{Bytes: 7681501126656, Places: 1, Whole: true},
		Checks: Checks(),
	}
}

func writes() []lab.Step { return []lab.Step{lab.Discard, lab.Load} }

func TestJudgeAcceptsTheEmpty(t *testing.T) {
	v, err := Judge(blankEvidence(), writes(), false, Consent{})
	if err != nil || !v.MayWrite || !v.Empty {
		t.Fatalf("got %+v, %v", v, err)
	}
	const want = "Samsung PM9A3 7.68 TB (S6CKNN0T700123), empty: checked 9 ways, read all 6.99 TiB"
	if got := v.Identity.String() + ", " + v.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestJudgeReasons changes one thing at a time.
func TestJudgeReasons(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Evidence)
		want   string
		// content can be given up, use can't.
		content bool
	}{
		"mounted": {func(e *Evidence) { e.Uses = []Use{{"partition 2", "is mounted on /boot"}} },
			"partition 2 is mounted on /boot", false},
		"busy":      {func(e *Evidence) { e.Busy = "something" }, "can't be opened exclusively: something", false},
		"read-only": {func(e *Evidence) { e.ReadOnly = true }, "it is read-only", false},
		"no medium": {func(e *Evidence) { e.Identity.Size = 0 }, "it has no medium", false},
		"use unknown": {func(e *Evidence) { e.UseUnknown = []string{"can't read the mounts"} }, "can't read the mounts",
			false},
		"signature": {func(e *Evidence) {
			e.Signatures = []Signature{{Who: "it", What: "an ext4 file system", Offset: 0x438}}
		}, "it holds an ext4 file system (signature at 0x438)", true},
		"partitions": {func(e *Evidence) { e.Partitions = []string{"nvme1n1p1"} }, "it has partitions: nvme1n1p1",
			true},
		"stacked": {func(e *Evidence) { e.BuiltOn = []string{"sda", "sdb"} }, "it is built on sda, sdb", true},
		"data": {func(e *Evidence) { e.Sample.Data, e.Sample.DataAt = true, 4096 },
			"there are data at 0x1000", true},
		"content unknown": {func(e *Evidence) { e.ContentUnknown = []string{"can't read 512 bytes at 0x0"} },
			"can't read 512 bytes", true},
	} {
		t.Run(name, func(t *testing.T) {
			e := blankEvidence()
			c.change(&e)
			v, err := Judge(e, writes(), false, Consent{})
			refused(t, v, err, c.want)
			v, err = Judge(e, writes(), false, Consent{Destroy: Override(e.Identity.Token())})
			if !c.content {
				refused(t, v, err, c.want)
			} else if err != nil || !v.MayWrite || v.Empty || len(v.Overridden) == 0 {
				t.Errorf("naming the drive gave %+v, %v", v, err)
			}
			if v, err := Judge(e, []lab.Step{lab.Load}, true, Consent{}); err != nil || v.MayWrite || v.Empty {
				t.Errorf("a load that only reads gave %+v, %v", v, err)
			}
		})
	}
}

// TestJudgeNeedsEveryCheck checks that evidence without one of the checks never proves a device empty.
func TestJudgeNeedsEveryCheck(t *testing.T) {
	for i, missing := range Checks() {
		e := blankEvidence()
		e.Checks = slices.Delete(Checks(), i, i+1)
		v, err := Judge(e, writes(), false, Consent{Destroy: Override(e.Identity.Token())})
		refused(t, v, err, "not checked: "+string(missing))
	}
	v, err := Judge(Evidence{}, writes(), false, Consent{})
	refused(t, v, err, "it has no medium")
}

func TestJudgeAllowsOnlyLoadsThatRead(t *testing.T) {
	e := blankEvidence()
	e.Signatures = []Signature{{Who: "it", What: "an ext4 file system"}}
	for _, steps := range [][]lab.Step{
		{lab.Fill, lab.Load}, {lab.Discard, lab.Load}, {lab.Layout, lab.Load}, {lab.Load, lab.CleanUp},
		{"format", lab.Load}, {""},
	} {
		v, err := Judge(e, steps, true, Consent{})
		refused(t, v, err, "ext4")
	}
	v, err := Judge(e, nil, false, Consent{})
	refused(t, v, err, "ext4")
}

func TestJudgeTakesOnlyTheRightName(t *testing.T) {
	e := blankEvidence()
	for _, name := range []Override{"S6CKNN0T70012", "s6cknn0t700123", " S6CKNN0T700123", "7681501126656",
		"/dev/nvme1n1", "yes"} {
		// even if the device is empty: the user had another one in mind
		v, err := Judge(e, writes(), false, Consent{Destroy: name})
		refused(t, v, err, "does not name it")
	}
	e.Identity.Serial = ""
	v, err := Judge(e, writes(), false, Consent{Destroy: "7681501126656"})
	if err != nil || !v.MayWrite {
		t.Errorf("the size was not taken where there is no serial number: %v", err)
	}
	e.Sample.Data = true
	v, err = Judge(e, writes(), false, Consent{})
	refused(t, v, err, "there are data")
	if hints := hintsOf(err); !strings.Contains(hints, "--destroy 7681501126656") {
		t.Errorf("the hints do not give the override: %q", hints)
	}
}

// sampledEvidence is the evidence of a device of which only a sample was read.
func sampledEvidence() Evidence {
	e := blankEvidence()
	e.Sample = Sample{Bytes: 304 << 20, Places: 4200, Gap: 3 << 30, Misses: []Miss{{64 << 10, 0.9}}}
	return e
}

// TestJudgeTakesNoSampleForEmpty checks that a device that was not read whole is only written to if it is named, and is
// never called empty.
func TestJudgeTakesNoSampleForEmpty(t *testing.T) {
	e := sampledEvidence()
	v, err := Judge(e, writes(), false, Consent{})
	refused(t, v, err, "no data found in 0.0041% of it, and the rest was not read")
	if v.Empty || !strings.Contains(hintsOf(err), "--sampled S6CKNN0T700123") {
		t.Errorf("got %+v, %s", v, hintsOf(err))
	}
	for _, name := range []Override{"yes", "7681501126656"} {
		v, err = Judge(e, writes(), false, Consent{Sampled: name})
		refused(t, v, err, "does not name it")
		if hints := hintsOf(err); !strings.Contains(hints, "--sampled") || strings.Contains(hints, "--destroy") {
			t.Errorf("asked for a sample, the hints are %q", hints)
		}
	}
	token := Override(e.Identity.Token())
	for _, c := range []struct {
		consent             Consent
		may, sampled, later bool
		words               string
	}{
		{Consent{Sampled: token}, true, true, false,
			"no data found in 0.0041% of it (304 MiB in 4200 places, at most 3.00 GiB apart), checked 9 ways"},
		{Consent{Destroy: token}, true, false, false,
			"given up by name: no data found in 0.0041% of it, and the rest was not read"},
		{Consent{Later: true}, false, false, true,
			"no data found in 0.0041% of it; all of it is read before anything is written"},
	} {
		v, err := Judge(e, writes(), false, c.consent)
		if err != nil || v.MayWrite != c.may || v.Sampled != c.sampled || v.Unread != c.later || v.Empty ||
			v.String() != c.words {
			t.Errorf("%+v: got %+v (%s), %v", c.consent, v, v, err)
		}
	}
	e.Sample.Data = true
	v, err = Judge(e, writes(), false, Consent{Sampled: token})
	refused(t, v, err, "there are data")
	e = sampledEvidence()
	e.Uses = []Use{{"it", "is mounted on /srv"}}
	for _, consent := range []Consent{{Sampled: token}, {Destroy: token}, {Later: true}} {
		v, err = Judge(e, writes(), false, consent)
		refused(t, v, err, "is mounted on /srv")
	}
}

// TestMustRead checks that a device is read whole only if that decides.
func TestMustRead(t *testing.T) {
	token := Override(blankEvidence().Identity.Token())
	for name, c := range map[string]struct {
		evidence  Evidence
		onlyReads bool
		consent   Consent
		want      bool
	}{
		"sampled, nothing found": {sampledEvidence(), false, Consent{}, true},
		"read whole":             {blankEvidence(), false, Consent{}, false},
		"only read from":         {sampledEvidence(), true, Consent{}, false},
		"given up":               {sampledEvidence(), false, Consent{Destroy: token}, false},
		"a sample is enough":     {sampledEvidence(), false, Consent{Sampled: token}, false},
		"wrongly named":          {sampledEvidence(), false, Consent{Sampled: "x"}, false},
		"no device":              {Evidence{NotADevice: "a directory"}, false, Consent{}, false},
	} {
		steps := writes()
		if c.onlyReads {
			steps = []lab.Step{lab.Load}
		}
		if got := MustRead(c.evidence, steps, c.onlyReads, c.consent); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	e := sampledEvidence()
	e.Signatures = []Signature{{Who: "it", What: "an ext4 file system"}}
	if MustRead(e, writes(), false, Consent{}) {
		t.Error("a device with a file system is read")
	}
}

func TestJudgeNeedsADevice(t *testing.T) {
	for _, onlyReads := range []bool{true, false} {
		v, err := Judge(Evidence{Path: "/etc/passwd", NotADevice: "a regular file"}, []lab.Step{lab.Load},
			onlyReads, Consent{})
		refused(t, v, err, "it is a regular file")
	}
}

func refused(t *testing.T, v Verdict, err error, want string) {
	t.Helper()
	if lab.KindOf(err) != lab.Refused || v.MayWrite || !strings.Contains(err.Error(), want) {
		t.Errorf("got %+v, %v; want it refused with %q", v, err, want)
	}
	if hintsOf(err) == "" {
		t.Error("the refusal has no hints")
	}
}

func hintsOf(err error) string {
	e, ok := errors.AsType[*lab.Error](err)
	if !ok {
		return ""
	}
	return strings.Join(e.Hints, "\n")
}
