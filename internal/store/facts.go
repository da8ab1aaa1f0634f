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
	"regexp"

	"github.com/klauspost/compress/zstd"

	"headroom/internal/facts"
	"headroom/internal/lab"
)

// SnapshotTime says which of a run's two snapshots of a target it is.
type SnapshotTime string

// A run takes a snapshot of each target before the first load and one after the last.
const (
	Before SnapshotTime = "before"
	After  SnapshotTime = "after"
)

// factsFile is the name of a snapshot in a bundle. Snapshots are files of their own because they hold every build
// option and every sysctl: ten thousand facts that the header, which is read whenever runs are listed, would carry
// along.
var factsFile = regexp.MustCompile(`^facts/[a-z0-9-]{1,40}\.(before|after)\.json\.zst$`)

func factsName(role string, when SnapshotTime) string {
	return "facts/" + role + "." + string(when) + ".json.zst"
}

// factsWindow is how far back the compression looks: snapshots repeat themselves within a few lines, and memory that
// headroom takes is taken from the machine that is measured.
const factsWindow = 64 << 10

// maxFacts bounds what a snapshot of a bundle from elsewhere may unpack to.
const maxFacts = 256 << 20

// Facts keeps a snapshot of the target with a role. A later one takes the place of an earlier one.
func (w *Writer) Facts(role string, when SnapshotTime, d facts.Document) error {
	name := factsName(role, when)
	if !factsFile.MatchString(name) {
		return fmt.Errorf("a role is written in small letters, digits and dashes, not %q", role)
	}
	var packed bytes.Buffer
	encoder, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(factsWindow))
	if err != nil {
		return err
	}
	if err := errors.Join(writeDocument(encoder, d), encoder.Close()); err != nil {
		return err
	}
	// A run that was begun by an older headroom has no such folder yet.
	if err := os.MkdirAll(filepath.Join(w.dir, "facts"), 0o755); err != nil {
		return err
	}
	return w.store.writeFile(filepath.Join(w.dir, filepath.FromSlash(name)), packed.Bytes())
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
	name := filepath.Join(b.dir, filepath.FromSlash(factsName(b.role(role), when)))
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		d, ok = b.headerFacts(role, when)
		return d, ok, nil
	}
	if err != nil {
		return d, false, err
	}
	defer f.Close()
	damaged := func(err error) error {
		return &lab.Error{What: "the facts of run " + b.Run.ID + " are damaged", Err: fmt.Errorf("%s: %w", name, err)}
	}
	decoder, err := unpack(f)
	if err != nil {
		return d, false, damaged(err)
	}
	defer decoder.Close()
	if err := json.NewDecoder(io.LimitReader(decoder, maxFacts)).Decode(&d); err != nil {
		return d, false, damaged(err)
	}
	if d.Schema != facts.DocumentSchema {
		return d, false, damaged(fmt.Errorf("the schema is %q, this headroom reads %q", d.Schema, facts.DocumentSchema))
	}
	return d, true, nil
}

// EachFact reads the facts of a snapshot one by one, as Facts does all at once: beside a measurement the whole would
// take memory from the machine. It yields nothing when there is no such snapshot.
func (b *Bundle) EachFact(role string, when SnapshotTime) iter.Seq2[lab.Fact, error] {
	return func(yield func(lab.Fact, error) bool) {
		f, err := os.Open(filepath.Join(b.dir, filepath.FromSlash(factsName(b.role(role), when))))
		if errors.Is(err, fs.ErrNotExist) {
			d, _ := b.headerFacts(role, when)
			for _, f := range d.Facts {
				if !yield(f, nil) {
					return
				}
			}
			return
		}
		if err != nil {
			yield(lab.Fact{}, err)
			return
		}
		defer f.Close()
		decoder, err := unpack(f)
		if err != nil {
			yield(lab.Fact{}, err)
			return
		}
		defer decoder.Close()
		in := json.NewDecoder(io.LimitReader(decoder, maxFacts))
		// the only list is that of the facts
		for token, err := in.Token(); token != json.Delim('['); token, err = in.Token() {
			if err != nil {
				yield(lab.Fact{}, &lab.Error{What: "the facts of run " + b.Run.ID + " are damaged", Err: err})
				return
			}
		}
		for in.More() {
			var f lab.Fact
			if err := in.Decode(&f); err != nil {
				yield(lab.Fact{}, &lab.Error{What: "the facts of run " + b.Run.ID + " are damaged", Err: err})
				return
			}
			if !yield(f, nil) {
				return
			}
		}
	}
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
