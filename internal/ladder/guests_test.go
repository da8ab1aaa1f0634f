package ladder

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
)

// disk adds a disk of a guest, which is compared with the rung of a place from 0.
func (m *machine) disk(guest, name, backing, like string, below int, rate float64) *machine {
	s := Step{Below: below, Like: like, Rung: Rung{Name: name + " in " + guest, Kind: Guest, Target: "qemu:" + guest,
		Places: []string{"/dev/vd" + name[:1]},
		Disks:  []string{"vda"}, Interface: "virtio-blk", Backing: backing, CPUs: 2, Jobs: 4}}
	m.steps, m.rates = append(m.steps, s), append(m.rates, rate)
	return m
}

// top is the file system of fourDrives.
const top = 9

func healthy() *machine { return fourDrives(4e9, 4e9, 4e9) }

func TestWhatAGuestLosesIsVirtioOrTheStorageBehindIt(t *testing.T) {
	for _, c := range []struct {
		name string
		m    *machine
		rung string // that the answer names; empty for none
		// cause at the last rung, and what is said of it.
		verdict Verdict
		cause   Cause
		want    []string
	}{
		{"virtio", healthy().disk("g", "none", "null", "blk", top, 2e9).disk("g", "data", "image", "blk", top, 2e9),
			"none in g", Short, Emulation,
			[]string{"data in g reaches 50%", "of /srv (", "it is virtio-blk itself: none in g reaches 5",
				"as well, with no storage behind it"}},
		{"the storage", healthy().disk("g", "none", "null", "blk", top, 9e9).disk("g", "data", "image", "blk", top,
			2e9), "data in g", Short, Storage,
			[]string{"it is the storage behind it: virtio-blk itself is enough, for none in g reaches 22"}},
		{"the storage, beside memory", healthy().disk("g", "mem", "memory", "blk", top, 9e9).disk("g", "data", "file",
			"blk", top, 2e9), "data in g", Short, Storage,
			[]string{"for mem in g reaches 22"}},
		{"both", healthy().disk("g", "none", "null", "blk", top, 2e9).disk("g", "data", "image", "blk", top, 1e9),
			"none in g", Short, Both,
			[]string{"it is virtio-blk itself (none in g reaches 5", "and the storage behind it takes more"}},
		{"no disk to tell by", healthy().disk("g", "data", "image", "blk", top, 2e9), "data in g", Short, Unclear,
			[]string{"is undecided: the guest has no disk"}},
		{"another guest's disk tells nothing", healthy().disk("h", "none", "null", "blk", top, 9e9).disk("g", "data",
			"image", "blk", top, 2e9), "data in g", Short, Unclear,
			[]string{"the guest has no disk"}},
		{"a disk with other queues tells nothing", healthy().disk("g", "none", "null", "two queues", top, 9e9).disk("g",
			"data", "image", "blk", top, 2e9), "data in g", Short, Unclear,
			[]string{"the guest has no disk"}},
		{"one that is compared with another rung tells nothing", healthy().disk("g", "none", "null", "blk", top-1,
			9e9).disk("g", "data", "image", "blk", top, 2e9), "data in g", Short, Unclear,
			[]string{"none in g is compared with another rung"}},
		{"nothing", healthy().disk("g", "none", "null", "blk", top, 9e9).disk("g", "data", "image", "blk", top, 4e9),
			"", Reaches, "",
			[]string{"data in g does what /srv does in read 1m q8"}},
		{"nothing is promised", healthy().disk("g", "none", "null", "blk", top, 9e9).disk("g", "data", "image", "blk",
			-1, 1e9), "", Unexpected, "", nil},
	} {
		d := c.m.analyze(rand.New(rand.NewPCG(1, 2)), 6)
		named := ""
		if d.Answer.Rung != nil {
			named = d.Rungs[*d.Answer.Rung].Name
		}
		last := d.Rungs[len(d.Rungs)-1].Cells[0]
		if named != c.rung || last.Verdict != c.verdict || last.Cause != c.cause {
			t.Errorf("%s: named %q, %s of %q: %s", c.name, named, last.Verdict, last.Cause, d.Answer.Text)
		}
		i := slices.IndexFunc(d.Guests, func(g GuestLoss) bool { return g.Rung == len(d.Rungs)-1 })
		if (i >= 0) != (c.want != nil) {
			t.Errorf("%s: %+v", c.name, d.Guests)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(d.Guests[i].Text, w) {
				t.Errorf("%s: nothing of %q in %q", c.name, w, d.Guests[i].Text)
			}
		}
	}
}

// A disk without storage that is as good as at the margin decides nothing, and this is reported.
func TestAnUndecidedDiskWithoutStorageExplainsNothing(t *testing.T) {
	d := healthy().disk("g", "none", "null", "blk", top, 4e9*(1-DefaultMargin)).disk("g", "data", "image", "blk", top,
		1e9).analyze(rand.New(rand.NewPCG(1, 2)), 4)
	bare, data := d.Rungs[top+1].Cells[0], d.Rungs[top+2].Cells[0]
	if bare.Verdict != Undecided || data.Cause != Unclear || !strings.Contains(d.Answer.Text,
		"is undecided: none in g reaches 9") || !strings.Contains(d.Answer.Text, "--passes") {
		t.Errorf("%s, %s: %s", bare.Verdict, data.Cause, d.Answer.Text)
	}
}

// The configuration of a guest is never taken for that of the host: its disks have the names of others, its processors
// are its own, and its ceiling is the disk without storage beside it.
func TestAGuestIsAnotherMachine(t *testing.T) {
	m := fourDrives(4e9, 4e9, 4e9).disk("g", "none", "null", "blk", top, 2e9).disk("g", "data", "image", "blk", top,
		1e9)
	// no rung is the drive b alone any more, but that of the guest is called so
	m.steps[3].Places = []string{"/dev/else"}
	m.steps[top+1].Places = []string{"/dev/b"}
	var measured []Measured
	for block := 1; block <= 4; block++ {
		for i, rate := range m.rates {
			measured = append(measured, Measured{Rung: i, Cell: "read", Block: block,
				Values: map[string]float64{"read.bandwidth": rate * (1 + 0.001*float64(block%2)), "cpu.user": 1,
					"cpu.system": 0.9}})
		}
	}
	d := Analyze(m.steps, []Load{read1m()}, measured, nil, nil, Terms{Margin: 0.05, Alpha: 0.05, Passes: 4, CPUs: 64})
	if e := d.Rungs[7].Cells[0].Expected; e != nil {
		t.Errorf("a disk of the guest was taken for one of the host: %+v", e)
	}
	if !strings.Contains(d.Answer.Text, "the guest's 2 processors") {
		t.Error(d.Answer.Text)
	}
	data := d.Rungs[top+2].Cells[0]
	if data.Ceiling == nil || data.Ceiling.Limiter != "none in g" || math.Abs(*data.Share-0.5) > 0.01 ||
		data.Verdict != Short {
		t.Errorf("%+v", data)
	}
	if none := d.Rungs[top+1].Cells[0]; none.Ceiling != nil {
		t.Errorf("%+v", none.Ceiling)
	}
}

// Of guests whose virtio carries all that the host's storage does, few are reported to lack by virtio what the storage
// lacks, and the other way round.
func TestFewCausesAreWrong(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	const ladders = 200
	count := func(bare, data float64) map[Cause]int {
		causes := map[Cause]int{}
		for range ladders {
			d := healthy().disk("g", "none", "null", "blk", top, bare).disk("g", "data", "image", "blk",
				top, data).analyze(r, 6)
			causes[d.Rungs[top+2].Cells[0].Cause]++
		}
		return causes
	}
	storage, virtio, atMargin := count(4e9, 2e9), count(2e9, 2e9), count(4e9*(1-DefaultMargin), 2e9)
	figure.Record(t, figure.Share("ladder/guests/storage", storage[Storage], ladders,
		figure.Higher).Saying("simulated guests whose storage lacks half, of which the storage is named"))
	figure.Record(t, figure.Share("ladder/guests/virtio", virtio[Emulation], ladders,
		figure.Higher).Saying("simulated guests whose virtio takes half, of which virtio is named"))
	figure.Record(t, figure.Share("ladder/guests/at-the-margin", atMargin[Emulation]+atMargin[Both], ladders,
		figure.Lower).Saying("simulated guests whose virtio is at the margin, of which it is accused"))
	if storage[Storage] < ladders*19/20 || virtio[Emulation] < ladders*19/20 ||
		atMargin[Emulation]+atMargin[Both] > ladders/20 {
		t.Errorf("%v, %v, %v", storage, virtio, atMargin)
	}
}
