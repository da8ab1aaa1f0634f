package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/go-faster/jx"
	"github.com/klauspost/compress/zstd"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// SnapshotTime is one of the two times at which a run takes a snapshot of a target.
type SnapshotTime string

// A run takes a snapshot of each target before the first load and one after the last.
const (
	Before SnapshotTime = "before"
	After  SnapshotTime = "after"
)

// factsFile is the name of a snapshot in a bundle. Snapshots are separate files because they hold every build option
// and every sysctl: ten thousand facts that the header, which is read whenever runs are listed, would carry along.
var factsFile = prose.Pattern(`^facts/[a-z0-9-]{1,40}\.(before|after)\.json\.zst$`)

func factsName(role string, when SnapshotTime) string {
	return "facts/" + role + "." + string(when) + ".json.zst"
}

// factsWindow is how far back the compression looks: snapshots repeat themselves within a few lines, and memory that
// headroom takes is taken from the machine that is measured.
const factsWindow = 64 << 10

// The bounds of a snapshot. Those of most machines have less than 5 MB; one with 4,000 disks has 26 MB, 215,000 facts.
const (
	maxFacts  = 32 << 20
	mostFacts = 300_000
)

// Facts keeps a snapshot of the target with a role. A later one takes the place of an earlier one.
func (w *Writer) Facts(role string, when SnapshotTime, d facts.Document) error {
	name := factsName(role, when)
	if !factsFile().MatchString(name) {
		return fmt.Errorf("a role is written in small letters, digits and dashes, not %q", role)
	}
	var packed bytes.Buffer
	encoder, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(factsWindow))
	if err != nil {
		return err
	}
	plain := counter{to: encoder}
	if err := errors.Join(writeDocument(&plain, d), encoder.Close()); err != nil {
		return err
	}
	if len(d.Facts) > mostFacts || plain.bytes > maxFacts {
		return fmt.Errorf("a snapshot of %d facts with %d MiB can't be kept: at most %d facts with %d MiB are",
			len(d.Facts), plain.bytes>>20, mostFacts, maxFacts>>20)
	}
	// A run that was begun by an older headroom has no such folder yet.
	if err := os.MkdirAll(filepath.Join(w.dir, "facts"), 0o755); err != nil {
		return err
	}
	return w.saver.write(filepath.Join(w.dir, filepath.FromSlash(name)), packed.Bytes())
}

// counter counts the bytes that it passes on.
type counter struct {
	to    io.Writer
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.bytes += int64(n)
	return n, err
}

// writeDocument writes a snapshot fact by fact, because the whole as text would take more memory than the facts
// themselves.
func writeDocument(w io.Writer, d facts.Document) error {
	all := d.Facts
	d.Facts = []lab.Fact{}
	head, err := json.Marshal(d)
	if err != nil {
		return err
	}
	const end = "]}" // facts are the last field
	out := bufio.NewWriter(w)
	if _, err := out.Write(bytes.TrimSuffix(head, []byte(end))); err != nil {
		return err
	}
	between := ""
	for _, f := range all {
		line, err := json.Marshal(f)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s%s", between, line); err != nil {
			return err
		}
		between = ","
	}
	if _, err := out.WriteString(end); err != nil {
		return err
	}
	return out.Flush()
}

// Known are the roles of the targets of which there is a snapshot.
func (b *Bundle) Known(when SnapshotTime) []string {
	var roles []string
	for _, t := range b.Run.Targets {
		_, err := os.Stat(filepath.Join(b.dir, filepath.FromSlash(factsName(b.role(t.Role), when))))
		_, inHeader := b.headerFacts(t.Role, when)
		if err == nil || inHeader {
			roles = append(roles, t.Role)
		}
	}
	return roles
}

// Facts reads a snapshot. A run that was imported, or measured before snapshots were kept apart, has the facts of its
// header; ok is false when there are none at all.
func (b *Bundle) Facts(role string, when SnapshotTime) (d facts.Document, ok bool, err error) {
	all := []lab.Fact{}
	d, ok, err = b.snapshot(role, when, func(f lab.Fact) bool {
		all = append(all, f)
		return true
	})
	if err != nil || !ok {
		return facts.Document{}, false, err
	}
	d.Facts = all
	return d, true, nil
}

// EachFact reads the facts of a snapshot one by one, as Facts does all at once: beside a measurement the whole would
// take memory from the machine. It yields nothing when there is no such snapshot.
func (b *Bundle) EachFact(role string, when SnapshotTime) iter.Seq2[lab.Fact, error] {
	return func(yield func(lab.Fact, error) bool) {
		stopped := false
		_, _, err := b.snapshot(role, when, func(f lab.Fact) bool {
			stopped = !yield(f, nil)
			return !stopped
		})
		if err != nil && !stopped {
			yield(lab.Fact{}, err)
		}
	}
}

// snapshot reads a snapshot and passes its facts to each, until that returns false. The document has none.
func (b *Bundle) snapshot(role string, when SnapshotTime, each func(lab.Fact) bool) (d facts.Document, ok bool,
	err error) {
	name := filepath.Join(b.dir, filepath.FromSlash(factsName(b.role(role), when)))
	f, err := openHead(name)
	if errors.Is(err, fs.ErrNotExist) {
		d, ok = b.headerFacts(role, when)
		for _, f := range d.Facts {
			if !each(f) {
				break
			}
		}
		d.Facts = nil
		return d, ok, nil
	}
	if err != nil {
		return d, false, err
	}
	defer f.Close()
	if d, err = readSnapshot(f, each); err != nil {
		return d, false, &lab.Error{What: "the facts of run " + b.Run.ID + " are damaged",
			Err: fmt.Errorf("%s: %w", name, err)}
	}
	return d, true, nil
}

// errEnough ends the reading of a snapshot of which no more facts are wanted.
var errEnough = errors.New("no more facts are wanted")

// readSnapshot reads a packed snapshot in little memory and passes its facts to each, until that returns false.
func readSnapshot(r io.Reader, each func(lab.Fact) bool) (d facts.Document, err error) {
	plain, err := unpack(r, maxFacts)
	if err != nil {
		return d, err
	}
	defer plain.Close()
	in, n := jx.Decode(plain, 64<<10), 0
	err = in.ObjBytes(func(in *jx.Decoder, key []byte) error {
		if string(key) != "facts" {
			return decodeHead(in, key, &d)
		}
		if in.Next() == jx.Null {
			return in.Null()
		}
		return in.Arr(func(in *jx.Decoder) error {
			if n++; n > mostFacts {
				return fmt.Errorf("it has more than %d facts", mostFacts)
			}
			f, err := decodeFact(in)
			if err == nil && !each(f) {
				err = errEnough
			}
			return err
		})
	})
	switch {
	case errors.Is(err, errEnough):
		return d, nil
	case err == nil && d.Schema != facts.DocumentSchema:
		return d, fmt.Errorf("the schema is %q, this headroom reads %q", d.Schema, facts.DocumentSchema)
	}
	return d, err
}

// decodeHead reads a field of a snapshot that is not its facts.
func decodeHead(in *jx.Decoder, key []byte, d *facts.Document) (err error) {
	switch string(key) {
	case "schema":
		d.Schema, err = in.Str()
	case "target":
		d.Target, err = in.Str()
	case "version":
		d.Version, err = in.Str()
	case "taken":
		text, err := in.Str()
		if err != nil {
			return err
		}
		d.Taken, err = time.Parse(time.RFC3339Nano, text)
		return err
	default:
		return in.Skip()
	}
	return err
}

func decodeFact(in *jx.Decoder) (f lab.Fact, err error) {
	err = in.ObjBytes(func(in *jx.Decoder, key []byte) (err error) {
		switch string(key) {
		case "fact":
			f.Key, err = in.Str()
		case "about":
			f.About, err = in.Str()
		case "value":
			f.Value, err = in.Str()
		case "source":
			f.Source, err = in.Str()
		case "unknown":
			f.Unknown, err = in.Str()
		default:
			return in.Skip()
		}
		return err
	})
	return f, err
}

func (b *Bundle) headerFacts(role string, when SnapshotTime) (facts.Document, bool) {
	if when != Before {
		return facts.Document{}, false
	}
	for _, t := range b.Run.Targets {
		if t.Role == role && len(t.Facts) > 0 {
			return facts.Document{Schema: facts.DocumentSchema, Target: t.Target, Taken: b.Run.Created,
				Version: b.Run.Version,
				Facts:   t.Facts}, true
		}
	}
	return facts.Document{}, false
}
