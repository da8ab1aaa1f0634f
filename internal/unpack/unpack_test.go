package unpack_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/headroom/headroom/internal/unpack"
)

// bzip2Text is the text compressed by bzip2.
const bzip2Text = "425a6839314159265359a7142b77000002c180001002018480200021800c0238f51b8bb9229c2848538a15bb80"

const text = "one\ntwo\n"

func packed(t *testing.T, to func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := to(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReader(t *testing.T) {
	// Go can't write bzip2: printf 'one\ntwo\n' | bzip2.
	bz2, err := hex.DecodeString(bzip2Text)
	if err != nil {
		t.Fatal(err)
	}
	for suffix, data := range map[string][]byte{
		".gz":  packed(t, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }),
		".xz":  packed(t, func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }),
		".zst": packed(t, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }),
		".bz2": bz2,
		"":     []byte(text),
	} {
		r, err := unpack.Reader(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%q: %v", suffix, err)
		}
		if got, err := io.ReadAll(r); string(got) != text || err != nil {
			t.Errorf("%q: %q, %v", suffix, got, err)
		}
		if unpack.Packed(data) != (suffix != "") {
			t.Errorf("%q: Packed is %v", suffix, unpack.Packed(data))
		}
		if got := unpack.Name("results.json" + suffix); got != "results.json" {
			t.Errorf("%q: the name is %q", suffix, got)
		}
		if suffix == "" {
			continue
		}
		cut := data[:len(data)-len(data)/4]
		if r, err := unpack.Reader(bytes.NewReader(cut)); err == nil {
			if got, err := io.ReadAll(r); err == nil {
				t.Errorf("%q, cut off: %q without an error", suffix, got)
			}
		}
	}
}

func TestText(t *testing.T) {
	for name, data := range map[string]string{
		"plain": "a\u00e9", "mark": "\xef\xbb\xbfa\u00e9",
		"little endian": "\xff\xfea\x00\xe9\x00", "big endian": "\xfe\xff\x00a\x00\xe9",
	} {
		if got := unpack.Text([]byte(data)); string(got) != "a\u00e9" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
