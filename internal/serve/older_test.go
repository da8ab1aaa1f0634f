package serve

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/headroom/headroom/internal/app"
)

// olderArchive has stores of all designs, as an older binary made them. What is compressed in a store is not in there.
const olderArchive = "../cli/testdata/older/bc96848.tar.zst"

// eachOlder calls f for each file of the archive: in which fixture it is, and its name there.
func eachOlder(t *testing.T, f func(fixture, name string, h *tar.Header, data []byte)) {
	t.Helper()
	packed, err := os.ReadFile(olderArchive)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(r)
		}
		parts := strings.SplitN(h.Name, "/", 3)
		if err != nil || len(parts) < 3 {
			t.Fatalf("%s: %v", h.Name, err)
		}
		f(parts[0]+"/"+parts[1], parts[2], h, data)
	}
}

// olderFixtures are the stores of measurements that ended.
func olderFixtures(t *testing.T) []string {
	t.Helper()
	all := map[string]bool{}
	eachOlder(t, func(fixture, _ string, _ *tar.Header, _ []byte) {
		if strings.HasSuffix(fixture, "/finished") {
			all[fixture] = true
		}
	})
	if len(all) == 0 {
		t.Fatal("the archive is empty")
	}
	return slices.Sorted(maps.Keys(all))
}

// older adds the runs of a fixture to a store.
func older(t *testing.T, a *app.App, wanted string) {
	t.Helper()
	packer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	eachOlder(t, func(fixture, name string, h *tar.Header, data []byte) {
		name, ok := strings.CutPrefix(name, "store/runs")
		if fixture != wanted || !ok || h.Typeflag != tar.TypeDir && h.Typeflag != tar.TypeReg {
			return
		}
		if strings.HasSuffix(name, ".zst") {
			data = packer.EncodeAll(data, nil)
		}
		name = filepath.Join(a.StoreDir, "runs", name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(name, 0o755)
		} else {
			err = errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, data, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}
