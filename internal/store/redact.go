package store

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
)

// ExportRedacted is Export for other people's eyes: what names a drive, an address, a host or a person is replaced by a
// short hash of itself, the same in every file of the bundle and in every bundle.
func (b *Bundle) ExportRedacted(w io.Writer) error {
	known, err := b.allFacts()
	if err != nil {
		return err
	}
	r := facts.NewRedactor(known)
	return b.export(w, func(archive *tar.Writer, name, as string) error {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if data, err = redacted(r, as, data); err != nil {
			return &lab.Error{What: "can't hide names in " + name, Err: err}
		}
		if path.Base(path.Dir(as)) == "facts" { // called by roles, some of which are names
			as = r.Text(as)
		}
		if err := archive.WriteHeader(&tar.Header{Name: as, Mode: 0o644, Size: int64(len(data)),
			Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err = archive.Write(data)
		return err
	})
}

// allFacts returns the facts of every target, from which a redactor learns what to look for.
func (b *Bundle) allFacts() ([]lab.Fact, error) {
	var all []lab.Fact
	for _, t := range b.Run.Targets {
		all = append(all, t.Facts...)
		for _, when := range []SnapshotTime{Before, After} {
			d, _, err := b.Facts(t.Role, when)
			if err != nil {
				return nil, err
			}
			all = append(all, d.Facts...)
		}
	}
	return all, nil
}

// redacted hides names in one file of a bundle, by what kind of file it is.
func redacted(r facts.Redactor, name string, data []byte) ([]byte, error) {
	switch {
	case path.Base(name) == headerName:
		return redactedHeader(r, data)
	case strings.HasSuffix(name, ".tar.zst"):
		return redactedRaw(r, data)
	case path.Base(path.Dir(name)) == "profiles":
		return redactedProfile(r, data)
	case strings.HasSuffix(name, ".json.zst"):
		return redactedFacts(r, data)
	}
	return []byte(r.Text(string(data))), nil
}

func redactedHeader(r facts.Redactor, data []byte) ([]byte, error) {
	var h header
	if err := json.Unmarshal(data, &h); err != nil {
		return nil, err
	}
	// A fact knows better than its text what to hide, so facts are kept out of the text.
	var kept [][]lab.Fact
	for i := range h.Run.Targets {
		kept = append(kept, hideAll(r, h.Run.Targets[i].Facts))
		h.Run.Targets[i].Facts = nil
	}
	plain, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	h = header{}
	if err := json.Unmarshal([]byte(r.Text(string(plain))), &h); err != nil {
		return nil, err
	}
	for i := range h.Run.Targets {
		h.Run.Targets[i].Facts = kept[i]
	}
	out, err := json.MarshalIndent(h, "", "  ")
	return append(out, '\n'), err
}

func hideAll(r facts.Redactor, all []lab.Fact) []lab.Fact {
	hidden := make([]lab.Fact, len(all))
	for i, f := range all {
		hidden[i] = r.Fact(f)
	}
	return hidden
}

func redactedFacts(r facts.Redactor, data []byte) ([]byte, error) {
	all := []lab.Fact{}
	d, err := readSnapshot(bytes.NewReader(data), func(f lab.Fact) bool {
		all = append(all, r.Fact(f))
		return true
	})
	if err != nil {
		return nil, err
	}
	d.Target, d.Facts = r.Text(d.Target), all
	plain, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	return packed(plain)
}

func redactedRaw(r facts.Redactor, data []byte) ([]byte, error) {
	plain, err := unpack(bytes.NewReader(data), maxUnpacked)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	var out bytes.Buffer
	from, to := tar.NewReader(plain), tar.NewWriter(&out)
	for {
		h, err := from.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		content, err := readMember(h, from)
		if err != nil {
			return nil, err
		}
		content = []byte(r.Text(string(content)))
		h.Name, h.Size = r.Text(h.Name), int64(len(content)) // repetitions name them without their names, too
		if err := to.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := to.Write(content); err != nil {
			return nil, err
		}
	}
	if err := to.Close(); err != nil {
		return nil, err
	}
	return packed(out.Bytes())
}

func packed(plain []byte) ([]byte, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(factsWindow))
	if err != nil {
		return nil, err
	}
	return encoder.EncodeAll(plain, nil), nil
}
