package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func TestJobFiles(t *testing.T) {
	for name, data := range fixtures(t, "testdata/jobs/*.fio") {
		t.Run(name, func(t *testing.T) {
			s, err := DecodeJobFile(name, []byte(data))
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			fmt.Fprintf(&b, "%s: place %s, path %q, size %d\n", s.Name, s.Place, s.Path, s.Size)
			for _, n := range s.Notes {
				b.WriteString("note: " + n + "\n")
			}
			kind := lab.Directory
			if s.Place == Device {
				kind = lab.Device
			}
			if !s.TouchesStorage() {
				kind = lab.NoPlace
			}
			cells, err := s.Cells(kind, false)
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, name+".txt", b.String()+describe(cells))
		})
	}
}

func TestBadJobFiles(t *testing.T) {
	for name, data := range fixtures(t, "testdata/badjobs/*.fio") {
		t.Run(name, func(t *testing.T) {
			want := wanted(data, "want")
			if len(want) == 0 {
				t.Fatal("the fixture does not say which problems it has")
			}
			_, err := DecodeJobFile(name, []byte(data))
			checkProblems(t, err, want)
		})
	}
}

func TestResolvePath(t *testing.T) {
	onSda := Suite{Path: "/dev/sda"}
	for _, c := range []struct {
		suite       Suite
		typed, want string
	}{
		{onSda, "", "/dev/sda"},
		{onSda, "/dev/sda", "/dev/sda"},
		{onSda, "/dev/../dev/sda", "/dev/../dev/sda"},
		{Suite{}, "/mnt", "/mnt"},
		{Suite{}, "", ""},
	} {
		if got, err := c.suite.ResolvePath(c.typed); got != c.want || err != nil {
			t.Errorf("%q and %q: %q, %v; want %q", c.suite.Path, c.typed, got, err, c.want)
		}
	}
	if got, err := onSda.ResolvePath("/dev/sdb"); lab.KindOf(err) != lab.Usage {
		t.Errorf("a clash gave %q, %v", got, err)
	}
}

func FuzzDecodeJobFile(f *testing.F) {
	for _, pattern := range []string{"testdata/jobs/*.fio", "testdata/badjobs/*.fio"} {
		for _, data := range fixtures(f, pattern) {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data string) {
		s, err := DecodeJobFile("fuzz.fio", []byte(data))
		if err != nil {
			if lab.KindOf(err) != lab.Usage || err.Error() == "" {
				t.Fatalf("not a usage error: %v", err)
			}
			return
		}
		place := lab.PlaceKind(s.Place)
		if s.Place == Any {
			place = lab.Directory
		}
		checkExpansion(t, s, place)
	})
}
