package experiment

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// providedDevice is this machine with a volume that somebody else made for it.
type providedDevice struct{ *host.Local }

func (providedDevice) MadeBlank(context.Context, string) (bool, error) { return true, nil }

func (providedDevice) Unseen() bool { return true }

// withoutCmp is one that has no cmp.
type withoutCmp struct{ providedDevice }

func (c withoutCmp) Run(ctx context.Context, argv ...string) (host.Output, error) {
	if argv[0] == "cmp" {
		return host.Output{ExitCode: 127}, nil
	}
	return c.providedDevice.Run(ctx, argv...)
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
	local := providedDevice{host.NewLocal(t.TempDir())}
	r := reading{app: app.New(app.Environment{Stderr: io.Discard})}
	look := func(on host.Target) error { return (&blankDevice{on, volume}).look(context.Background(), r, size) }
	if err := look(local); err != nil {
		t.Errorf("a blank volume: %v", err)
	}
	for _, at := range []int64{size - 20<<20, size - 24<<20 + 4096} {
		if _, err := f.WriteAt([]byte("data"), at); err != nil {
			t.Fatal(err)
		}
		for _, on := range []host.Target{local, withoutCmp{local}} {
			if err := look(on); lab.KindOf(err) != lab.Refused ||
				!strings.Contains(err.Error(), "and holds data at byte") {
				t.Errorf("data at %d: %v", at, err)
			}
		}
	}
}
