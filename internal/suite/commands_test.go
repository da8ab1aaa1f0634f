package suite

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		suite       string
		place       lab.PlaceKind
		asPublished bool
	}{
		{"nvme", lab.Device, false},
		{"nvme", lab.Device, true},
		{"quick", lab.Directory, false},
		{"quick", lab.Device, false},
		{"nfs", lab.Directory, false},
		{"pgbench", lab.Directory, false},
		{"build", lab.Directory, false},
		{"network", lab.NoPlace, false},
	} {
		s, err := Load(c.suite)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := s.Commands(c.place, c.asPublished)
		if err != nil {
			t.Fatal(err)
		}
		name := c.suite + "-" + string(c.place)
		if c.asPublished {
			name += "-as-published"
		}
		compareGolden(t, "commands-"+name+".txt", strings.Join(lines, "\n")+"\n")
	}
	s, err := Load("nvme")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commands(lab.Directory, false); lab.KindOf(err) != lab.Usage {
		t.Errorf("commands of nvme for a directory: %v, want a usage error", err)
	}
	if lines, err := oneSuite(t, "{rw: read, ioengine: null, size: 1g}").Commands(lab.NoPlace, false); err != nil ||
		strings.Contains(strings.Join(lines, "\n"), "filename") {
		t.Errorf("a load that touches nothing: %q, %v", lines, err)
	}
}

// oneSuite returns a suite of one job with these fio parameters.
func oneSuite(t testing.TB, fio string) Suite {
	t.Helper()
	return decoded(t, "version: 1\njobs:\n  - {name: job, fio: "+fio+"}\n")
}

func TestScratchSize(t *testing.T) {
	for fio, want := range map[string]string{
		"{rw: read}":              "0",
		"{rw: read, size: 50%}":   "0",
		"{rw: read, size: 1536m}": "1536m",
		"{rw: read, size: 1000}":  "1000",
		"{rw: read, size: 1g, offset_increment: 2g, numjobs: 4}":          "7g",
		"{rw: read, size: 8p, offset_increment: 4000p, numjobs: 4000000}": "4194304t",
	} {
		s := oneSuite(t, fio)
		cells, err := s.Cells(lab.Directory, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytesFor(s.ScratchSize(cells)); got != want {
			t.Errorf("%s: %s, want %s", fio, got, want)
		}
	}
	s, err := Load("nfs")
	if err != nil {
		t.Fatal(err)
	}
	if cells, _ := s.Cells(lab.Directory, false); s.ScratchSize(cells) != 8<<30 {
		t.Errorf("nfs needs a file of %d", s.ScratchSize(cells))
	}
}
