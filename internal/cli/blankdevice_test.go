package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"headroom/internal/lab"
	"headroom/internal/target"
)

// handedOut is this machine with a volume that somebody else made for it.
type handedOut struct{ *target.Local }

func (handedOut) MadeBlank(context.Context, string) (bool, error) { return true, nil }
func (handedOut) Unseen() bool                                    { return true }

// cmpless is one that has no cmp.
type cmpless struct{ handedOut }

func (c cmpless) Run(ctx context.Context, argv ...string) (target.Output, error) {
	if argv[0] == "cmp" {
		return target.Output{ExitCode: 127}, nil
	}
	return c.handedOut.Run(ctx, argv...)
}

// TestAVolumeIsReadWhole: a block of data anywhere on a volume that was handed out is found, with cmp and without.
func TestAVolumeIsReadWhole(t *testing.T) {
	const size = 1<<30 + 32<<20
	volume := filepath.Join(t.TempDir(), "volume")
	f, err := os.Create(volume)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	local := handedOut{target.NewLocal(t.TempDir())}
	m := &measurement{program: &program{Surroundings: Surroundings{Stderr: io.Discard}}}
	look := func(on target.Target) error { return (&blankDevice{on, volume}).look(context.Background(), m, size) }
	if err := look(local); err != nil {
		t.Errorf("a blank volume: %v", err)
	}
	for _, at := range []int64{size - 20<<20, size - 24<<20 + 4096} {
		if _, err := f.WriteAt([]byte("data"), at); err != nil {
			t.Fatal(err)
		}
		for _, on := range []target.Target{local, cmpless{local}} {
			if err := look(on); lab.KindOf(err) != lab.Refused ||
				!strings.Contains(err.Error(), "and holds data at byte") {
				t.Errorf("data at %d: %v", at, err)
			}
		}
	}
}
