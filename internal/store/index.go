package store

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
	"github.com/headroom/headroom/internal/summary"
)

// indexVersion is raised when a Row has another field, or a field another meaning: lines of other versions are stale.
const indexVersion = 10

// Row is a run as a list shows it.
type Row struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Suite string `json:"suite"`
	// Experiment names the setting that the run varies: "sweep of queue:scheduler". It is empty for a run that varies
	// none.
	Experiment string `json:"experiment,omitempty"`
	// Pair is the same in bundles of older versions that are arms of one experiment, and Stage is what such a bundle is
	// one of; empty for one that is none.
	Pair  string `json:"pair,omitempty"`
	Stage string `json:"stage,omitempty"`
	// Design is what a run of several arms was measured for, and Arms are those that RUN:ARM names.
	Design  lab.Design `json:"design,omitempty"`
	Arms    []string   `json:"arms,omitempty"`
	Target  string     `json:"target"`
	Place   string     `json:"place"`
	Created time.Time  `json:"created"`
	// Added is when the run came into the store: later than Created for one that was imported.
	Added       time.Time  `json:"-"`
	Status      lab.Status `json:"status"`
	Source      lab.Source `json:"source"`
	Format      string     `json:"format,omitempty"`
	Cells       int        `json:"cells"`
	Repetitions int        `json:"repetitions"`
	// EndedAfter is how far the run came when its budget ended it; empty where nothing was left undone.
	EndedAfter string `json:"ended_after,omitempty"`
	// Warnings are the codes of those that were saved: of the run, of its cells and of repetitions.
	Warnings []string `json:"warnings,omitempty"`
	// Progress of an active run that has saved it.
	Progress *lab.Progress `json:"progress,omitempty"`

	hidden rowTexts
}

// rowTexts are the texts of a row without what names one piece of hardware.
type rowTexts struct {
	Label      string   `json:"label"`
	Experiment string   `json:"experiment"`
	Target     string   `json:"target"`
	Place      string   `json:"place"`
	Arms       []string `json:"arms"`
	Doing      string   `json:"-"`
}

// ForOthers is the row without what names one piece of hardware: a place may be /dev/disk/by-id/nvme-MODEL_SERIAL.
func (r Row) ForOthers() Row {
	h := r.hidden
	r.Label, r.Experiment, r.Target, r.Place, r.Arms = h.Label, h.Experiment, h.Target, h.Place, h.Arms
	if r.Progress != nil {
		p := *r.Progress
		p.Doing = h.Doing
		r.Progress = &p
	}
	return r
}

// hide makes the texts for others.
func (r Row) hide(hidden func(string) string) rowTexts {
	h := rowTexts{Label: hidden(r.Label), Experiment: hidden(r.Experiment), Target: hidden(r.Target),
		Place: hidden(r.Place)}
	for _, arm := range r.Arms {
		h.Arms = append(h.Arms, hidden(arm))
	}
	return h
}

// List returns the runs, the one that was added last first. A bundle whose run.json or number of segments has changed
// since the index was written is read again. A bundle that can't be read does not hide the others: it is named in the
// error, next to the rows of the rest.
func (s *Store) List() ([]Row, error) {
	rows, _, err := s.index.list()
	return rows, err
}

// index has the rows of the bundles in a folder. It reads only those bundles that have changed.
type index struct {
	folder Folder
	// memory has the rows as well; nil where the file is enough.
	memory *Memory
}

// list is List, with the newest of those bundles that were read for it, for whoever asks for the last run.
func (x *index) list() (rows []Row, newest *Bundle, err error) {
	ids, err := x.folder.ids()
	if err != nil || len(ids) == 0 {
		return nil, nil, err
	}
	entries, newest, damaged := x.entries(ids)
	rows = make([]Row, 0, len(entries))
	for _, e := range entries {
		e.Row.Created, e.Row.Added, e.Row.hidden = e.Created.Local(), e.Added.Local(), e.Hidden
		if e.Status == lab.Running {
			x.follow(&e)
		}
		rows = append(rows, e.Row)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(b.Added.Compare(a.Added), b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
	})
	return rows, newest, damaged
}

// follow sets the present progress of a run that was active.
func (x *index) follow(e *entry) {
	if !safepath.Locked(filepath.Join(x.folder.runs(), e.ID, activeName)) {
		e.Status = lab.Interrupted
		return
	}
	b, err := x.folder.bundle(e.ID)
	if err != nil {
		return // it has ended just now, or is damaged, which others say
	}
	if p, ok := b.Progress(); ok {
		e.Row.Progress, e.Row.hidden.Doing = &p, summary.HiddenIn(b.Run)(p.Doing)
	}
}

// entry is a line of the index: a row, and the stamp of the bundle that it was made from.
type entry struct {
	Stamp string    `json:"stamp"`
	Added time.Time `json:"added"`
	Row
	Hidden rowTexts `json:"hidden"`
	// Segment is the number of the last one that was read.
	Segment int `json:"segment,omitempty"`
}

// entries returns an entry for each bundle that can be read, and the newest bundle that was read for them. Damaged has
// the errors of the others.
func (x *index) entries(ids []string) (entries []entry, newest *Bundle, damaged error) {
	trusted := Trust(string(x.folder)) == nil // in a folder that others can change the index could be a link or a lie
	known := x.memory.entries()
	if known == nil && trusted {
		known = x.read()
	}
	stale := false
	var unread []error
	for _, id := range ids {
		stamp, err := stampOf(filepath.Join(x.folder.runs(), id))
		e := known[id]
		if err == nil && e.Stamp != stamp {
			stale = true
			var b *Bundle
			if b, e, err = x.entry(id, stamp, e); b != nil && (newest == nil || b.added().After(newest.added())) {
				newest = b
			}
		}
		if err != nil {
			unread = append(unread, err)
			continue
		}
		entries = append(entries, e)
	}
	if trusted && (stale || len(known) != len(entries)) {
		_ = x.write(entries) // on a full or read-only file system the bundles are read each time
	}
	x.memory.keep(entries)
	return entries, newest, errors.Join(unread...)
}

// indexName is the file with the rows of all bundles, a JSON object a line. It makes lists quick where there are
// thousands of runs, and can be deleted at any time.
const indexName = "index.jsonl"

// read reads the lines up to one that is damaged.
func (x *index) read() map[string]entry {
	f, err := os.Open(filepath.Join(string(x.folder), indexName))
	if err != nil {
		return nil
	}
	defer f.Close()
	known := map[string]entry{}
	for in := json.NewDecoder(bufio.NewReader(f)); ; {
		var e entry
		if in.Decode(&e) != nil {
			return known
		}
		known[e.ID] = e
	}
}

// write replaces the index. It is not flushed, since nothing is lost with it. Until it is complete it has a name
// that recovery removes.
func (x *index) write(entries []entry) error {
	f, err := os.CreateTemp(x.folder.runs(), ".new-index-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // does nothing once renamed
	out := bufio.NewWriter(f)
	lines := json.NewEncoder(out)
	for _, e := range entries {
		err = errors.Join(err, lines.Encode(e))
	}
	if err := errors.Join(err, out.Flush(), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(string(x.folder), "index.sqlite")) // of older versions
	return os.Rename(f.Name(), filepath.Join(string(x.folder), indexName))
}

// Stamp changes whenever a run does: when a repetition is saved, or its header.
func (s *Store) Stamp(id string) (string, error) { return stampOf(filepath.Join(s.Folder.runs(), id)) }

// stampOf changes whenever a bundle does: every change ends in a rename in one of the two folders.
func stampOf(dir string) (string, error) {
	head, err := openHead(filepath.Join(dir, headerName)) // of one that can't be read the index must not hide it
	if err != nil {
		return "", unreadableRun(dir, err)
	}
	header, err := head.Stat()
	if err := errors.Join(err, head.Close()); err != nil {
		return "", err
	}
	records, err := os.Stat(filepath.Join(dir, "repetitions"))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %d %d %d", indexVersion, header.ModTime().UnixNano(), header.Size(),
		records.ModTime().UnixNano()), nil
}

// entry reads a bundle that had another entry before; of an active run it reads only the segments that are new.
func (x *index) entry(id, stamp string, before entry) (*Bundle, entry, error) {
	b, err := x.folder.bundle(id)
	if err != nil {
		return nil, entry{}, err
	}
	r := b.Run
	row := Row{ID: id, Label: r.Label, Suite: r.Suite, Pair: r.Pair, Created: r.Created, Status: r.Status,
		Source: r.Source, Format: r.Format, Cells: len(r.Cells), EndedAfter: r.EndedAfter}
	if r.Experiment != nil {
		row.Experiment = r.Experiment.Title()
	}
	if row.Arms = r.PartNames(); len(row.Arms) > 0 {
		row.Design = r.MadeBy()
	}
	if r.NFS != nil && r.Pair != "" && len(r.Arms) > 0 {
		row.Stage = r.Arms[0].Levels[lab.StageLevel]
	}
	if len(r.Targets) > 0 {
		row.Target, row.Place = r.Targets[0].Target, r.Targets[0].Place.Path
	}
	segments, err := b.segments()
	if err != nil {
		return b, entry{}, err
	}
	e := entry{Stamp: stamp, Added: b.added(), Hidden: row.hide(summary.HiddenIn(r))}
	if r.Status == lab.Running && before.goesOn(r) {
		row.Warnings, row.Repetitions, e.Segment = before.Warnings, before.Repetitions, before.Segment
		segments = slices.DeleteFunc(segments, func(n int) bool { return n <= before.Segment })
	}
	if len(segments) > 0 {
		e.Segment = segments[len(segments)-1]
	}
	n, err := b.countRepetitions(segments)
	row.Warnings, row.Repetitions = b.warningCodes(row.Warnings, segments), row.Repetitions+n
	e.Row = row
	return b, e, err
}

// goesOn reports whether an entry is of the same run, and the run was active then: since then it has only got more
// segments.
func (e entry) goesOn(run lab.Run) bool {
	return e.Status == lab.Running && e.Created.Equal(run.Created) &&
		strings.HasPrefix(e.Stamp, fmt.Sprintf("%d ", indexVersion))
}

// warningCodes are some that are known, those of a run, and those in some of its segments, sorted. Of a damaged segment
// it has what comes before the damage: whoever reads the run is told.
func (b *Bundle) warningCodes(known []string, segments []int) []string {
	seen := map[string]bool{}
	for _, code := range known {
		seen[code] = true
	}
	note := func(all []lab.Warning) {
		for _, w := range all {
			seen[w.Code] = true
		}
	}
	note(b.Run.Warnings)
	for _, c := range b.Run.Cells {
		note(c.Warnings)
	}
	for _, n := range segments {
		f, err := os.Open(b.segment(n))
		if err != nil {
			continue
		}
		for lines := bufio.NewReader(f); ; {
			line, err := readLine(lines)
			var rep struct{ Warnings []lab.Warning }
			if err != nil || json.Unmarshal(line, &rep) != nil {
				break
			}
			note(rep.Warnings)
		}
		_ = f.Close()
	}
	return slices.Sorted(maps.Keys(seen))
}

// Memory is the index of a store in a process that lists runs again and again. In a store that is read-only, or that
// others can change, there is no file with the index, and each list would read all bundles. The zero value is empty.
type Memory struct {
	mu    sync.Mutex
	known map[string]entry // replaced, never changed
}

// entries returns the entries of the last list, by the IDs of their runs. It returns nil before the first list.
func (m *Memory) entries() map[string]entry {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known
}

func (m *Memory) keep(entries []entry) {
	if m == nil {
		return
	}
	known := make(map[string]entry, len(entries))
	for _, e := range entries {
		known[e.ID] = e
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = known
}
