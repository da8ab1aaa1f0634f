package qemu

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/golden"
	"github.com/headroom/headroom/internal/yamlfile"
)

// Each faulty file lists its problems in its comments: all of them, with their places.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var body, want []string
		for line := range strings.Lines(string(data)) {
			if problem, ok := strings.CutPrefix(line, "# want: "); ok {
				want = append(want, strings.TrimSuffix(problem, "\n"))
			} else {
				body = append(body, line)
			}
		}
		f, err := Decode(file, data)
		var problems yamlfile.Problems
		if !errors.As(err, &problems) || lab.KindOf(err) != lab.Usage {
			t.Errorf("%s: %v, want problems of usage", file, err)
			continue
		}
		if !reflect.DeepEqual(f, File{}) {
			t.Errorf("%s: a faulty file gave %+v", file, f)
		}
		var got []string
		for _, p := range problems {
			p.File = filepath.Base(p.File)
			got = append(got, p.Error())
		}
		if golden.Update() {
			text := strings.Join(body, "") + "# want: " + strings.Join(got, "\n# want: ") + "\n"
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n  %s\nwant\n  %s", file, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}
}

// The example of the documentation is valid.
func TestExample(t *testing.T) {
	got, err := Decode("docs/guest.yaml", []byte(example(t)))
	if err != nil {
		t.Fatal(err)
	}
	want := File{Kernel: "6.1.0-50-amd64", Arguments: []string{"audit=0"}, Type: "q35", Limit: 3 * time.Minute,
		Machine: Machine{CPUs: 2, Memory: 1 << 30, IOMMU: "none"}, Modules: []string{"ext4"},
		Programs: []string{"mkfs.ext4"},
		Disks: []Disk{{Name: "fast", Kind: nvme, Backing: onImage, Size: 1 << 30, Cache: "none", AIO: "threads"},
			{Name: "virtual", Kind: virtioBlk, Backing: onImage, Size: 1 << 30, Cache: "writeback", AIO: "threads",
				Queues: 2, IOThreads: 1},
			{Name: "nothing", Kind: virtioSCSI, Backing: onNull, Size: 1 << 30, IOThreads: 1}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// example returns the first YAML block of docs/howto/guests.md.
func example(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/howto/guests.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, begins := strings.Cut(string(page), "```yaml\n")
	text, _, ends := strings.Cut(after, "```")
	if !begins || !ends {
		t.Fatal("docs/howto/guests.md has no example")
	}
	return text
}

func FuzzDecode(f *testing.F) {
	f.Add("version: 1\nkernel: 6.1.0\ndisks:\n  - {name: a, size: 1g, kind: virtio-blk, iothreads: 2}\n")
	f.Add("version: 1\nimage: .\nssh: {user: root}\n")
	f.Add("version: 1\nkernel: &a [*a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Decode("x.yaml", []byte(text))
		if err == nil && g.Kernel == "" && g.Image == "" {
			t.Errorf("nothing to start in %q", text)
		}
	})
}
