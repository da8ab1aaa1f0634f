// Package unpack converts compressed files and UTF-16 to plain text.
package unpack

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"golang.org/x/text/encoding/unicode"
)

// maxWindow bounds the memory that an untrusted file can demand.
const maxWindow = 128 << 20

// format is a compression format, with its magic bytes and the suffix of its files.
type format struct {
	magic, suffix string
	reader        func(head []byte, from io.Reader) (io.Reader, error)
}

func formats() []format {
	return []format{
		{"\x1f\x8b", ".gz", func(_ []byte, from io.Reader) (io.Reader, error) { return gzip.NewReader(from) }},
		{"BZh", ".bz2", func(_ []byte, from io.Reader) (io.Reader, error) { return bzip2.NewReader(from), nil }},
		{"\x28\xb5\x2f\xfd", ".zst", readZstandard},
		{"\xfd7zXZ\x00", ".xz", readXZ},
	}
}

// Packed reports whether a file that begins with head is compressed.
func Packed(head []byte) bool { return formatOf(head) != nil }

func formatOf(head []byte) *format {
	all := formats()
	i := slices.IndexFunc(all, func(f format) bool { return bytes.HasPrefix(head, []byte(f.magic)) })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// Reader returns a reader of the content of a compressed stream, or of an uncompressed stream itself.
func Reader(from io.Reader) (io.Reader, error) {
	in := bufio.NewReaderSize(from, 64<<10)
	head, _ := in.Peek(64)
	if f := formatOf(head); f != nil {
		return f.reader(head, in)
	}
	return in, nil
}

func readZstandard(_ []byte, from io.Reader) (io.Reader, error) {
	z, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}

// readXZ refuses a window that is too large. The filter LZMA2 has the number 0x21 and one byte, which encodes the
// window: 30 means 128 MiB. Source: The .xz File Format, 3.1 and 5.3.1.
func readXZ(head []byte, from io.Reader) (io.Reader, error) {
	at := bytes.Index(head, []byte{0x21, 0x01})
	if at < 0 || at+2 >= len(head) {
		return nil, errors.New("its compression is damaged, or of a kind that is not read")
	}
	if head[at+2] > 30 {
		return nil, errors.New("its compression needs more than 128 MiB of memory")
	}
	return xz.NewReader(from)
}

// Name returns the name of a file without the suffix of its compression: results.json of results.json.gz.
func Name(name string) string {
	for _, f := range formats() {
		if plain, ok := strings.CutSuffix(name, f.suffix); ok {
			return plain
		}
	}
	return name
}

// Text removes a byte order mark and converts UTF-16 to UTF-8; text without a mark is returned unchanged.
// CrystalDiskMark and redirections in PowerShell write UTF-16.
func Text(data []byte) []byte {
	if rest, ok := bytes.CutPrefix(data, []byte("\xef\xbb\xbf")); ok {
		return rest
	}
	if !bytes.HasPrefix(data, []byte{0xff, 0xfe}) && !bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return data
	}
	// Ill-formed text becomes U+FFFD, so this can't fail.
	text, _ := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(data)
	return text
}
